#include "layers/relative_bias.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace surd {

std::size_t distance_bucket(std::ptrdiff_t distance, bool both_ways, std::size_t buckets, std::size_t max_distance) {
  std::size_t first = 0;
  if (both_ways) {
    buckets /= 2;
    if (distance > 0) first = buckets;
  } else {
    distance = std::min<std::ptrdiff_t>(distance, 0);  // keys behind the query are hidden
  }
  const auto apart = static_cast<std::size_t>(std::abs(distance));
  const std::size_t exact = buckets / 2;
  if (apart < exact) return first + apart;
  const double share = std::log(static_cast<double>(apart) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
  const auto step = static_cast<std::size_t>(share * static_cast<double>(buckets - exact));
  return first + std::min(exact + step, buckets - 1);
}

RelativeBiasAttention::RelativeBiasAttention(const Scope& scope, const AttentionPlace& place, const Options& options)
    : MultiHeadAttention(scope, place, options),
      buckets_(options.buckets),
      max_distance_(options.max_distance),
      both_ways_(place.role == AttentionRole::encoder_self),
      weight_(place.one_sequence() ? &(place.stack / "distance_bias")
                                          .shared_parameter("weight", {options.buckets, place.heads},
                                                            normal(options.bucket_std.value(place.d_model)))
                                   : nullptr) {}

void RelativeBiasAttention::adjust(AttentionArguments& arguments, Tape& tape, std::size_t queries,
                                   std::size_t keys) const {
  if (weight_ == nullptr) return;
  arguments.distance_bias = tape.parameter(*weight_);
  const std::size_t last = arguments.first_position + queries - 1;
  for (std::size_t i = 0; i < queries + keys - 1; ++i)
    arguments.buckets.push_back(distance_bucket(static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(last),
                                                both_ways_, buckets_, max_distance_));
}

}  // namespace surd
