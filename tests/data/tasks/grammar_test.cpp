#include "data/tasks/grammar.hpp"
#include "data/text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace surd::grammar {
namespace {

template <class Table>
std::size_t find(const Table& table, const std::string& word) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (word == table[i].source) return i;
  FAIL("no such word: " << word);
  return 0;
}

/// A reader of the source language, written apart from what generates it: the words back into their structure.
class Parser {
 public:
  explicit Parser(const std::string& text) : words_(tokenize(text, Tokenization::words)) {}

  Sentence sentence() {
    NounPhrase subject = noun_phrase();
    const std::size_t verb = find(verbs, take());
    Sentence result{std::move(subject), verb, noun_phrase()};
    REQUIRE(next_ == words_.size());
    return result;
  }

 private:
  std::string peek() const { return next_ < words_.size() ? words_[next_] : ""; }
  std::string take() {
    REQUIRE(next_ < words_.size());
    return words_[next_++];
  }

  SimplePhrase simple_phrase() {
    const std::string article = take();
    SimplePhrase phrase{0};
    phrase.definite = article == "the";
    for (;;) {
      const std::string word = take();
      const auto named = [&](const Noun& noun) { return word == noun.singular || word == noun.plural; };
      const auto noun = std::find_if(nouns.begin(), nouns.end(), named);
      if (noun == nouns.end()) {
        phrase.adjectives.push_back(find(adjectives, word));
        continue;
      }
      phrase.noun = static_cast<std::size_t>(noun - nouns.begin());
      phrase.plural = word == noun->plural;
      REQUIRE((phrase.definite || article == (phrase.plural ? "some" : "a")));
      return phrase;
    }
  }

  NounPhrase noun_phrase() {
    NounPhrase phrase(simple_phrase());
    if (peek() != "that") return phrase;
    take();
    if (peek() == "the" || peek() == "a" || peek() == "some") {
      SimplePhrase subject = simple_phrase();
      phrase.relative = RelativeClause{false, find(verbs, take()), std::move(subject)};
    } else {
      const std::size_t verb = find(verbs, take());
      phrase.relative = RelativeClause{true, verb, simple_phrase()};
    }
    return phrase;
  }

  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

std::string translated(const std::string& source) { return target_text(Parser(source).sentence()); }

TEST_CASE("the verb moves to the end and agrees with its subject") {
  CHECK(translated("the dog saw the cat") == "lo kelo la mira vido");
  CHECK(translated("the cat saw the dog") == "la mira lo kelo vida");
  CHECK(translated("the dogs saw a cat") == "lon kelon una mira vidon");
  CHECK(translated("some cats saw a dog") == "unan miran uno kelo vidan");
}

TEST_CASE("adjectives follow their noun in mirrored order and agree with it") {
  CHECK(translated("the small red bird chased some old wolves") == "la sula rusa pita unon rukon vedon kura");
}

TEST_CASE("in a relative clause the verb agrees with the clause's own subject") {
  CHECK(translated("the old farmer that saw the cats greeted some red birds") ==
        "lo doro vedo ke lan miran vido unan sulan rusan salo");
  CHECK(translated("the farmer that the cats saw greeted the king that a queen found") ==
        "lo doro kem lan miran vidan lo taro kem una vana trova salo");
}

TEST_CASE("all words differ") {
  std::set<std::string> words;
  std::size_t count = 0;
  const auto add = [&](const std::string& word) {
    words.insert(word);
    ++count;
  };
  for (const Noun& noun : nouns) {
    add(noun.singular);
    add(noun.plural);
    add(noun.stem);
  }
  for (const auto* table : {&adjectives, &verbs}) {
    for (const Word& word : *table) {
      add(word.source);
      add(word.stem);
    }
  }
  for (const char* word : {"the", "a", "some", "that", "l", "un", "ke", "kem"}) add(word);
  CHECK(words.size() == count);
}

GrammarOptions small_options() {
  GrammarOptions options;
  options.train_size = 3000;
  options.valid_size = 200;
  options.test_size = 500;
  return options;
}

TEST_CASE("every target is the translation of its source") {
  const Corpus corpus = GrammarTask(small_options()).load(3);
  std::size_t wrong = 0;
  std::size_t relative_clauses = 0;
  for (const Split& split : corpus.splits) {
    for (const TextPair& pair : split.pairs) {
      const Sentence sentence = Parser(pair.source).sentence();
      if (source_text(sentence) != pair.source || target_text(sentence) != pair.target) ++wrong;
      if (sentence.subject.relative) ++relative_clauses;
    }
  }
  CHECK(wrong == 0);
  CHECK(relative_clauses > 500);
}

TEST_CASE("held-out combinations occur in test_held_out, in every sentence, and nowhere else") {
  const Corpus corpus = GrammarTask(small_options()).load(3);
  // Found from the text alone: combinations of the training split, which the held-out split must go beyond.
  std::set<std::pair<std::size_t, std::size_t>> described;
  std::set<std::size_t> objects;
  const auto visit = [](const Sentence& sentence, const auto& phrase_is) {
    for (const auto& [phrase, object] : {std::pair{&sentence.subject, false}, {&sentence.object, true}}) {
      phrase_is(*phrase, object);
      if (phrase->relative) phrase_is(phrase->relative->other, phrase->relative->head_is_subject);
    }
  };
  for (const TextPair& pair : corpus.split("train").pairs) {
    visit(Parser(pair.source).sentence(), [&](const SimplePhrase& phrase, bool object) {
      for (const std::size_t adjective : phrase.adjectives) described.emplace(phrase.noun, adjective);
      if (object) objects.insert(phrase.noun);
    });
  }
  CHECK(described.size() == nouns.size() * (adjectives.size() - 1));
  CHECK(objects.size() == nouns.size() - 2);

  const auto is_new = [&](const TextPair& pair) {
    bool found = false;
    visit(Parser(pair.source).sentence(), [&](const SimplePhrase& phrase, bool object) {
      for (const std::size_t adjective : phrase.adjectives) found |= described.count({phrase.noun, adjective}) == 0;
      found |= object && objects.count(phrase.noun) == 0;
    });
    return found;
  };
  for (const char* name : {"valid", "test"}) {
    const auto& pairs = corpus.split(name).pairs;
    CHECK(std::none_of(pairs.begin(), pairs.end(), is_new));
  }
  const auto& held_out = corpus.split("test_held_out").pairs;
  CHECK(held_out.size() == 500);
  CHECK(std::all_of(held_out.begin(), held_out.end(), is_new));
}

TEST_CASE("what is held out depends on the seed") {
  const HeldOut a = HeldOut::draw(1);
  CHECK(a.adjective_of == HeldOut::draw(1).adjective_of);
  CHECK(a.adjective_of != HeldOut::draw(2).adjective_of);
  CHECK(std::count(a.never_object.begin(), a.never_object.end(), true) == 2);
}

TEST_CASE("probabilities of zero leave the plainest sentences") {
  GrammarOptions options = small_options();
  options.adjective_probability = options.relative_probability = 0;
  const Corpus corpus = GrammarTask(options).load(1);
  for (const TextPair& pair : corpus.split("train").pairs)
    CHECK(tokenize(pair.source, Tokenization::words).size() == 5);
}

}  // namespace
}  // namespace surd::grammar
