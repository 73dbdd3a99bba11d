#include "layers/alibi.hpp"

#include <cmath>

namespace surd {

AlibiAttention::AlibiAttention(const Scope& scope, std::size_t d_model, std::size_t heads, const Options& options)
    : MultiHeadAttention(scope, d_model, heads, options) {
  for (std::size_t h = 1; h <= heads; ++h)
    slopes_.push_back(options.slope * std::exp2(-8 * static_cast<double>(h) / static_cast<double>(heads)));
}

void AlibiAttention::adjust(AttentionArguments& arguments) const { arguments.distance_slopes = slopes_; }

}  // namespace surd
