#include "layers/rotary.hpp"

namespace surd {

RotaryAttention::RotaryAttention(const Scope& scope, std::size_t d_model, std::size_t heads, const Options& options)
    : MultiHeadAttention(scope, d_model, heads, options), base_(options.base) {
  expect_option(d_model / heads % 2 == 0, "model.heads",
                "must divide model.d_model = {} into heads of an even width, of which rotary attention turns pairs; "
                "got {} of width {}",
                d_model, heads, d_model / heads);
}

Variable RotaryAttention::at_positions(Variable x, std::size_t count, std::size_t first_position) const {
  return rotary(x, count, first_position, base_);
}

}  // namespace surd
