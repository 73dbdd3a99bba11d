#include "data/tokenizer.hpp"

#include "data/dataset.hpp"
#include "data/lines.hpp"
#include "data/sentence_piece.hpp"
#include "temporary_directory.hpp"
#include "tests/text.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace surd {
namespace {

using test::contains;
using test::message_of;
using test::TemporaryDirectory;

/// Lines of a few stems and endings, so that there are pieces to be found.
std::vector<std::string> lines(std::size_t count) {
  const std::vector<std::string> stems = {"lauf", "schreib", "über", "seh", "größ"},
                                 ends = {"en", "er", "ung", "t", "st"};
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) {
    std::string line;
    for (std::size_t k = 0; k < 3 + i % 4; ++k)
      line += (k > 0 ? " " : "") + stems[(i * 7 + k * 3) % 5] + ends[(i * 5 + k * i) % 5];
    all.push_back(line);
  }
  return all;
}

Corpus corpus_of(const std::string& kind, std::size_t size, bool shared) {
  Corpus corpus;
  corpus.shared_vocabulary = shared;
  corpus.subwords.select(kind);
  if (kind == "bpe") corpus.subwords.set<BytePairs>(kind, {size});
  if (kind == "unigram") corpus.subwords.set<Unigrams>(kind, {size});
  Split train{"train", {}};
  const auto sources = lines(200);
  for (std::size_t i = 0; i < sources.size(); ++i) train.pairs.push_back({sources[i], sources[(i + 1) % 200]});
  corpus.splits = {train, {"test", {{"laufende größe", "xenon über"}}}};
  return corpus;
}

std::unique_ptr<Tokenizer> learned(const Corpus& corpus) {
  auto tokenizer = corpus.subwords.make();
  tokenizer->learn(lines(200));
  return tokenizer;
}

TEST_CASE("a format in lower case learns, counts and reads lines in lower case") {
  for (const char* kind : {"words", "bpe"}) {
    Corpus corpus = corpus_of(kind, 60, true), upper = corpus;
    for (TextPair& pair : upper.splits.front().pairs) pair.source = "S" + pair.source;
    for (TextPair& pair : corpus.splits.front().pairs) pair.source = "s" + pair.source;
    corpus.lowercase = upper.lowercase = true;
    const TextCodec codec = TextCodec::build(upper);
    CHECK(codec.files() == TextCodec::build(corpus).files());
    CHECK(codec.encode_source("LAUFEN Über") == codec.encode_source("laufen über"));
    CHECK(codec.decode_target(codec.encode_target("LAUFEN Seher")) ==
          codec.decode_target(codec.encode_target("laufen seher")));
  }
}

TEST_CASE("a tokenizer of any kind gives back the line") {
  for (const char* kind : {"words", "characters", "bytes", "bpe", "unigram"}) {
    CAPTURE(kind);
    const auto tokenizer = learned(corpus_of(kind, 60, true));
    for (const std::string& line : lines(50)) {
      const auto tokens = tokenizer->tokens(line);
      CHECK(tokenizer->text(tokens) == line);
      std::vector<std::string> visited;
      tokenizer->for_each_token(line, [&](std::string_view token) { visited.emplace_back(token); });
      CHECK(visited == tokens);
      for (const std::string& token : tokens) {
        CHECK_FALSE(token.empty());
        CHECK(token.find_first_of(" \t") == std::string::npos);
      }
    }
    CHECK_THROWS_AS(tokenizer->tokens("caf\xe9"), Error);
  }
}

TEST_CASE("bytes that are no text are written as replacements") {
  const Bytes bytes{NoOptions()};
  CHECK(bytes.tokens("a\xc3\xa4") == std::vector<std::string>{"<0x61>", "<0xC3>", "<0xA4>"});
  CHECK(bytes.text({"<0x61>", "<0xC3>", "<0x62>"}) ==
        "a\xef\xbf\xbd"
        "b");
  CHECK(bytes.text({"<0x61>", "<unk>"}) == "a<unk>");
  CHECK(bytes.all_tokens().size() == 256);
  CHECK_FALSE(byte_of("<0xZZ>"));
  CHECK_FALSE(byte_of("<0x1>"));
}

TEST_CASE("pieces are learned from the training split, the same each time, and fewer where there are fewer") {
  for (const char* kind : {"bpe", "unigram"}) {
    const Corpus corpus = corpus_of(kind, 40, true);
    const auto one = learned(corpus), two = learned(corpus);
    CHECK(one->model() == two->model());
    const std::size_t pieces = one->all_tokens().size();  // and <unk>
    CHECK((std::string(kind) == "bpe" ? pieces == 39 : pieces > 20 && pieces <= 39));
    CHECK(one->tokens(" laufen \t\n schreiben ") == one->tokens("laufen schreiben"));
  }
  CHECK(contains(message_of([] { learned(corpus_of("bpe", 9, true)); }),
                 "task.subwords.size: SentencePiece cannot learn 9"));
}

TEST_CASE("a line is learned from though it holds the sign that SentencePiece has for unknown characters") {
  for (const char* kind : {"bpe", "unigram"}) {
    auto tokenizer = corpus_of(kind, 40, true).subwords.make();
    std::vector<std::string> all = lines(200);
    for (std::string& line : all) line += " \u2585 \u03c9";
    tokenizer->learn(all);
    const std::vector<std::string> pieces = tokenizer->all_tokens();
    CHECK(
        std::any_of(pieces.begin(), pieces.end(), [](const std::string& piece) { return contains(piece, "\u03c9"); }));
  }
}

