#pragma once

#include "data/vocabulary.hpp"
#include "layers/transformer.hpp"

#include <string>
#include <vector>

namespace surd {

/// Where a layer of the decoder looks in the source while a translation is written.
struct CrossAttention {
  std::string layer;  ///< its path, "decoder.0.cross_attention"
  /// Attention weights [H, T, S]: a row for each of the T ids of the target, over the S ids of the source.
  Tensor weights;
};

/// Of each decoder layer, the first first. `source` ends in eos. So does `target`, where the translation was not cut;
/// it must not be empty. Throws Error where the model has no place for either.
std::vector<CrossAttention> cross_attention(const Transformer& model, const std::vector<TokenId>& source,
                                            const std::vector<TokenId>& target);

}  // namespace surd
