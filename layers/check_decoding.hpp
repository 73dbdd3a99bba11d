#pragma once

#include "layers/transformer.hpp"

#include <cstdint>
#include <string>

namespace surd {

struct CheckDecodingArguments {
  std::size_t batch = 3;   ///< sentences; with an encoder, of different lengths
  std::size_t length = 9;  ///< target positions, and those of the longest source; fewer where the model has fewer
  std::uint64_t seed = 0;  ///< of the random tokens
  /// On |stepwise - whole| / max(1e-3, largest hidden state).
  double tolerance = sizeof(Real) == 4 ? 1e-4 : 1e-9;
};

struct CheckDecodingResult {
  double worst = 0;   ///< largest relative deviation
  std::string where;  ///< of that deviation; "" where there is none
  bool passed = false;
};

/// Compares the hidden states of a model that decodes step by step, as in translating, with those of decoding whole
/// targets at once, padded and, where the model takes ragged rows, without padding, as in training, for random tokens
/// below `vocabulary`. They differ where a layer of your own counts positions from the first row it is given instead of
/// from `first_position`, or sees what is behind the cache's end or in another ragged row.
CheckDecodingResult check_decoding(const Transformer& model, std::size_t vocabulary,
                                   const CheckDecodingArguments& options = {});

}  // namespace surd
