#pragma once

#include "data/tasks/synthetic.hpp"

#include <array>
#include <optional>
#include <utility>

/// A toy translation with what makes real ones hard: reordering, agreement over a distance, and words that only the
/// context decides. The source is English in the past tense, verb-medial and almost without inflection:
///
///     the old farmer that saw the cats greeted some red birds
///
/// The target is an invented verb-final language. Its verbs follow both noun phrases, its adjectives follow the noun in
/// mirrored order, and its articles, adjectives and verbs agree with a noun in gender and number (verbs with their
/// subject), by the endings -o, -a and in the plural -on, -an:
///
///     lo doro vedo ke lan miran vido unan sulan rusan salo
namespace surd::grammar {

struct Noun {
  const char* singular;
  const char* plural;
  const char* stem;  ///< of the target word
  bool feminine;     ///< in the target language
};

/// A word that has one form in the source and agrees in the target.
struct Word {
  const char* source;
  const char* stem;
};

extern const std::array<Noun, 12> nouns;
extern const std::array<Word, 8> adjectives;
extern const std::array<Word, 8> verbs;

/// Article, adjectives and noun; the words are indices into the tables above.
struct SimplePhrase {
  std::size_t noun;
  bool plural = false;
  bool definite = true;
  std::vector<std::size_t> adjectives = {};
};

/// "that saw the cat" (the phrase before it is the subject) or "that the cat saw" (it is the object).
struct RelativeClause {
  bool head_is_subject;
  std::size_t verb;
  SimplePhrase other;
};

/// Relative clauses are not nested: with two of them, one inside the other, the source would be ambiguous.
struct NounPhrase : SimplePhrase {
  explicit NounPhrase(SimplePhrase phrase) : SimplePhrase(std::move(phrase)) {}
  std::optional<RelativeClause> relative;
};

struct Sentence {
  NounPhrase subject;
  std::size_t verb;
  NounPhrase object;
};

std::string source_text(const Sentence& sentence);

/// The translation. A function of source_text(sentence), because the source language is unambiguous.
std::string target_text(const Sentence& sentence);

/// Combinations that are kept out of training. Each of their words is trained on, in other company.
struct HeldOut {
  std::vector<std::size_t> adjective_of;  ///< noun -> the one adjective that never describes it
  std::vector<bool> never_object;         ///< noun -> whether it never follows a verb as its object

  static HeldOut draw(std::uint64_t seed);
  /// Whether the sentence has one of the combinations. A noun that a relative clause describes ("the wolf that the king
  /// saw") is not an object for that.
  bool in(const Sentence& sentence) const;
};

}  // namespace surd::grammar

namespace surd {

struct GrammarOptions : SplitSizes {
  double adjective_probability = 0.4;
  double relative_probability = 0.2;
  bool shared_vocabulary = false;

  void fields(Fields& f);
};

/// Translates sentences of a probabilistic context-free grammar; see the head of this file for the two languages. The
/// further split "test_held_out" consists of sentences with at least one combination of words that occurs in no other
/// split: an adjective with a noun (one adjective a noun), or one of two nouns as an object.
class GrammarTask : public Task {
 public:
  using Options = GrammarOptions;
  explicit GrammarTask(Options options);

  TextFormat format() const override;
  Corpus load(std::uint64_t seed) const override;

 private:
  grammar::Sentence draw_sentence(random::Sequence& draw) const;
  grammar::NounPhrase draw_noun_phrase(random::Sequence& draw) const;
  grammar::SimplePhrase draw_simple_phrase(random::Sequence& draw) const;

  Options options_;
};

}  // namespace surd
