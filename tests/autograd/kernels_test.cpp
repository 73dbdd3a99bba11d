#include "autograd/kernels/elementwise.hpp"
#include "autograd/kernels/simd.hpp"
#include "tests/autograd/reals.hpp"
#include "tests/tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

// Each kernel against a plain loop in long double for n = 1..70: every length of the incomplete last register.

namespace surd {
namespace {

using test::draw;
using test::eps;
using test::longest;
using test::Reals;

constexpr Real guard = 12345;
// xsimd's erf is exact to the last digits in float, and to 1e-14 in double.
constexpr double erf_error = sizeof(Real) == 8 ? 2e-14 : 8 * eps;

Reals draw_positive(std::size_t n, std::uint64_t seed) {
  const Tensor values = test::positive_tensor({n}, seed);
  return {values.begin(), values.end()};
}

/// Largest |kernel - exact| / max(1, |exact|) over all lengths; infinite where the kernel writes past the end.
using Kernel = std::function<void(const Real* a, const Real* b, Real* y, std::size_t n)>;
using Exact = std::function<long double(long double a, long double b)>;
double deviation(const Kernel& kernel, const Exact& exact, bool positive = false) {
  double worst = 0;
  for (std::size_t n = 1; n <= longest; ++n) {
    const Reals a = positive ? draw_positive(n, n) : draw(n, n);
    const Reals b = positive ? draw_positive(n, n + 1000) : draw(n, n + 1000);
    Reals y(n + 1, guard);
    kernel(a.data(), b.data(), y.data(), n);
    if (y[n] != guard) return std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n; ++i) {
      const long double expected = exact(a[i], b[i]);
      const auto error = static_cast<double>(std::fabs(y[i] - expected) / std::max(1.0L, std::fabs(expected)));
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    }
    // In place: y may be an input.
    Reals in_place = a;
    kernel(in_place.data(), b.data(), in_place.data(), n);
    for (std::size_t i = 0; i < n; ++i)
      if (in_place[i] != y[i]) return std::numeric_limits<double>::infinity();
  }
  return worst;
}

long double normal_cdf(long double x) { return 0.5L * std::erfc(-x / std::sqrt(2.0L)); }
long double normal_pdf(long double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L)); }

/// (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, and its derivative
long double approximate_cdf(long double x) {
  return 0.5L * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0L)) * (x + 0.044715L * x * x * x)));
}
long double approximate_pdf(long double x) {
  const long double c = approximate_cdf(x);
  return 2 * c * (1 - c) * std::sqrt(2 / std::acos(-1.0L)) * (1 + 3 * 0.044715L * x * x);
}

#define UNARY(call) [](const Real* a, const Real*, Real* y, std::size_t n) { call; }
#define BINARY(call) [](const Real* a, const Real* b, Real* y, std::size_t n) { call; }
#define EXACT(expression) [](long double a, [[maybe_unused]] long double b) -> long double { return expression; }

TEST_CASE("arithmetic kernels") {
  CHECK(deviation(BINARY(kernels::add(a, b, y, n)), EXACT(a + b)) <= eps);
  CHECK(deviation(BINARY(kernels::subtract(a, b, y, n)), EXACT(a - b)) <= eps);
  CHECK(deviation(BINARY(kernels::multiply(a, b, y, n)), EXACT(a * b)) <= eps);
  CHECK(deviation(BINARY(kernels::divide(a, b, y, n)), EXACT(a / b), true) <= eps);
  CHECK(deviation(UNARY(kernels::scale(Real(-1.75), a, y, n)), EXACT(-1.75L * a)) <= eps);
}

TEST_CASE("activation kernels") {
  CHECK(deviation(UNARY(kernels::relu(a, y, n)), EXACT(std::max(a, 0.0L))) == 0);
  CHECK(deviation(UNARY(kernels::gelu(a, y, n)), EXACT(a * normal_cdf(a))) <= erf_error);
  CHECK(deviation(UNARY(kernels::gelu_tanh(a, y, n)), EXACT(a * approximate_cdf(a))) <= 8 * eps);
  CHECK(deviation(UNARY(kernels::tanh(a, y, n)), EXACT(std::tanh(a))) <= 4 * eps);
  CHECK(deviation(UNARY(kernels::sigmoid(a, y, n)), EXACT(1 / (1 + std::exp(-a)))) <= 4 * eps);
  CHECK(deviation(UNARY(kernels::exp(a, y, n)), EXACT(std::exp(a))) <= 4 * eps);
  CHECK(deviation(UNARY(kernels::log(a, y, n)), EXACT(std::log(a)), true) <= 4 * eps);
}

