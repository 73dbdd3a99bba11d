#pragma once

#include "data/vocabulary.hpp"
#include "layers/transformer.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace surd {

/// How the tokens of a text are drawn, one after another.
struct SamplingArguments {
  std::uint64_t seed;
  double temperature = 1;              ///< logits are divided by it; 0: the likeliest token is taken
  std::optional<std::size_t> top_k{};  ///< of so many likeliest tokens; Fan et al., ACL 2018, section 5.1
  /// Of the fewest likeliest of these that together have this share of their probability; Holtzman et al., ICLR 2020
  /// (nucleus sampling).
  double top_p = 1;
  std::size_t max_length = std::numeric_limits<std::size_t>::max();  ///< new tokens, eos included; a text is cut there
};

/// A text that goes on from a prompt.
struct SampledText {
  std::vector<TokenId> tokens;  ///< behind the prompt, without eos
  double log_probability = 0;   ///< sum over these and eos under the model itself, temperature 1, nats
  bool finished = false;        ///< whether it ended in eos
};

/// The texts number first to first + count - 1 that a decoder alone writes behind the prompt's tokens. A text depends
/// on its number and the arguments, not on those that are drawn beside it, but for rounding. Never writes pad, bos or
/// unk. A model that takes texts of any length, and never draws eos, writes for ever where max_length sets no end.
/// Throws Error where an argument is out of range, the model has an encoder, it has no place for the prompt and a
/// token more, or its logits are not finite.
std::vector<SampledText> sample(const Transformer& model, const std::vector<TokenId>& prompt, std::size_t first,
                                std::size_t count, const SamplingArguments& arguments);

/// The token that a number in [0, 1) draws from logits [V], V > 2, as the arguments say, which are not checked. Throws
/// Error where a logit is not finite.
TokenId draw_token(const Real* logits, std::size_t vocabulary, const SamplingArguments& arguments, double number);

}  // namespace surd
