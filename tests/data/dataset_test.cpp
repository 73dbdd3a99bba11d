#include "data/dataset.hpp"

#include "autograd/base/error.hpp"
#include "data/tasks/dates.hpp"
#include "data/tasks/lexical.hpp"
#include "tests/data/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <map>

namespace surd {
namespace {

using Ids = std::vector<TokenId>;

Corpus small_corpus() {
  Corpus corpus;
  corpus.subwords.set<Words>("words", {"@@"});
  corpus.splits = {{"train", {{"a dog", "ein hund"}, {"a cat", "ei@@ ne katze"}}}, {"test", {{"the dog", "der hund"}}}};
  return corpus;
}

TEST_CASE("sources end in eos, targets carry neither bos nor eos") {
  const Dataset dataset(small_corpus());
  const auto& train = dataset.split("train");
  CHECK(train[0].source == Ids{4, 6, Vocabulary::eos});  // a (twice), cat, dog
  CHECK(train[1].source == Ids{4, 5, Vocabulary::eos});
  CHECK(train[0].target == Ids{5, 6});  // ei@@, ein, hund, katze, ne
  CHECK(train[1].target == Ids{4, 8, 7});
}

TEST_CASE("the vocabularies come from the training split alone") {
  const Dataset dataset(small_corpus());
  CHECK(dataset.split("test")[0].source == Ids{Vocabulary::unk, 6, Vocabulary::eos});
  CHECK(dataset.split("test")[0].target == Ids{Vocabulary::unk, 6});
  CHECK_THROWS_WITH_AS(dataset.split("valid"), "dataset: there is no split 'valid'; there are train, test", Error);
}

TEST_CASE("every token of the training split is counted as itself, however many there are and how long") {
  Corpus corpus;
  corpus.splits = {{"train", {}}};
  std::map<std::string, std::size_t> counts;
  for (std::size_t i = 0; i < 4000; ++i) {
    const std::string once = std::string(i % 9, 'x') + std::to_string(i), often = std::to_string(i % 700);
    corpus.splits[0].pairs.push_back({once + " " + often, often});
    ++counts[once];
    ++counts[often];
  }
  const Dataset dataset(corpus);
  CHECK(dataset.codec.source_vocabulary().size() == counts.size() + Vocabulary::specials);
  std::map<TokenId, std::size_t> found;
  for (std::size_t i = 0; i < 4000; ++i) {
    CHECK(dataset.split("train")[i].source == dataset.codec.encode_source(corpus.splits[0].pairs[i].source));
    for (const TokenId id : dataset.split("train")[i].source) ++found[id];
  }
  for (const auto& [token, count] : counts) CHECK(found[dataset.codec.source_vocabulary().id(token)] == count);
}

TEST_CASE("lines become ids and ids lines") {
  const TextCodec codec = TextCodec::build(small_corpus());
  CHECK(codec.encode_source("  a  bird ") == Ids{4, Vocabulary::unk, Vocabulary::eos});
  CHECK(codec.encode_source("") == Ids{Vocabulary::eos});
  CHECK(codec.encode_target("ein hund") == Ids{5, 6});
  CHECK(codec.decode_target({4, 8, 7}) == "eine katze");
  CHECK(codec.decode_target({Vocabulary::bos, 5, 6, Vocabulary::eos, 7, 7}) == "ein hund");
  CHECK(codec.decode_target({5, Vocabulary::unk, Vocabulary::pad}) == "ein <unk>");
  CHECK(codec.decode_source(codec.encode_source("a dog")) == "a dog");
  CHECK_THROWS_WITH_AS(codec.decode_target({99}), "vocabulary: an id must be in [0, 9); got 99", Error);
  CHECK_THROWS_AS(codec.encode_source("\xff"), Error);
}

TEST_CASE("a text need not be cut as the corpus is: its words are cut into the fewest pieces that there are") {
  using Tokens = std::vector<std::string>;
  const TextCodec codec = TextCodec::build(small_corpus());
  CHECK(codec.target_tokens_of_text("ein eine katze") == Tokens{"ein", "ei@@", "ne", "katze"});
  CHECK(codec.target_tokens_of_text("ei@@ ne katze") == Tokens{"ei@@", "ne", "katze"});  // it is cut already
  CHECK(codec.target_tokens_of_text("einer hund") == Tokens{"einer", "hund"});           // there are no such pieces
  CHECK(codec.source_tokens_of_text("a dog") == Tokens{"a", "dog"});
  CHECK(codec.target_tokens("eine katze") == Tokens{"eine", "katze"});  // a line of the corpus is as it is

  Corpus corpus = small_corpus();
  corpus.splits[0].pairs.push_back({"x", "a@@ b@@ ab@@ c bc abc@@ \xc3\xa4@@ d"});
  const TextCodec many = TextCodec::build(corpus);
  CHECK(many.target_tokens_of_text("abc") == Tokens{"ab@@", "c"});  // as few as a@@ bc, with a longer first piece
  CHECK(many.target_tokens_of_text("abcd") == Tokens{"abc@@", "d"});
  CHECK(many.target_tokens_of_text("\xc3\xa4"
                                   "d") == Tokens{"\xc3\xa4@@", "d"});
  CHECK(many.target_tokens_of_text(std::string(5000, 'a')) == Tokens{std::string(5000, 'a')});
}

TEST_CASE("no text can smuggle in a special token") {
  const TextCodec codec = TextCodec::build(small_corpus());
  CHECK(codec.encode_source("a </s> <pad> dog") == Ids{4, Vocabulary::unk, Vocabulary::unk, 6, Vocabulary::eos});
}

TEST_CASE("a reference keeps the words that the vocabulary lacks, and nothing else is held twice") {
  const Dataset dataset(small_corpus());
  const SentencePair& unseen = dataset.split("test")[0];
  CHECK(unseen.target_text == "der hund");
  CHECK(dataset.codec.reference(unseen) == "der hund");
  const SentencePair& known = dataset.split("train")[1];
  CHECK(known.target_text.empty());
  CHECK(dataset.codec.reference(known) == "eine katze");  // its pieces joined
  CHECK(dataset.codec.reference(dataset.codec.encode({"a", " ei@@  neu hund "})) == "eineu hund");
  CHECK(dataset.codec.target_tokens(" ei@@  neu") == std::vector<std::string>{"ei@@", "neu"});

  Corpus letters;
  letters.subwords.select("characters");
  letters.splits = {{"train", {{"a", "ab"}}}};
  const TextCodec codec = TextCodec::build(letters);
  CHECK(codec.reference(codec.encode({"a", "a \xc3\xa4"})) == "a \xc3\xa4");
}

TEST_CASE("a translation is right where it has the reference's text") {
  const TextCodec codec = TextCodec::build(small_corpus());
  const auto right = [&](const char* reference, const char* translation) {
    return codec.is_right(codec.encode({"a", reference}), codec.encode_target(translation));
  };
  CHECK(right("ein hund", "ein hund"));
  CHECK(right("", ""));
  CHECK_FALSE(right("ein hund", "ein katze"));
  CHECK_FALSE(right("ein hund", "ein"));
  CHECK_FALSE(right("ein", "ein hund"));
  // The ids are the same here: two words that the vocabulary lacks, or one that is spelled like unk.
  CHECK_FALSE(right("der hund", "der hund"));
  CHECK_FALSE(right("der hund", "das hund"));
  CHECK_FALSE(right("<unk> hund", "<unk> hund"));
  // Other pieces of the same words, in place of one that the vocabulary lacks too.
  Corpus pieces = small_corpus();
  pieces.splits[0].pairs = {{"a", "ei@@ ne eine e@@ ine"}};
  const TextCodec cut = TextCodec::build(pieces);
  CHECK(cut.is_right(cut.encode({"a", "eine"}), cut.encode_target("e@@ ine")));
  CHECK(cut.is_right(cut.encode({"a", "ein@@ e"}), cut.encode_target("ei@@ ne")));
  CHECK_FALSE(cut.is_right(cut.encode({"a", "eine"}), cut.encode_target("ei@@ ine")));
  pieces.subwords.select("words");
  const TextCodec whole = TextCodec::build(pieces);
  CHECK_FALSE(whole.is_right(whole.encode({"a", "eine"}), whole.encode_target("e@@ ine")));

  CHECK(codec.most_tokens(codec.encode({"a", "ein hund"})) == 9);  // at most a piece for each byte
  CHECK(whole.most_tokens(whole.encode({"a", "ein hund"})) == 2);
}

TEST_CASE("the share of unknown tokens counts those of the text, without eos") {
  Corpus corpus = small_corpus();
  corpus.splits.push_back({"valid", {{"a dog", ""}, {"the cat the", "hund der hund hund"}}});
  const Dataset dataset(corpus);
  CHECK(unknown_share(dataset.split("train")).source == 0);
  CHECK(unknown_share(dataset.split("train")).target == 0);
  CHECK(unknown_share(dataset.split("valid")).source == 2 / 5.0);
  CHECK(unknown_share(dataset.split("valid")).target == 1 / 4.0);
  CHECK(unknown_share({{{Vocabulary::eos}, {}}}).target == 0);
  CHECK(unknown_share({}).source == 0);
}

TEST_CASE("a shared vocabulary counts both sides") {
  Corpus corpus;
  corpus.shared_vocabulary = true;
  corpus.splits = {{"train", {{"x y", "y y z"}}}};
  const TextCodec codec = TextCodec::build(corpus);
  CHECK(codec.source_vocabulary() == codec.target_vocabulary());
  CHECK(codec.source_vocabulary().size() == 7);
  CHECK(codec.encode_source("y x z") == Ids{4, 5, 6, Vocabulary::eos});
}

TEST_CASE("symbols have an entry even where the training split lacks them") {
  LexicalOptions options;
  options.vocabulary = 300;
  options.zipf_exponent = 1.5;
  options.train_size = options.valid_size = options.test_size = 20;
  const Dataset dataset(LexicalTask(options).load(1));
  CHECK(dataset.codec.source_vocabulary().size() == 304);
  CHECK(dataset.codec.target_vocabulary().size() == 304);
  CHECK(dataset.codec.source_vocabulary().id("w299") != Vocabulary::unk);
}

TEST_CASE("every split of a generated corpus comes back from its ids") {
  DatesOptions options;
  options.train_size = 2000;
  options.valid_size = options.test_size = 50;
  const Corpus corpus = DatesTask(options).load(1);
  const Dataset dataset(corpus);
  for (const Split& split : corpus.splits) {
    const auto& pairs = dataset.split(split.name);
    REQUIRE(pairs.size() == split.pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      CHECK(dataset.codec.decode_source(pairs[i].source) == split.pairs[i].source);
      CHECK(dataset.codec.decode_target(pairs[i].target) == split.pairs[i].target);
    }
  }
}

TEST_CASE("a finished run encodes as it did in training") {
  const test::TemporaryDirectory directory;
  const Corpus corpus = small_corpus();
  const Dataset trained(corpus);
  trained.codec.save(directory.path());
  const TextCodec loaded = TextCodec::load(directory.path(), corpus);
  CHECK(loaded.source_vocabulary() == trained.codec.source_vocabulary());
  CHECK(loaded.target_vocabulary() == trained.codec.target_vocabulary());

  Corpus other = corpus;  // other data, same vocabularies
  other.splits[0].pairs = {{"bird dog dog", "hund"}};
  const Dataset dataset(other, loaded);
  CHECK(dataset.split("train")[0].source == Ids{Vocabulary::unk, 6, 6, Vocabulary::eos});
  CHECK(dataset.codec.decode_target({4, 8, 7}) == "eine katze");
}

TEST_CASE("two different files cannot be one shared vocabulary") {
  const test::TemporaryDirectory directory;
  TextCodec::build(small_corpus()).save(directory.path());
  TextFormat format;
  format.shared_vocabulary = true;
  CHECK_THROWS_WITH_AS(TextCodec::load(directory.path(), format),
                       (directory.path("target.txt") + ": differs from " + directory.path("source.txt") +
                        ", and the two are one vocabulary; put back the one that was changed")
                           .c_str(),
                       Error);
}

}  // namespace
}  // namespace surd
