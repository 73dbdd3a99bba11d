#pragma once

#include "autograd/base/registry.hpp"
#include "data/text.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace surd {

/// Whether a vocabulary has a token.
using KnownTokens = std::function<bool(const std::string&)>;

/// How a line of text becomes tokens, and tokens a line. One that learns its pieces does so from the training split
/// when a run begins, and is kept with the run.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// None is empty and none holds ASCII white space. Throws Error where the line is not valid UTF-8.
  virtual std::vector<std::string> tokens(std::string_view line) const = 0;
  /// The same tokens one by one, without a list of them: quicker for a corpus.
  virtual void for_each_token(std::string_view line, const TokenVisitor& f) const {
    for (const std::string& token : tokens(line)) f(token);
  }
  /// The same of a line that need not be cut as the corpus is: where that has pieces of words, words of the line are
  /// cut into pieces that the vocabulary has. `known` tells which these are.
  virtual std::vector<std::string> tokens_of_text(std::string_view line, const KnownTokens& /*known*/) const {
    return tokens(line);
  }
  /// The line that tokens stand for.
  virtual std::string text(const std::vector<std::string>& tokens) const = 0;
  /// Whether several sequences of tokens may stand for the same line.
  virtual bool ambiguous() const { return false; }
  /// Whether the tokens are pieces of words, so that few are unknown.
  virtual bool cuts_words() const { return false; }

  /// Whether it has to learn() or load() before it can be used.
  virtual bool learns() const { return false; }
  /// Throws Error, with what to change, where these lines cannot be learned from.
  virtual void learn(const std::vector<std::string>& /*lines*/) {}
  /// What it has learned, as bytes, and back. load() throws Error, naming `name`, where they are damaged.
  virtual std::string model() const { return ""; }
  virtual void load(const std::string& /*model*/, const std::string& /*name*/) {}
  /// Whether all_tokens() are all that there are: each has an entry in the vocabulary, and all else is unknown.
  virtual bool closed() const { return false; }
  virtual std::vector<std::string> all_tokens() const { return {}; }
};

/// Another tokenizer, whose lines are put into lower case first.
class LowerCased : public Tokenizer {
 public:
  explicit LowerCased(std::unique_ptr<Tokenizer> inner) : inner_(std::move(inner)) {}

  std::vector<std::string> tokens(std::string_view line) const override;
  void for_each_token(std::string_view line, const TokenVisitor& f) const override;
  std::vector<std::string> tokens_of_text(std::string_view line, const KnownTokens& known) const override;
  std::string text(const std::vector<std::string>& tokens) const override { return inner_->text(tokens); }
  bool ambiguous() const override { return inner_->ambiguous(); }
  bool cuts_words() const override { return inner_->cuts_words(); }
  bool learns() const override { return inner_->learns(); }
  void learn(const std::vector<std::string>& lines) override;
  std::string model() const override { return inner_->model(); }
  void load(const std::string& model, const std::string& name) override { inner_->load(model, name); }
  bool closed() const override { return inner_->closed(); }
  std::vector<std::string> all_tokens() const override { return inner_->all_tokens(); }

 private:
  std::unique_ptr<Tokenizer> inner_;
};

using TokenizerChoice = Choice<Tokenizer()>;

/// The tokenizers by name: words, characters, bytes, bpe, unigram, sentencepiece, and those a program adds.
Registry<Tokenizer()>& tokenizers();

struct WordOptions {
  std::string marker;

  void fields(Fields& f) {
    f("marker", marker,
      "what ends a piece of a word that goes on in the next one, where the text was cut into such pieces before, e.g. "
      "@@; empty: none");
    f.rule(marker.find_first_of(" \t\n\r\f\v") == std::string::npos, "marker",
           "must hold no white space, which ends a word");
  }
};
/// Words between ASCII white space, taken as they stand. With a marker, pieces of words are joined again, and a word of
/// a text that is no token itself is cut into the fewest pieces that are.
class Words : public Tokenizer {
 public:
  using Options = WordOptions;
  explicit Words(const Options& options) : marker_(options.marker) {}

  std::vector<std::string> tokens(std::string_view line) const override;
  void for_each_token(std::string_view line, const TokenVisitor& f) const override;
  std::vector<std::string> tokens_of_text(std::string_view line, const KnownTokens& known) const override;
  std::string text(const std::vector<std::string>& tokens) const override;
  bool ambiguous() const override { return !marker_.empty(); }
  bool cuts_words() const override { return !marker_.empty(); }

 private:
  /// The fewest tokens that a word can be cut into, of several ways the one with the longest first piece; none where it
  /// cannot be cut.
  std::vector<std::string> pieces(const std::string& word, const KnownTokens& known) const;

  std::string marker_;
};

/// Unicode code points; white space is space_token.
class Characters : public Tokenizer {
 public:
  using Options = NoOptions;
  explicit Characters(const Options&) {}

  std::vector<std::string> tokens(std::string_view line) const override;
  void for_each_token(std::string_view line, const TokenVisitor& f) const override;
  std::string text(const std::vector<std::string>& tokens) const override;
};

/// The bytes of UTF-8, written <0x41>. None is ever unknown. What is no UTF-8 is written U+FFFD.
class Bytes : public Tokenizer {
 public:
  using Options = NoOptions;
  explicit Bytes(const Options&) {}

  std::vector<std::string> tokens(std::string_view line) const override;
  std::string text(const std::vector<std::string>& tokens) const override;
  bool cuts_words() const override { return true; }
  bool closed() const override { return true; }
  std::vector<std::string> all_tokens() const override;
};

/// The token of a byte, "<0x41>", and back; nothing where the token is none.
std::string byte_token(unsigned char byte);
std::optional<unsigned char> byte_of(std::string_view token);

}  // namespace surd
