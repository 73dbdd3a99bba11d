#include "autograd/kernels/rows.hpp"

#include "tests/autograd/reals.hpp"
#include "tests/tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

// Row kernels against plain loops in long double for n = 1..70, and at the ends of the range.

namespace surd {
namespace {

using test::difference;
using test::draw;
using test::eps;
using test::exact_softmax;
using test::longest;
using test::Longs;
using test::not_a_number;
using test::Reals;

long double exact_dot(const Longs& a, const Reals& b) {
  long double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

TEST_CASE("softmax rows") {
  for (std::size_t n = 1; n <= longest; ++n) {
    CAPTURE(n);
    const Reals x = draw(n, n, 3), dy = draw(n, n + 100);
    const Longs exact = exact_softmax(x);
    Reals y(n), without(n), in_place = x;
    kernels::softmax_row(x.data(), y.data(), n, true);
    kernels::softmax_row(x.data(), without.data(), n, false);
    kernels::softmax_row(in_place.data(), in_place.data(), n, true);
    CHECK(difference(y, exact) < 8 * eps);
    CHECK(difference(without, exact) < 16 * eps);
    CHECK(in_place == y);
    Longs expected;
    for (std::size_t i = 0; i < n; ++i) expected.push_back(exact[i] * (dy[i] - exact_dot(exact, dy)));
    Reals dx = dy;
    kernels::softmax_row_backward(y.data(), dx.data(), dx.data(), n);
    CHECK(difference(dx, expected) < 40 * eps);
  }
}

TEST_CASE("log_softmax rows") {
  for (std::size_t n = 1; n <= longest; ++n) {
    CAPTURE(n);
    const Reals x = draw(n, n, 3), dy = draw(n, n + 100);
    const Longs softmax = exact_softmax(x);
    Longs exact, expected;
    for (const long double p : softmax) exact.push_back(std::log(p));
    Reals y(n), in_place = x, dx(n);
    kernels::log_softmax_row(x.data(), y.data(), n);
    kernels::log_softmax_row(in_place.data(), in_place.data(), n);
    CHECK(difference(y, exact) < 8 * eps);
    CHECK(in_place == y);
    long double total = 0;
    for (const Real g : dy) total += g;
    for (std::size_t i = 0; i < n; ++i) expected.push_back(dy[i] - softmax[i] * total);
    kernels::log_softmax_row_backward(y.data(), dy.data(), dx.data(), n);
    CHECK(difference(dx, expected) < 60 * eps);
  }
}

TEST_CASE("softmax does not change when a constant is added, if the maximum is subtracted") {
  for (const std::size_t n : {1, 5, 16, 33}) {
    // Eighths, so that the sums with the constant are exact.
    Reals x = draw(n, n);
    for (Real& v : x) v = std::round(8 * v) / 8;
    Reals y(n), shifted_y(n), log_y(n), shifted_log_y(n);
    kernels::softmax_row(x.data(), y.data(), n, true);
    kernels::log_softmax_row(x.data(), log_y.data(), n);
    for (const Real constant : {1000, -1000, 100000}) {
      Reals shifted = x;
      for (Real& v : shifted) v += constant;
      kernels::softmax_row(shifted.data(), shifted_y.data(), n, true);
      kernels::log_softmax_row(shifted.data(), shifted_log_y.data(), n);
      CHECK(shifted_y == y);
      CHECK(shifted_log_y == log_y);
    }
  }
}

TEST_CASE("softmax overflows where exp does, unless the maximum is subtracted") {
  const double edge = std::log(static_cast<double>(std::numeric_limits<Real>::max()));  // 88.72 in float
  for (const std::size_t n : {2, 16, 21}) {
    Reals x(n, 0), y(n);
    x[1] = static_cast<Real>(edge + 0.2);  // 89 in float
    kernels::softmax_row(x.data(), y.data(), n, true);
    CHECK(y[1] == 1);
    kernels::softmax_row(x.data(), y.data(), n, false);
    CHECK(std::isnan(y[1]));
    x[1] = static_cast<Real>(edge - 0.2);  // below it nothing is lost
    kernels::softmax_row(x.data(), y.data(), n, false);
    CHECK(y[1] == doctest::Approx(1).epsilon(8 * eps));
  }
}

TEST_CASE("rows of huge, of lowest and of infinite values") {
  const Real lowest = std::numeric_limits<Real>::lowest();
  for (std::size_t n = 1; n <= 40; ++n) {
    CAPTURE(n);
    Reals x(n, lowest), y(n);
    kernels::softmax_row(x.data(), y.data(), n, true);
    CHECK(difference(y, Longs(n, 1.0L / n)) < 4 * eps);
    kernels::log_softmax_row(x.data(), y.data(), n);
    CHECK(difference(y, Longs(n, -std::log(static_cast<long double>(n)))) < 4 * eps);
    CHECK(kernels::cross_entropy_row(x.data(), nullptr, n, 0, 0) ==
          doctest::Approx(std::log(static_cast<double>(n))).epsilon(4 * eps));
    x.assign(n, -test::infinity);  // minus infinity takes no part
    x[n - 1] = 2;
    kernels::softmax_row(x.data(), y.data(), n, true);
    Longs expected(n, 0);
    expected[n - 1] = 1;
    CHECK(difference(y, expected) == 0);
    kernels::log_softmax_row(x.data(), y.data(), n);
    CHECK(y[n - 1] == 0);
    if (n > 1) CHECK(y[0] == -test::infinity);
  }
}

TEST_CASE("NaN reaches every element of its row, and no other") {
  for (std::size_t n = 1; n <= 40; ++n) {
    for (const std::size_t place : {std::size_t{0}, n / 2, n - 1}) {
      Reals x = draw(2 * n, n), y(2 * n), mean(2), inverse(2);
      x[place] = not_a_number;
      const Reals ones(n, 1);
      const auto spread = [&](const Reals& values) {
        bool right = true;
        for (std::size_t i = 0; i < 2 * n; ++i) right = right && std::isnan(values[i]) == (i < n);
        return right;
      };
      for (const bool subtract_max : {true, false}) {
        for (std::size_t r = 0; r < 2; ++r) kernels::softmax_row(x.data() + r * n, y.data() + r * n, n, subtract_max);
        CHECK(spread(y));
      }
      for (std::size_t r = 0; r < 2; ++r) kernels::log_softmax_row(x.data() + r * n, y.data() + r * n, n);
      CHECK(spread(y));
      kernels::layer_norm(x.data(), ones.data(), ones.data(), Real(1e-5), y.data(), mean.data(), inverse.data(), 2, n);
      CHECK(spread(y));
      kernels::rms_norm(x.data(), ones.data(), Real(1e-5), y.data(), inverse.data(), 2, n);
      CHECK(spread(y));
      CHECK(std::isnan(kernels::cross_entropy_row(x.data(), nullptr, n, 0, 0)));
      Reals gradient(n);
      CHECK(std::isnan(kernels::cross_entropy_row(x.data(), gradient.data(), n, 0, Real(0.1))));
    }
  }
}

TEST_CASE("cross_entropy rows") {
  for (std::size_t n = 1; n <= longest; ++n) {
    for (const double smoothing : {0.0, 0.1, 0.5}) {
      CAPTURE(n);
      const auto s = static_cast<Real>(smoothing);
      const Reals x = draw(n, n, 3);
      const Longs p = exact_softmax(x);
      const std::size_t target = n / 3;
      Longs exact_gradient = p;
      long double loss = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const long double q = (i == target ? 1 - static_cast<long double>(s) : 0) + static_cast<long double>(s) / n;
        loss -= q * std::log(p[i]);
        exact_gradient[i] -= q;
      }
      Reals gradient(n), in_place = x;
      const auto id = static_cast<std::int32_t>(target);
      const Real with = kernels::cross_entropy_row(x.data(), gradient.data(), n, id, s);
      CHECK(difference({with}, {loss}) < 16 * eps);
      CHECK(difference({kernels::cross_entropy_row(x.data(), nullptr, n, id, s)}, {loss}) < 16 * eps);
      CHECK(difference(gradient, exact_gradient) < 16 * eps);
      CHECK(kernels::cross_entropy_row(in_place.data(), in_place.data(), n, id, s) == with);
      CHECK(in_place == gradient);
    }
  }
}

TEST_CASE("a small loss beside large logits keeps its digits") {
  for (const double offset : {0.0, 1000.0, -30000.0}) {
    const Reals x = {static_cast<Real>(offset), static_cast<Real>(offset - 7)};
    const double exact = std::log1p(std::exp(-7.0));
    Reals y(2);
    CHECK(kernels::cross_entropy_row(x.data(), nullptr, 2, 0, 0) == doctest::Approx(exact).epsilon(2 * eps / exact));
    kernels::log_softmax_row(x.data(), y.data(), 2);
    CHECK(-y[0] == doctest::Approx(exact).epsilon(2 * eps / exact));
  }
}

}  // namespace
}  // namespace surd
