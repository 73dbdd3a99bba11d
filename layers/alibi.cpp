#include "layers/alibi.hpp"

#include <cmath>

namespace surd {

AlibiAttention::AlibiAttention(const Scope& scope, const AttentionPlace& place, const Options& options)
    : MultiHeadAttention(scope, place, options) {
  if (!place.one_sequence()) return;
  std::size_t power = 1;  // of two, the largest that is at most the number of heads
  while (2 * power <= place.heads) power *= 2;
  const auto add = [&](double exponent) {
    slopes_.push_back(options.slope * std::exp2(-8 * exponent / static_cast<double>(power)));
  };
  for (std::size_t h = 1; h <= power; ++h) add(static_cast<double>(h));
  for (std::size_t h = 0; slopes_.size() < place.heads; ++h) add(static_cast<double>(h) + 0.5);  // between those
}

void AlibiAttention::adjust(AttentionArguments& arguments, Tape&, std::size_t, std::size_t) const {
  arguments.distance_slopes = slopes_;
}

}  // namespace surd
