#include "data/tasks/grammar.hpp"

#include <algorithm>
#include <numeric>

namespace surd::grammar {

const std::array<Noun, 12> nouns = {{
    {"dog", "dogs", "kel", false},
    {"cat", "cats", "mir", true},
    {"bird", "birds", "sul", true},
    {"farmer", "farmers", "dor", false},
    {"queen", "queens", "van", true},
    {"king", "kings", "tar", false},
    {"child", "children", "nim", true},
    {"teacher", "teachers", "pel", false},
    {"horse", "horses", "gar", false},
    {"wolf", "wolves", "ruk", false},
    {"baker", "bakers", "fon", true},
    {"duck", "ducks", "lib", true},
}};

const std::array<Word, 8> adjectives = {{
    {"big", "gol"},
    {"small", "pit"},
    {"old", "ved"},
    {"young", "jun"},
    {"red", "rus"},
    {"black", "ner"},
    {"happy", "fel"},
    {"tired", "las"},
}};

const std::array<Word, 8> verbs = {{
    {"saw", "vid"},
    {"heard", "aud"},
    {"chased", "kur"},
    {"greeted", "sal"},
    {"followed", "seg"},
    {"helped", "jut"},
    {"found", "trov"},
    {"liked", "plac"},
}};

namespace {

using Words = std::vector<std::string>;

/// Appends a target word that agrees with the noun of `phrase`.
void append_agreeing(Words& words, std::string stem, const SimplePhrase& phrase) {
  words.push_back(std::move(stem) + (nouns.at(phrase.noun).feminine ? "a" : "o") + (phrase.plural ? "n" : ""));
}

void append_source(Words& words, const SimplePhrase& phrase) {
  const Noun& noun = nouns.at(phrase.noun);
  words.emplace_back(phrase.definite ? "the" : phrase.plural ? "some" : "a");
  for (const std::size_t adjective : phrase.adjectives) words.emplace_back(adjectives.at(adjective).source);
  words.emplace_back(phrase.plural ? noun.plural : noun.singular);
}

void append_source(Words& words, const NounPhrase& phrase) {
  append_source(words, static_cast<const SimplePhrase&>(phrase));
  if (!phrase.relative) return;
  const RelativeClause& clause = *phrase.relative;
  words.emplace_back("that");
  if (!clause.head_is_subject) append_source(words, clause.other);
  words.emplace_back(verbs.at(clause.verb).source);
  if (clause.head_is_subject) append_source(words, clause.other);
}

void append_target(Words& words, const SimplePhrase& phrase) {
  append_agreeing(words, phrase.definite ? "l" : "un", phrase);
  append_agreeing(words, nouns.at(phrase.noun).stem, phrase);
  for (auto adjective = phrase.adjectives.rbegin(); adjective != phrase.adjectives.rend(); ++adjective)
    append_agreeing(words, adjectives.at(*adjective).stem, phrase);
}

void append_target(Words& words, const NounPhrase& phrase) {
  append_target(words, static_cast<const SimplePhrase&>(phrase));
  if (!phrase.relative) return;
  const RelativeClause& clause = *phrase.relative;
  words.emplace_back(clause.head_is_subject ? "ke" : "kem");
  append_target(words, clause.other);
  const SimplePhrase& subject = clause.head_is_subject ? phrase : clause.other;
  append_agreeing(words, verbs.at(clause.verb).stem, subject);
}

std::string joined(const Words& words) { return fmt::format("{}", fmt::join(words, " ")); }

}  // namespace

std::string source_text(const Sentence& sentence) {
  Words words;
  append_source(words, sentence.subject);
  words.emplace_back(verbs.at(sentence.verb).source);
  append_source(words, sentence.object);
  return joined(words);
}

std::string target_text(const Sentence& sentence) {
  Words words;
  append_target(words, sentence.subject);
  append_target(words, sentence.object);
  append_agreeing(words, verbs.at(sentence.verb).stem, sentence.subject);
  return joined(words);
}

HeldOut HeldOut::draw(std::uint64_t seed) {
  random::Sequence draw(random::Stream(seed, "data", "grammar.held_out"));
  HeldOut held_out;
  for (std::size_t noun = 0; noun < nouns.size(); ++noun)
    held_out.adjective_of.push_back(draw.integer(adjectives.size()));
  held_out.never_object.resize(nouns.size());
  std::vector<std::size_t> order(nouns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  draw.shuffle(order);
  held_out.never_object[order[0]] = held_out.never_object[order[1]] = true;
  return held_out;
}

bool HeldOut::in(const Sentence& sentence) const {
  const auto in_simple = [&](const SimplePhrase& phrase, bool object) {
    const auto& used = phrase.adjectives;
    const bool described = std::find(used.begin(), used.end(), adjective_of.at(phrase.noun)) != used.end();
    return described || (object && never_object.at(phrase.noun));
  };
  const auto in_phrase = [&](const NounPhrase& phrase, bool object) {
    const auto& clause = phrase.relative;
    return in_simple(phrase, object) || (clause && in_simple(clause->other, clause->head_is_subject));
  };
  return in_phrase(sentence.subject, false) || in_phrase(sentence.object, true);
}

}  // namespace surd::grammar

namespace surd {

void GrammarOptions::fields(Fields& f) {
  SplitSizes::fields(f);
  f("adjective_probability", adjective_probability, "probability of a first adjective; of a second after it, half that",
    fraction());
  f("relative_probability", relative_probability, "probability of a relative clause after the subject or the object",
    fraction());
  f("shared_vocabulary", shared_vocabulary, "one vocabulary for both sides, so that all embeddings can be tied");
}

GrammarTask::GrammarTask(Options options) : options_(options) { check_options("grammar", options_); }

TextFormat GrammarTask::format() const {
  TextFormat format;
  format.shared_vocabulary = options_.shared_vocabulary;
  return format;
}

grammar::SimplePhrase GrammarTask::draw_simple_phrase(random::Sequence& draw) const {
  grammar::SimplePhrase phrase{draw.integer(grammar::nouns.size())};
  phrase.plural = draw.chance(0.5);
  phrase.definite = draw.chance(0.5);
  if (draw.chance(options_.adjective_probability)) {
    const std::size_t count = grammar::adjectives.size();
    const std::size_t first = draw.integer(count);
    phrase.adjectives.push_back(first);
    if (draw.chance(options_.adjective_probability / 2))
      phrase.adjectives.push_back((first + draw.between(1, count - 1)) % count);  // another adjective than the first
  }
  return phrase;
}

grammar::NounPhrase GrammarTask::draw_noun_phrase(random::Sequence& draw) const {
  grammar::NounPhrase phrase(draw_simple_phrase(draw));
  if (draw.chance(options_.relative_probability)) {
    const bool head_is_subject = draw.chance(0.5);
    const std::size_t verb = draw.integer(grammar::verbs.size());
    phrase.relative = grammar::RelativeClause{head_is_subject, verb, draw_simple_phrase(draw)};
  }
  return phrase;
}

grammar::Sentence GrammarTask::draw_sentence(random::Sequence& draw) const {
  grammar::NounPhrase subject = draw_noun_phrase(draw);
  const std::size_t verb = draw.integer(grammar::verbs.size());
  return {std::move(subject), verb, draw_noun_phrase(draw)};
}

Corpus GrammarTask::load(std::uint64_t seed) const {
  const auto held_out = grammar::HeldOut::draw(seed);
  const auto draw_where = [&](bool wanted) {
    return [this, &held_out, wanted](random::Sequence& draw) {
      for (;;) {
        const grammar::Sentence sentence = draw_sentence(draw);
        if (held_out.in(sentence) == wanted) return TextPair{source_text(sentence), target_text(sentence)};
      }
    };
  };
  Corpus corpus(format());
  DistinctExamples examples("grammar", seed);
  corpus.splits = examples.deal(options_, draw_where(false));
  corpus.splits.push_back(examples.split("test_held_out", options_.test_size, draw_where(true)));
  return corpus;
}

}  // namespace surd
