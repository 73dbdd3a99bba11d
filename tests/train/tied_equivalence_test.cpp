#include "tests/train/loss_curve.hpp"

#include <doctest/doctest.h>

#include <cmath>

// With one matrix for input and output, the factor can stand at either end: N(0, 1/d) times sqrt(d) at the input
// and N(0, 1) divided by sqrt(d) at the output are the same function. They also train alike if the second form's
// embeddings get sqrt(d) times the learning rate and epsilon / sqrt(d) with Adam, d times the learning rate with SGD.

namespace surd {
namespace {

using test::Arm;
using test::CurveOptions;
using test::loss_curve;
using Rule = Scale::Rule;

Arm at_input() { return {Rule::inv_sqrt_dim, Rule::sqrt_dim, Rule::one}; }

Arm at_output(double rate_multiplier, double epsilon_factor) {
  return {Rule::one, Rule::one, Rule::inv_sqrt_dim, rate_multiplier, epsilon_factor};
}

// 48 has no exact root, so rounding differs from the first update on and is amplified by training.
constexpr double curve_tolerance = sizeof(Real) == 4 ? 1e-5 : 1e-10;

TEST_CASE("tied, a factor at the input is its inverse at the output") {
  for (const Tie tie : {Tie::decoder, Tie::all})
    for (const std::size_t d : {16, 48, 64}) {
      CAPTURE(name_of(tie));
      CAPTURE(d);
      const auto width = static_cast<double>(d), root = std::sqrt(width);
      CurveOptions options;
      options.tie = tie;
      options.d_model = d;
      options.updates = d == 48 ? 20 : 100;
      const auto with_adam = loss_curve<Adam>(at_input(), options);
      CHECK(test::largest_gap(with_adam, loss_curve<Adam>(at_output(root, 1 / root), options)) <= curve_tolerance);
      CHECK(test::largest_gap(with_adam, loss_curve<Adam>(at_output(1, 1), options)) > 1e-2);
      const auto with_sgd = loss_curve<Sgd>(at_input(), options);
      CHECK(test::largest_gap(with_sgd, loss_curve<Sgd>(at_output(width, 1), options)) <= curve_tolerance);
      CHECK(test::largest_gap(with_sgd, loss_curve<Sgd>(at_output(1, 1), options)) > 1e-2);
    }
}

}  // namespace
}  // namespace surd
