#include "data/vocabulary.hpp"

#include "autograd/base/error.hpp"
#include "autograd/base/random.hpp"
#include "tests/data/temporary_directory.hpp"

#include <doctest/doctest.h>

namespace surd {
namespace {

using test::TemporaryDirectory;
using Tokens = std::vector<std::string>;

Tokens tokens_of(const Vocabulary& vocabulary) {
  Tokens tokens;
  for (std::size_t id = 0; id < vocabulary.size(); ++id) tokens.push_back(vocabulary.token(static_cast<TokenId>(id)));
  return tokens;
}

TEST_CASE("an empty vocabulary knows the special tokens") {
  const Vocabulary vocabulary;
  CHECK(tokens_of(vocabulary) == Tokens{"<pad>", "<s>", "</s>", "<unk>"});
  CHECK(vocabulary.token(Vocabulary::pad) == "<pad>");
  CHECK(vocabulary.token(Vocabulary::bos) == "<s>");
  CHECK(vocabulary.token(Vocabulary::eos) == "</s>");
  CHECK(vocabulary.token(Vocabulary::unk) == "<unk>");
  CHECK(Vocabulary::build(TokenCounts{}) == vocabulary);
}

TEST_CASE("frequent tokens come first, ties in the order of their bytes") {
  const auto vocabulary = Vocabulary::build({{"b", "a", "zz", "b"}, {"ä", "Z", "zz", "b"}});
  CHECK(tokens_of(vocabulary) == Tokens{"<pad>", "<s>", "</s>", "<unk>", "b", "zz", "Z", "a", "ä"});
  CHECK(vocabulary.id("b") == 4);
  CHECK(vocabulary.id("ä") == 8);
  CHECK(vocabulary.id("y") == Vocabulary::unk);
  CHECK(vocabulary.id("") == Vocabulary::unk);
}

TEST_CASE("rare tokens and those beyond the limit are unknown") {
  const TokenCounts counts = {{"a", 5}, {"b", 3}, {"c", 3}, {"d", 2}, {"e", 1}};
  VocabularyOptions options;
  options.min_frequency = 2;
  CHECK(tokens_of(Vocabulary::build(counts, options)) == Tokens{"<pad>", "<s>", "</s>", "<unk>", "a", "b", "c", "d"});
  options.size_limit = 6;
  const auto vocabulary = Vocabulary::build(counts, options);
  CHECK(tokens_of(vocabulary) == Tokens{"<pad>", "<s>", "</s>", "<unk>", "a", "b"});
  CHECK(vocabulary.id("c") == Vocabulary::unk);
  options.size_limit = 4;
  CHECK_THROWS_WITH_AS(Vocabulary::build(counts, options), "vocabulary: size_limit must be in [5, 10_000_000]; got 4",
                       Error);
  options = {};
  options.min_frequency = 0;
  CHECK_THROWS_AS(Vocabulary::build(counts, options), Error);
}

TEST_CASE("no word of a corpus names a special token") {
  const auto vocabulary = Vocabulary::build({{"<s>", "</s>", "<pad>", "<unk>", "<s>", "word"}});
  CHECK(tokens_of(vocabulary) == Tokens{"<pad>", "<s>", "</s>", "<unk>", "word"});
  for (const char* word : {"<s>", "</s>", "<pad>", "<unk>"}) CHECK(vocabulary.id(word) == Vocabulary::unk);
}

TEST_CASE("ids outside the vocabulary are errors") {
  const Vocabulary vocabulary;
  CHECK_THROWS_WITH_AS(vocabulary.token(4), "vocabulary: an id must be in [0, 4); got 4", Error);
  CHECK_THROWS_WITH_AS(vocabulary.token(-1), "vocabulary: an id must be in [0, 4); got -1", Error);
}

TEST_CASE("tokens that could not be saved are errors") {
  for (const char* token : {"", " ", "a b", "a\n", "\t", "a\r", "\xff"})
    CHECK_THROWS_AS(Vocabulary::build(TokenCounts{{token, 1}}), Error);
}

TEST_CASE("a vocabulary that was saved comes back") {
  const TemporaryDirectory directory;
  const auto vocabulary = Vocabulary::build({{"the", "the", "▁", "grün", "😀", "#", "\"", "a@@"}});
  vocabulary.save(directory.path("vocabulary"));
  CHECK(TemporaryDirectory::read(directory.path("vocabulary")) ==
        "<pad>\n<s>\n</s>\n<unk>\nthe\n\"\n#\na@@\ngrün\n▁\n😀\n");
  const auto loaded = Vocabulary::load(directory.path("vocabulary"));
  CHECK(loaded == vocabulary);
  CHECK(loaded.id("grün") == vocabulary.id("grün"));
  CHECK(loaded != Vocabulary());
}

TEST_CASE("random vocabularies come back") {
  const TemporaryDirectory directory;
  random::Sequence draw(random::Stream(1, "test", "vocabulary"));
  const Tokens letters = {"a", "B", "<", ">", "s", "/", "é", "€", "@", "0"};
  for (int round = 0; round < 50; ++round) {
    TokenCounts counts;
    for (std::size_t n = draw.integer(60); n > 0; --n) {
      std::string token;
      for (std::size_t length = draw.between(1, 4); length > 0; --length) token += draw.choose(letters);
      counts[token] += draw.between(1, 5);
    }
    const auto vocabulary = Vocabulary::build(counts);
    vocabulary.save(directory.path("vocabulary"));
    CHECK(Vocabulary::load(directory.path("vocabulary")) == vocabulary);
    for (const auto& entry : counts) {
      const TokenId id = vocabulary.id(entry.first);
      if (id != Vocabulary::unk) CHECK(vocabulary.token(id) == entry.first);
    }
  }
}

TEST_CASE("a damaged vocabulary is refused at its line") {
  const TemporaryDirectory directory;
  const std::string specials = "<pad>\n<s>\n</s>\n<unk>\n";
  const auto refuses = [&](const std::string& content, const std::string& message) {
    const std::string path = directory.write("vocabulary", content);
    CHECK_THROWS_WITH_AS(Vocabulary::load(path), (path + ":" + message).c_str(), Error);
  };
  refuses("", "1: the file ends before the special tokens <pad>, <s>, </s>, <unk>");
  refuses("<pad>\n<s>\n", "3: the file ends before the special tokens <pad>, <s>, </s>, <unk>");
  refuses("the\n" + specials, "1: a vocabulary's line 1 must be <pad>; got 'the'");
  refuses("<pad>\n</s>\n<s>\n<unk>\n", "2: a vocabulary's line 2 must be <s>; got '</s>'");
  refuses(specials + "a\nb\na\n", "7: 'a' is listed twice");
  refuses(specials + "a\n<s>\n", "6: '<s>' is listed twice");
  refuses(specials + "a\n\nb\n", "6: a token must not be empty or hold white space; got ''");
  refuses(specials + "a b\n", "5: a token must not be empty or hold white space; got 'a b'");
  refuses(specials + "a\nb\xff\n", "6:2: invalid UTF-8 (byte 0xff)");
  CHECK_THROWS_AS(Vocabulary::load(directory.path("missing")), Error);
}

TEST_CASE("a vocabulary that cannot be written says so") {
  const TemporaryDirectory directory;
  const std::string path = directory.path("missing/vocabulary");
  CHECK_THROWS_WITH_AS(Vocabulary().save(path), ("cannot write '" + path + "': No such file or directory").c_str(),
                       Error);
}

}  // namespace
}  // namespace surd
