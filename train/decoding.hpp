#pragma once

#include "data/vocabulary.hpp"
#include "layers/transformer.hpp"

#include <cstddef>
#include <vector>

namespace surd {

struct DecodingArguments {
  /// K unfinished hypotheses are kept; 1: greedy. Of the 2 K best extensions by a token, one that ends the sentence is
  /// finished where it is among the first K, and the first K of the others go on.
  std::size_t beam = 1;
  std::size_t max_length =
      100;  ///< target tokens, eos included; what is not finished by then, or by the model's max_length(), is cut
  /// alpha of ((5 + length) / 6)^alpha, which divides the log-probability; Wu et al., arXiv 1609.08144, section 7. The
  /// length counts eos.
  double length_penalty = 1;
  /// If above 0, the translation of a source of n tokens and its eos is also cut after max_length_factor (n + 1) + 20,
  /// eos included, so that what a source becomes does not depend on those it is decoded with.
  double max_length_factor = 0;
};

struct Translation {
  std::vector<TokenId> tokens;  ///< without bos and eos
  double log_probability = 0;   ///< sum over the tokens and eos, nats
  bool finished = false;        ///< whether it ended in eos
  double score = 0;             ///< what the search ranks by: log_probability over the length penalty
};

/// The best translation of each source (ids ending in eos), in their order. Sources are decoded together, padded to
/// the longest. Never writes pad, bos. Throws Error when options are 0 or a source is empty.
std::vector<Translation> decode(const Transformer& model, const std::vector<std::vector<TokenId>>& sources,
                                const DecodingArguments& options);

}  // namespace surd