TEST_CASE("backward kernels of activations") {
  CHECK(deviation(BINARY(kernels::relu_backward(a, b, y, n)), EXACT(a > 0 ? b : 0)) == 0);
  CHECK(deviation(BINARY(kernels::gelu_backward(a, b, y, n)), EXACT(b * (normal_cdf(a) + a * normal_pdf(a)))) <=
        erf_error);
  CHECK(deviation(BINARY(kernels::gelu_tanh_backward(a, b, y, n)),
                  EXACT(b * (approximate_cdf(a) + a * approximate_pdf(a)))) <= 16 * eps);
  CHECK(deviation(BINARY(kernels::tanh_backward(a, b, y, n)), EXACT(b * (1 - a * a))) <= 8 * eps);
  CHECK(deviation(BINARY(kernels::sigmoid_backward(a, b, y, n)), EXACT(b * a * (1 - a))) <= 4 * eps);
}

TEST_CASE("kernels that add to y") {
  for (std::size_t n = 1; n <= longest; ++n) {
    const Reals x = draw(n, 1), start = draw(n, 2);
    Reals added = start, scaled = start;
    added.push_back(guard);
    scaled.push_back(guard);
    kernels::accumulate(x.data(), added.data(), n);
    kernels::axpy(Real(0.3), x.data(), scaled.data(), n);
    bool right = added[n] == guard && scaled[n] == guard;
    for (std::size_t i = 0; i < n; ++i) {
      right = right && added[i] == start[i] + x[i];
      right = right && std::fabs(scaled[i] - (static_cast<long double>(Real(0.3)) * x[i] + start[i])) < 4 * eps;
    }
    CHECK(right);
  }
}

TEST_CASE("sums") {
  for (std::size_t n = 0; n <= longest; ++n) {
    const Reals a = draw(n, 1), b = draw(n, 2);
    long double sum = 0, dot = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += a[i];
      dot += static_cast<long double>(a[i]) * b[i];
    }
    CAPTURE(n);
    CHECK(std::fabs(kernels::sum(a.data(), n) - sum) <= 40 * eps);
    CHECK(std::fabs(kernels::dot(a.data(), b.data(), n) - dot) <= 40 * eps);
  }
}

TEST_CASE("every element counts once in the sum of many registers, and in their maximum") {
  for (std::size_t n = 1; n <= 9 * kernels::lanes + 1; ++n) {
    CAPTURE(n);
    Reals values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = -static_cast<Real>(i + 1);
    const Real* const x = values.data();
    CHECK(kernels::sum(x, n) == -static_cast<Real>(n * (n + 1) / 2));
    CHECK(kernels::dot(x, x, n) == static_cast<Real>(n * (n + 1) * (2 * n + 1) / 6));
    for (std::size_t i = 0; i < n; ++i) {
      std::swap(values[0], values[i]);
      CHECK(kernels::maximum(n, x) == -1);
      std::swap(values[0], values[i]);
      const Real element = std::exchange(values[i], test::not_a_number);
      CHECK(std::isnan(kernels::sum(x, n)));
      values[i] = element;
    }
  }
}

TEST_CASE("the sum of squares of numbers whose squares are too small for floats") {
  CHECK(kernels::sum_of_squares(nullptr, 0) == 0);
  for (const double size : {0.0, 1e-30, 1e-15, 1.0, 1e15}) {
    const Reals x(100, static_cast<Real>(size));
    CHECK(kernels::sum_of_squares(x.data(), x.size()) == doctest::Approx(100 * size * size).epsilon(1e-6));
  }
  const Reals infinite = {1, std::numeric_limits<Real>::infinity()}, none = {1, std::numeric_limits<Real>::quiet_NaN()};
  CHECK(std::isinf(kernels::sum_of_squares(infinite.data(), 2)));
  CHECK(std::isnan(kernels::sum_of_squares(none.data(), 2)));
}

TEST_CASE("add_bias and sum_rows") {
  for (std::size_t n = 1; n <= longest; ++n) {
    const std::size_t rows = 3;
    const Reals x = draw(rows * n, 1), bias = draw(n, 2);
    Reals y(rows * n + 1, guard), sums = bias;
    sums.push_back(guard);
    kernels::add_bias(x.data(), bias.data(), y.data(), rows, n);
    kernels::sum_rows(x.data(), sums.data(), rows, n);
    bool right = y[rows * n] == guard && sums[n] == guard;
    for (std::size_t j = 0; j < n; ++j) {
      long double column = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        right = right && y[r * n + j] == x[r * n + j] + bias[j];
        column += x[r * n + j];
      }
      right = right && std::fabs(sums[j] - column - bias[j]) < 8 * eps;
    }
    CHECK(right);
  }
}

