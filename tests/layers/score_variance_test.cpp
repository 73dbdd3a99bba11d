#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

// At the start, queries and keys are independent of each other, so their d_k products add up like a random walk:
// the standard deviation of unscaled scores grows as d_k^(1/2). A factor d_k^(-1/2) makes it constant, 1/d_k makes it
// fall.

namespace surd {
namespace {

/// One width throughout, cut into heads of d_k: small heads are many, which evens the sampling out.
double score_deviation(std::size_t head_width, const Scale& factor) {
  constexpr std::size_t d = 256, length = 60;
  MultiHeadOptions options;
  options.scale = factor;
  double squares = 0, count = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    test::Bench bench(seed);
    const MultiHeadAttention layer(bench.scope / "attention", bench.place(d, d / head_width), options);
    test::Recorder recorder;
    TapeArguments tape_options;
    tape_options.record = false;
    tape_options.observer = &recorder;
    Tape tape(tape_options);
    layer(tape.input(test::random_tensor({1, length, d}, 2 * seed)),
          tape.input(test::random_tensor({1, length, d}, 2 * seed + 1)), {});
    for (const Real score : recorder.only("attention: scores")) {
      squares += static_cast<double>(score) * static_cast<double>(score);
      ++count;
    }
  }
  return std::sqrt(squares / count);
}

/// Slope of the least-squares line through (ln d_k, ln deviation).
double exponent(const Scale& factor) {
  const std::vector<std::size_t> widths = {4, 8, 16, 32, 64, 128, 256};
  const auto n = static_cast<double>(widths.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const std::size_t width : widths) {
    const double log_width = std::log(static_cast<double>(width)),
                 log_deviation = std::log(score_deviation(width, factor));
    x += log_width / n;
    y += log_deviation / n;
    xx += log_width * log_width / n;
    xy += log_width * log_deviation / n;
  }
  return (xy - x * y) / (xx - x * x);
}

TEST_CASE("the scores' standard deviation goes as d_k^(1/2), d_k^0 and d_k^(-1/2)") {
  CHECK(std::fabs(exponent(Scale::Rule::one) - 0.5) <= 0.03);
  CHECK(std::fabs(exponent(Scale::Rule::inv_sqrt_dim)) <= 0.03);
  CHECK(std::fabs(exponent(Scale::Rule::inv_dim) + 0.5) <= 0.03);
  CHECK(score_deviation(64, Scale::Rule::inv_sqrt_dim) == doctest::Approx(1).epsilon(0.05));
}

}  // namespace
}  // namespace surd
