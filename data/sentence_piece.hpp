#pragma once

#include "data/tokenizer.hpp"

#include <memory>

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace surd {

/// Pieces of words by SentencePiece (Kudo & Richardson, EMNLP 2018), which takes white space for a character, written
/// U+2581. Text is not normalized: pieces that were learned here give back the line that they were cut from, but for
/// runs of white space, and for a U+2581 in the text, which comes back as a space.
class SentencePieces : public Tokenizer {
 public:
  std::vector<std::string> tokens(std::string_view line) const override;
  std::string text(const std::vector<std::string>& tokens) const override;
  bool ambiguous() const override { return true; }
  bool cuts_words() const override { return true; }

  bool learns() const override { return true; }
  std::string model() const override { return model_; }
  void load(const std::string& model, const std::string& name) override;
  bool closed() const override { return true; }
  std::vector<std::string> all_tokens() const override;

 private:
  std::string model_;
  std::shared_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

struct LearnedPiecesOptions {
  std::size_t size = 8000;
  double coverage = 1;
  bool byte_fallback = false;

  void fields(Fields& f) {
    f("size", size, "pieces to learn, <unk> included; fewer where the text has no more", between(2, 1e6),
      Unit{"pieces"});
    f("coverage", coverage,
      "share of the characters of the training split that get a piece; 0.9995 where there are thousands of them",
      Range{0.98, 1});
    f("byte_fallback", byte_fallback,
      "write characters without a piece as bytes, so that nothing is unknown; takes 256 of the pieces");
  }
};

/// Pieces that are learned from the training split.
class LearnedPieces : public SentencePieces {
 public:
  using Options = LearnedPiecesOptions;
  void learn(const std::vector<std::string>& lines) override;

 protected:
  LearnedPieces(const Options& options, const char* kind) : options_(options), kind_(kind) {}

 private:
  Options options_;
  const char* kind_;
};

/// Byte pair encoding (Sennrich et al., ACL 2016).
class BytePairs : public LearnedPieces {
 public:
  explicit BytePairs(const Options& options) : LearnedPieces(options, "bpe") {}
};

/// The likeliest pieces under a unigram language model (Kudo, ACL 2018).
class Unigrams : public LearnedPieces {
 public:
  explicit Unigrams(const Options& options) : LearnedPieces(options, "unigram") {}
};

struct GivenModelOptions {
  std::string model;

  void fields(Fields& f) {
    f("model", model, "the .model file, which serves both languages; it is copied into the run");
    f.rule(!model.empty(), "model", "is required: name a file, for example data/joint.model");
  }
};
/// A model that somebody has trained before.
class GivenModel : public SentencePieces {
 public:
  using Options = GivenModelOptions;
  explicit GivenModel(const Options& options) : path_(options.model) {}
  void learn(const std::vector<std::string>& lines) override;

 private:
  std::string path_;
};

}  // namespace surd