TEST_CASE("an element's result does not depend on its place") {
  // The same number in every place of every length gives the same bits.
  const auto check = [](void (*kernel)(const Real*, Real*, std::size_t), Real value) {
    Real expected = 0;
    kernel(&value, &expected, 1);
    for (std::size_t n = 1; n <= longest; ++n) {
      const Reals x(n, value);
      Reals y(n);
      kernel(x.data(), y.data(), n);
      CHECK_UNARY(y == Reals(n, expected));
    }
  };
  for (const double value : {0.1, 1.7, 30.0}) {
    for (const auto kernel :
         {kernels::gelu, kernels::gelu_tanh, kernels::tanh, kernels::sigmoid, kernels::exp, kernels::log})
      check(kernel, static_cast<Real>(value));
  }
}

TEST_CASE("activations at the ends of the range") {
  const Real inf = std::numeric_limits<Real>::infinity();
  const auto at = [](void (*kernel)(const Real*, Real*, std::size_t), double value) {
    const Real x = static_cast<Real>(value);
    Real y = 0;
    kernel(&x, &y, 1);
    return static_cast<double>(y);
  };
  CHECK(at(kernels::tanh, 1000) == 1);
  CHECK(at(kernels::tanh, -1000) == -1);
  CHECK(at(kernels::sigmoid, 1000) == 1);
  CHECK(at(kernels::sigmoid, -1000) == 0);
  CHECK(at(kernels::gelu, 1000) == 1000);
  CHECK(at(kernels::gelu, -1000) == 0);
  CHECK(at(kernels::gelu_tanh, 1e20) == static_cast<double>(static_cast<Real>(1e20)));
  CHECK(at(kernels::gelu_tanh, -1e20) == 0);
  const auto slope = [](double value) {
    const Real x = static_cast<Real>(value), one = 1;
    Real dx = 0;
    kernels::gelu_tanh_backward(&x, &one, &dx, 1);
    return static_cast<double>(dx);
  };
  CHECK(slope(1e20) == 1);
  CHECK(slope(-1e20) == 0);
  CHECK(at(kernels::exp, -inf) == 0);
  CHECK(at(kernels::exp, inf) == inf);
  CHECK(at(kernels::log, 0) == -inf);
  CHECK(std::isfinite(at(kernels::log, static_cast<double>(std::numeric_limits<Real>::denorm_min()))));
  CHECK(std::isnan(at(kernels::log, -1)));
  CHECK(at(kernels::tanh, 1e-5) == doctest::Approx(1e-5).epsilon(4 * eps));
  // Where exp overflows is part of what is studied: 88.72 in float, 709.78 in double.
  const double edge = std::log(static_cast<double>(std::numeric_limits<Real>::max()));
  const double below = static_cast<Real>(edge - 0.1);
  CHECK(at(kernels::exp, below) == doctest::Approx(std::exp(below)).epsilon(8 * eps));
  CHECK(at(kernels::exp, edge + 0.1) == inf);
  // Half the least normal number, and less, is 0.
  const double least = std::log(static_cast<double>(std::numeric_limits<Real>::min()));
  CHECK(at(kernels::exp, least - 0.7) == 0);
  CHECK(at(kernels::exp, -1e30) == 0);
  CHECK(at(kernels::exp, 0.0) == 1);
  CHECK(at(kernels::exp, -0.0) == 1);
}

TEST_CASE("exp errs by little more than a unit in the last place where e^x is a normal number") {
  using Limits = std::numeric_limits<Real>;
  const double lowest = std::log(static_cast<double>(Limits::min())) + 1e-4;
  const double highest = std::log(static_cast<double>(Limits::max())) - 1e-3;
  const std::size_t n = 100'000;
  Reals x(n), y(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = static_cast<Real>(lowest + (highest - lowest) * static_cast<double>(i) / static_cast<double>(n));
  kernels::exp(x.data(), y.data(), n);
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const long double exact = std::exp(static_cast<long double>(x[i]));
    const Real rounded = static_cast<Real>(exact);
    const long double place = static_cast<long double>(std::nextafter(rounded, Limits::infinity())) - rounded;
    worst = std::max(worst, static_cast<double>(std::fabs(y[i] - exact) / place));
  }
  CHECK(worst <= (sizeof(Real) == 8 ? 1.5 : 1.1));
}

