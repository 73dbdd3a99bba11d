#include "tests/tensors.hpp"

#include "autograd/ops.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

// What a large d_k does to the gradient that reaches a query through an unscaled softmax. It does not vanish
// everywhere: most rows are saturated and get almost none, while the few in which two keys compete get a large one. The
// median falls, the mean does not: heavy tails. With the factor d_k^(-1/2) the distribution keeps its shape.

namespace surd {
namespace {

struct Gradients {
  double mean = 0, median = 0;
};

/// |dL/dq| of independent rows: one query and ten keys of N(0, 1), and a gradient of N(0, 1) on each attention weight.
Gradients measure(std::size_t head_width, double factor) {
  constexpr std::size_t rows = 4000, keys = 10;
  Tape tape;
  const Variable q = tape.input(test::random_tensor({rows, 1, head_width}, 1), true);
  const Variable k = tape.input(test::random_tensor({rows, keys, head_width}, 2));
  Tensor identity = zeros({rows, keys, keys});  // so that the output is the weights themselves
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < keys; ++i) identity.data()[(r * keys + i) * keys + i] = 1;
  const Variable weights = attention(q, k, tape.input(identity), {1, static_cast<Real>(factor)});
  tape.backward(weights, test::random_tensor({rows, 1, keys}, 3));
  std::vector<double> norms;
  Gradients result;
  for (std::size_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (std::size_t i = 0; i < head_width; ++i) {
      const auto g = static_cast<double>(q.gradient().data()[r * head_width + i]);
      squares += g * g;
    }
    norms.push_back(std::sqrt(squares));
    result.mean += norms.back() / rows;
  }
  std::nth_element(norms.begin(), norms.begin() + rows / 2, norms.end());
  result.median = norms[rows / 2];
  return result;
}

TEST_CASE("unscaled, the median gradient of a query falls far below the mean; scaled, it stays beside it") {
  double ratio_above = 1e9, mean_below = 0;
  for (const std::size_t head_width : {4, 16, 64, 256}) {
    CAPTURE(head_width);
    const Gradients unscaled = measure(head_width, 1);
    const Gradients scaled = measure(head_width, 1 / std::sqrt(static_cast<double>(head_width)));
    if (head_width == 4) CHECK(unscaled.median / unscaled.mean == doctest::Approx(0.8).epsilon(0.15));
    if (head_width == 256) CHECK(unscaled.median / unscaled.mean == doctest::Approx(0.02).epsilon(0.15));
    CHECK(unscaled.median / unscaled.mean < ratio_above);
    CHECK(unscaled.mean > mean_below);  // the mean does not vanish: it grows
    CHECK(scaled.median / scaled.mean >= 0.83);
    CHECK(scaled.median / scaled.mean <= 0.95);
    ratio_above = unscaled.median / unscaled.mean;
    mean_below = unscaled.mean;
  }
}

}  // namespace
}  // namespace surd