TEST_CASE("a word that the trainer of BPE has no numbers for is refused") {
  const auto error_with = [](std::size_t length) {
    Corpus corpus = corpus_of("bpe", 40, false);
    std::string word;
    for (std::size_t i = 0; i < length; ++i) word += i < 10 ? "ä" : "q";
    corpus.splits[0].pairs.push_back({"a b", "schreiben " + word});
    return message_of([&] { TextCodec::build(corpus); });
  };
  CHECK(error_with(32766).empty());
  CHECK(contains(error_with(32767),
                 "task.subwords.kind: bpe learns from words of at most 32766 characters; one has 32767"));
  CHECK(contains(error_with(32767), "begins \"ääääääääää\""));
}

TEST_CASE("what was learned is kept with the vocabularies") {
  for (const bool shared : {true, false})
    for (const char* kind : {"bpe", "unigram"}) {
      const TemporaryDirectory directory;
      const Corpus corpus = corpus_of(kind, 60, shared);
      const TextCodec built = TextCodec::build(corpus);
      built.save(directory.path());
      const TextCodec loaded = TextCodec::load(directory.path(), corpus);
      const TextPair pair = corpus.split("test").pairs[0];
      CHECK(loaded.encode(pair).source == built.encode(pair).source);
      CHECK(loaded.encode(pair).target == built.encode(pair).target);
      CHECK(loaded.decode_source(loaded.encode_source("laufen größer")) == "laufen größer");
      CHECK((kind == std::string("unigram") || built.source_vocabulary().size() == Vocabulary::specials + 59));
      CHECK(contains(loaded.reference(loaded.encode(pair)), "xenon"));  // has letters that no piece has
      CHECK(loaded.is_right({{2}, loaded.encode_target("laufen")}, loaded.encode_target("laufen")));

      write_bytes(directory.path("source.model"), "no model");
      CHECK(contains(message_of([&] { TextCodec::load(directory.path(), corpus); }),
                     "source.model: is not a model of SentencePiece"));
    }
}

TEST_CASE("the training split has the ids that its codec gives") {
  for (const char* kind : {"words", "characters", "bytes", "bpe", "unigram"})
    for (const char* sides : {"shared", "apart", "one"}) {
      CAPTURE(kind);
      CAPTURE(sides);
      Corpus corpus = corpus_of(kind, 60, std::string(sides) != "apart");
      corpus.one_sided = std::string(sides) == "one";
      corpus.lowercase = true;
      if (!corpus.tokenizer()->cuts_words()) corpus.vocabulary.min_frequency = 2;
      for (const TextPair& pair : {TextPair{"Once", "ONCE </s> ☃"}, TextPair{"", ""}, TextPair{"<unk>", "<unk>"}})
        corpus.splits[0].pairs.push_back(pair);
      const Dataset dataset(corpus);
      const std::vector<TextPair>& texts = corpus.split("train").pairs;
      const std::vector<SentencePair>& pairs = dataset.split("train");
      REQUIRE(pairs.size() == texts.size());
      std::size_t unknown = 0;
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const SentencePair alone = dataset.codec.encode(texts[i]);
        CHECK(pairs[i].source == alone.source);
        CHECK(pairs[i].target == alone.target);
        CHECK(pairs[i].target_text == alone.target_text);
        unknown += pairs[i].target_text.empty() ? 0 : 1;
      }
      CHECK((unknown > 0) == (std::string(kind) != "bytes"));
    }
}

TEST_CASE("with bytes to fall back on nothing is unknown") {
  Corpus corpus = corpus_of("bpe", 60, true);
  corpus.subwords.set<BytePairs>("bpe", {320, 1, true});
  const TextCodec codec = TextCodec::build(corpus);
  const auto ids = codec.encode_source("xenon ☃");
  CHECK(std::count(ids.begin(), ids.end(), Vocabulary::unk) == 0);
  CHECK(codec.decode_source(ids) == "xenon ☃");
}

TEST_CASE("a model of one's own is copied") {
  const TemporaryDirectory directory;
  const std::string path = directory.path("own.model");
  write_bytes(path, learned(corpus_of("unigram", 50, true))->model());
  Corpus corpus = corpus_of("words", 0, true);
  corpus.subwords.set<GivenModel>("sentencepiece", {path});
  const TextCodec codec = TextCodec::build(corpus);
  CHECK(codec.source_tokens("laufen") == learned(corpus_of("unigram", 50, true))->tokens("laufen"));
  corpus.subwords.set<GivenModel>("sentencepiece", {directory.path("none")});
  CHECK(contains(message_of([&] { TextCodec::build(corpus); }), "task.subwords.model: cannot read"));
}

TEST_CASE("characters without a piece are unknown, and get no entry") {
  Corpus corpus = corpus_of("bpe", 40, true);
  for (std::size_t i = 0; i < 20; ++i) corpus.splits[0].pairs[10 * i].source += i % 2 == 0 ? " γζ" : " 仮名";
  corpus.subwords.set<BytePairs>("bpe", {40, 0.98, false});
  const TextCodec codec = TextCodec::build(corpus);
  CHECK(codec.source_vocabulary().size() <= Vocabulary::specials + 39);
  const auto ids = codec.encode_source("laufen γζ");
  CHECK(std::count(ids.begin(), ids.end(), Vocabulary::unk) == 1);
}

}  // namespace
}  // namespace surd
