#pragma once

#include "data/vocabulary.hpp"
#include "layers/transformer.hpp"

#include <cstddef>
#include <vector>

namespace surd {

struct DecodingArguments {
  std::size_t beam = 1;  ///< 1: greedy
  std::size_t max_length =
      100;  ///< target tokens, eos included; what is not finished by then, or by the model's max_length(), is cut
  double length_penalty = 1;  ///< alpha of ((5 + length) / 6)^alpha; Wu et al., arXiv 1609.08144, section 7
  /// If above 0, a source of n tokens is also cut after max_length_factor n + 20, so that what a source becomes does
  /// not depend on those it is decoded with.
  double max_length_factor = 0;
};

struct Translation {
  std::vector<TokenId> tokens;  ///< without bos and eos
  double log_probability = 0;   ///< sum over the tokens and eos, nats
  bool finished = false;        ///< whether it ended in eos
};

/// The best translation of each source (ids ending in eos), in their order. Sources are decoded together, padded to
/// the longest. Never writes pad, bos. Throws Error when options are 0 or a source is empty.
std::vector<Translation> decode(const Transformer& model, const std::vector<std::vector<TokenId>>& sources,
                                const DecodingArguments& options);

}  // namespace surd
