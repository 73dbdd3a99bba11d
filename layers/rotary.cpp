#include "layers/rotary.hpp"

namespace surd {

RotaryAttention::RotaryAttention(const Scope& scope, const AttentionPlace& place, const Options& options)
    : MultiHeadAttention(scope, place, options.key_value_heads.value_or(place.heads), options),
      turns_(place.one_sequence()),
      base_(options.base) {
  const std::size_t width = place.d_model / place.heads;
  expect_option(width % 2 == 0, "model.heads",
                "must divide model.d_model = {} into heads of an even width, of which rotary attention turns pairs; "
                "got {} of width {}",
                place.d_model, place.heads, width);
}

Variable RotaryAttention::at_positions(Variable x, std::size_t count, std::size_t first_position) const {
  return turns_ ? rotary(x, count, first_position, base_) : x;
}

}  // namespace surd
