#pragma once

#include "autograd/base/fields.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace surd {

using TokenId = std::int32_t;

/// How often each token occurs.
using TokenCounts = std::unordered_map<std::string, std::size_t>;

struct VocabularyOptions {
  std::size_t min_frequency = 1;
  std::optional<std::size_t> size_limit;

  void fields(Fields& f);
};

/// The tokens a model knows, numbered from 0: four special tokens, then the tokens of a corpus, most frequent first and
/// ties in the order of their bytes, so that equal counts always give equal ids.
///
/// No text can name a special token: a word of the corpus that happens to be spelled "<s>" is an unknown word.
class Vocabulary {
 public:
  static constexpr TokenId pad = 0;  ///< "<pad>", fills the rows of a batch
  static constexpr TokenId bos = 1;  ///< "<s>", starts the decoder's input
  static constexpr TokenId eos = 2;  ///< "</s>", ends a source and what a decoder writes
  static constexpr TokenId unk = 3;  ///< "<unk>", every token that is not in the vocabulary
  static constexpr std::size_t specials = 4;
  static constexpr std::size_t largest_size = 10000000;  ///< tokens, special ones included

  /// The special tokens alone.
  Vocabulary();

  /// Whether a token is UTF-8, not empty and free of ASCII white space: then it survives being a line of a file.
  static bool can_hold(const std::string& token);

  /// Takes the tokens that occur at least `min_frequency` times, and of those the most frequent, up to `size_limit`
  /// entries in all, special tokens included. Throws Error at a token that it cannot hold.
  static Vocabulary build(const TokenCounts& counts, const VocabularyOptions& options = {});
  static Vocabulary build(const std::vector<std::vector<std::string>>& sentences,
                          const VocabularyOptions& options = {});

  /// `unk` where the vocabulary lacks the token or it is spelled like a special one.
  TokenId id(const std::string& token) const;
  /// Those of several, with room for an eos.
  std::vector<TokenId> ids(const std::vector<std::string>& tokens) const;
  /// Throws Error out of [0, size()).
  const std::string& token(TokenId id) const;
  /// Special tokens included.
  std::size_t size() const { return tokens_.size(); }

  /// One token a line, in the order of their ids: what save() writes.
  std::string text() const;
  /// Writes text() into a file. Throws Error when the file cannot be written.
  void save(const std::string& path) const;
  /// Reads what save() wrote. Throws Error "file:line: ..." unless the special tokens come first and each following
  /// line holds one token that is new; or when LineReader does.
  static Vocabulary load(const std::string& path);

  bool operator==(const Vocabulary& other) const { return tokens_ == other.tokens_; }
  bool operator!=(const Vocabulary& other) const { return !(*this == other); }

 private:
  bool insert(const std::string& token);

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, TokenId> ids_;  // without the special tokens, which no text can name
};

}  // namespace surd