/// 0, 1, 2, ...
kernels::Batch zero_one_two() {
  Real numbers[kernels::lanes];
  std::iota(std::begin(numbers), std::end(numbers), Real(0));
  return kernels::Batch::load_unaligned(numbers);
}

TEST_CASE("exp of several registers has the bits of each alone") {
  const Real inf = std::numeric_limits<Real>::infinity();
  const Real numbers[] = {Real(-inf), Real(-88), Real(-0.3), test::not_a_number, Real(1.7), Real(88.8), inf};
  kernels::Batch x[std::size(numbers)];
  for (std::size_t i = 0; i < std::size(numbers); ++i) x[i] = kernels::Batch(numbers[i]) + zero_one_two();
  kernels::Batch together[std::size(numbers)];
  std::copy(std::begin(x), std::end(x), together);
  kernels::exp(together);
  for (std::size_t i = 0; i < std::size(numbers); ++i) {
    Real alone[kernels::lanes], by_turns[kernels::lanes];
    kernels::exp(x[i]).store_unaligned(alone);
    together[i].store_unaligned(by_turns);
    CHECK(std::memcmp(alone, by_turns, sizeof alone) == 0);
  }
}

#ifndef SURD_DOUBLE
TEST_CASE("a power of two by the bits of its exponent is the one of the processor's instruction") {
  const kernels::Batch x = kernels::Batch(Real(0.71)) + kernels::Batch(Real(0.04)) * zero_one_two();
  const auto expect_power = [&](Real k, double power) {
    Real y[kernels::lanes], by_bits[kernels::lanes], factors[kernels::lanes];
    kernels::times_power_of_two(x, kernels::Batch(k)).store_unaligned(y);
    kernels::times_power_by_bits(x, kernels::Batch(k)).store_unaligned(by_bits);
    x.store_unaligned(factors);
    CAPTURE(k);
    for (std::size_t i = 0; i < kernels::lanes; ++i) {
      CHECK(y[i] == static_cast<Real>(factors[i] * power));
      CHECK(by_bits[i] == y[i]);
    }
  };
  for (int k = -126; k <= 128; ++k) expect_power(static_cast<Real>(k), std::ldexp(1.0, k));
  for (const double k : {-127.0, -150.0, -1e30}) expect_power(static_cast<Real>(k), 0);
  const kernels::Batch hidden(-std::numeric_limits<Real>::infinity()), none(test::not_a_number);
  for (const auto kernel : {kernels::times_power_of_two, kernels::times_power_by_bits}) {
    CHECK(xsimd::all(kernel(none, hidden) == kernels::Batch(Real(0))));
    CHECK(xsimd::all(xsimd::isnan(kernel(none, none))));
  }
}
#endif

TEST_CASE("four registers are folded into their sums and maxima") {
  const Reals values = draw(kernels::fold_size * kernels::lanes, 3);
  kernels::Batch x[kernels::fold_size];
  for (std::size_t r = 0; r < kernels::fold_size; ++r)
    x[r] = kernels::Batch::load_unaligned(values.data() + r * kernels::lanes);
  Real sum[kernels::fold_size], largest[kernels::fold_size];
  kernels::sums(x, sum);
  kernels::maxima(x, largest);
  for (std::size_t r = 0; r < kernels::fold_size; ++r) {
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(r * kernels::lanes), end = row + kernels::lanes;
    CHECK(sum[r] == doctest::Approx(std::accumulate(row, end, 0.0)).epsilon(16 * eps));
    CHECK(largest[r] == *std::max_element(row, end));
  }
}

TEST_CASE("NaN passes through every activation") {
  for (const auto kernel : {kernels::relu, kernels::gelu, kernels::gelu_tanh, kernels::tanh, kernels::sigmoid,
                            kernels::exp, kernels::log}) {
    for (std::size_t n = 1; n <= 40; ++n) {
      Reals x(n, 1), y(n);
      x[n / 2] = std::numeric_limits<Real>::quiet_NaN();
      kernel(x.data(), y.data(), n);
      bool right = true;
      for (std::size_t i = 0; i < n; ++i) right = right && std::isnan(y[i]) == (i == n / 2);
      CHECK_UNARY(right);
    }
  }
}

}  // namespace
}  // namespace surd
