#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

// Before the first update, the loss is set by s, the standard deviation of the output logits. With hidden states of
// rms 1 that know nothing of the output matrix, s = sigma sqrt(d), and the mean of V exponentials of N(0, s^2) makes
// the loss ln V + s^2 / 2 while s is small. When s is large the largest logit alone counts: about s sqrt(2 ln V).

namespace surd {
namespace {

/// Mean cross-entropy of random targets from random hidden states of rms 1.
double initial_loss(std::size_t vocabulary, std::size_t d, const FixedScale& sigma) {
  constexpr std::size_t states = 1500;
  test::Bench bench;
  EmbeddingOptions options;
  options.output_init = InitOptions::normal(sigma);
  options.logit_scale = Scale::Rule::one;
  const OutputProjection output(bench.scope / "output", nullptr, vocabulary, d, options);
  random::Sequence draw(random::Stream(1, "test", "targets"));
  std::vector<std::int32_t> targets(states);
  for (std::int32_t& target : targets) target = static_cast<std::int32_t>(draw.integer(vocabulary));
  TapeArguments forward_only;
  forward_only.record = false;
  Tape tape(forward_only);
  const Variable hidden = rms_norm(tape.input(test::random_tensor({states, d})), {}, Real(1e-6));
  return static_cast<double>(output.loss(hidden, targets, {Real(0), -1, Real(states)}).value()[0]);
}

TEST_CASE("the initial loss is ln V + s^2/2 for small logits and at most 1.1 s sqrt(2 ln V) for large ones") {
  for (const std::size_t d : {64, 256})
    for (const std::size_t vocabulary : {32, 128, 500, 2000})
      for (const FixedScale& sigma :
           {FixedScale(Scale::Rule::inv_sqrt_dim), FixedScale::constant(0.02), FixedScale::constant(1)}) {
        CAPTURE(d);
        CAPTURE(vocabulary);
        CAPTURE(sigma.text());
        const double s = sigma.value(d) * std::sqrt(static_cast<double>(d));
        const double uniform = std::log(static_cast<double>(vocabulary));
        const double loss = initial_loss(vocabulary, d, sigma);
        if (s <= 1) {
          CHECK(std::fabs(loss - (uniform + s * s / 2)) <= 0.1);
        } else {
          CHECK(s >= 8);
          CHECK(loss <= 1.1 * s * std::sqrt(2 * uniform));
          CHECK(loss > 2 * uniform);  // far worse than knowing nothing
        }
      }
}

}  // namespace
}  // namespace surd
