#include "layers/rotary.hpp"

namespace surd {

std::string RotaryOptions::problem_with(std::size_t head_width) const {
  return head_width % 2 == 0 ? "" : "must leave an even d_k for rotary attention, which turns pairs";
}

RotaryAttention::RotaryAttention(const Scope& scope, std::size_t d_model, std::size_t heads, const Options& options)
    : MultiHeadAttention(scope, d_model, heads, options), base_(options.base) {
  const std::string problem = options.problem_with(d_model / heads);
  expect(problem.empty(), scope.path(), "heads = {} {}; got {}", heads, problem, d_model / heads);
}

Variable RotaryAttention::at_positions(Variable x, std::size_t count, std::size_t first_position) const {
  return rotary(x, count, first_position, base_);
}

}  // namespace surd
