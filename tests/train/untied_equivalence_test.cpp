#include "tests/train/long_training.hpp"
#include "tests/train/loss_curve.hpp"

#include <doctest/doctest.h>

#include <cmath>

// With an output matrix of its own, the factor on the input embeddings is a learning rate. A factor alpha on
// embeddings of deviation sigma trains exactly as none on embeddings of alpha sigma, at the learning rate alpha^2 lr
// with SGD, and alpha lr with epsilon / alpha with Adam. At these widths alpha = sqrt(d) is a power of two, so that
// nothing rounds differently: "exactly" means every bit of every loss.

namespace surd {
namespace {

using test::Arm;
using test::CurveOptions;
using test::loss_curve;
using Rule = Scale::Rule;

Arm scaled() { return {Rule::inv_sqrt_dim, Rule::sqrt_dim}; }

/// The same without the factor; `rates` says whether the embeddings' rate and epsilon make up for it.
template <class AnyOptimizer>
Arm unscaled(std::size_t d, bool rates) {
  const double alpha = std::sqrt(static_cast<double>(d));
  Arm arm{Rule::one};
  if (!rates) return arm;
  const bool adam = std::is_same_v<AnyOptimizer, Adam>;
  arm.rate_multiplier = adam ? alpha : alpha * alpha;
  arm.epsilon_factor = 1 / alpha;
  return arm;
}

TEST_CASE_TEMPLATE("untied, a factor on the embeddings is a change of their learning rate, bit for bit", AnyOptimizer,
                   Sgd, Adam) {
  for (const std::size_t d : {16, 64, 256}) {
    if (test::no_long_training && d > 16) continue;
    CAPTURE(d);
    CurveOptions options;
    options.d_model = d;
    const auto losses = loss_curve<AnyOptimizer>(scaled(), options);
    CHECK(losses.size() == options.updates);
    CHECK(losses == loss_curve<AnyOptimizer>(unscaled<AnyOptimizer>(d, true), options));
    CHECK(losses.back() < 0.9 * losses.front());  // something was learned on the way
  }
}

TEST_CASE_TEMPLATE("untied, a factor changes the curve at equal rates, or where the global norm clips", AnyOptimizer,
                   Sgd, Adam) {
  CurveOptions options;
  options.updates = 20;
  const auto gap = [&](bool rates) {
    return test::largest_gap(loss_curve<AnyOptimizer>(scaled(), options),
                             loss_curve<AnyOptimizer>(unscaled<AnyOptimizer>(16, rates), options));
  };
  CHECK(gap(true) == 0);
  CHECK(gap(false) > 1e-3);
  // The embeddings' gradients are alpha times larger in one arm, and count in the norm that everything is divided by.
  options.clip_norm = 0.1;
  CHECK(gap(true) > 1e-4);
}

}  // namespace
}  // namespace surd
