#include "autograd/kernels/rows.hpp"
#include "tests/autograd/reals.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

// Norms of rows against plain loops in long double, and against themselves a row at a time.

namespace surd {
namespace {

using test::difference;
using test::draw;
using test::eps;
using test::longest;
using test::Longs;
using test::not_a_number;
using test::Reals;

TEST_CASE("layer_norm rows") {
  const Real epsilon = Real(0.01);
  for (std::size_t n = 1; n <= longest; ++n) {
    CAPTURE(n);
    const std::size_t rows = 2;
    const Reals x = draw(rows * n, 1, 2), gain = draw(n, 2), bias = draw(n, 3), dy = draw(rows * n, 4);
    Reals y(rows * n), means(rows), inverse(rows), dx(rows * n, test::not_a_number), sum(rows * n, 4), dgain(n, 5),
        dbias(n, 6);
    kernels::layer_norm(x.data(), gain.data(), bias.data(), epsilon, y.data(), means.data(), inverse.data(), rows, n);
    kernels::layer_norm_backward(dy.data(), gain.data(), x.data(), means.data(), inverse.data(), 0, dx.data(),
                                 dgain.data(), dbias.data(), rows, n);
    kernels::layer_norm_backward(dy.data(), gain.data(), x.data(), means.data(), inverse.data(), 1, sum.data(), nullptr,
                                 nullptr, rows, n);
    Longs exact_y, exact_dx, exact_sum, exact_dgain(n, 5), exact_dbias(n, 6);
    for (std::size_t r = 0; r < rows; ++r) {
      long double mean = 0, variance = 0, mean_g = 0, mean_gh = 0;
      for (std::size_t j = 0; j < n; ++j) mean += static_cast<long double>(x[r * n + j]) / n;
      for (std::size_t j = 0; j < n; ++j) variance += std::pow(x[r * n + j] - mean, 2) / n;
      const long double scale = 1 / std::sqrt(variance + epsilon);
      Longs h, g;
      for (std::size_t j = 0; j < n; ++j) {
        h.push_back((x[r * n + j] - mean) * scale);
        g.push_back(static_cast<long double>(dy[r * n + j]) * gain[j]);
        exact_y.push_back(h[j] * gain[j] + bias[j]);
        exact_dgain[j] += dy[r * n + j] * h[j];
        exact_dbias[j] += dy[r * n + j];
        mean_g += g[j] / n;
        mean_gh += g[j] * h[j] / n;
      }
      for (std::size_t j = 0; j < n; ++j) exact_dx.push_back(scale * (g[j] - mean_g - h[j] * mean_gh));
    }
    for (const long double d : exact_dx) exact_sum.push_back(4 + d);
    CHECK(difference(y, exact_y) < 40 * eps);
    CHECK(difference(dx, exact_dx) < 100 * eps);
    CHECK(difference(sum, exact_sum) < 100 * eps);
    CHECK(difference(dgain, exact_dgain) < 40 * eps);
    CHECK(difference(dbias, exact_dbias) < 8 * eps);
    Reals again = dx;
    kernels::layer_norm_backward(dy.data(), gain.data(), x.data(), means.data(), inverse.data(), 0, nullptr, nullptr,
                                 nullptr, rows, n);
    CHECK(again == dx);
  }
}

TEST_CASE("rms_norm rows") {
  const Real epsilon = Real(0.01);
  for (std::size_t n = 1; n <= longest; ++n) {
    CAPTURE(n);
    const std::size_t rows = 2;
    const Reals x = draw(rows * n, 1, 2), gain = draw(n, 2), dy = draw(rows * n, 4), ones(n, 1);
    for (const bool with_gain : {true, false}) {
      const Real* weights = with_gain ? gain.data() : nullptr;
      const Reals& factor = with_gain ? gain : ones;
      Reals y(rows * n), inverse(rows), dx(rows * n, test::not_a_number), sum(rows * n, 4), dgain(n, 5);
      kernels::rms_norm(x.data(), weights, epsilon, y.data(), inverse.data(), rows, n);
      kernels::rms_norm_backward(dy.data(), weights, x.data(), inverse.data(), 0, dx.data(), dgain.data(), rows, n);
      kernels::rms_norm_backward(dy.data(), weights, x.data(), inverse.data(), 1, sum.data(), nullptr, rows, n);
      Longs exact_y, exact_dx, exact_sum, exact_dgain(n, 5);
      for (std::size_t r = 0; r < rows; ++r) {
        long double square = 0, mean_gh = 0;
        for (std::size_t j = 0; j < n; ++j) square += std::pow(static_cast<long double>(x[r * n + j]), 2) / n;
        const long double scale = 1 / std::sqrt(square + epsilon);
        for (std::size_t j = 0; j < n; ++j) {
          const long double h = x[r * n + j] * scale;
          exact_y.push_back(h * factor[j]);
          exact_dgain[j] += dy[r * n + j] * h;
          mean_gh += static_cast<long double>(dy[r * n + j]) * factor[j] * h / n;
        }
        for (std::size_t j = 0; j < n; ++j)
          exact_dx.push_back(scale *
                             (static_cast<long double>(dy[r * n + j]) * factor[j] - x[r * n + j] * scale * mean_gh));
      }
      CHECK(difference(y, exact_y) < 16 * eps);
      for (const long double d : exact_dx) exact_sum.push_back(4 + d);
      CHECK(difference(dx, exact_dx) < 60 * eps);
      CHECK(difference(sum, exact_sum) < 60 * eps);
      CHECK(difference(dgain, exact_dgain) < 16 * eps);
    }
  }
}

/// What a norm and its gradient give, with a number behind each that must stay.
struct NormResults {
  Reals y, mean, inverse, dx;
};

TEST_CASE("a row of a norm has the bits of one alone, whatever the rows beside it are") {
  constexpr std::size_t rows = 9;
  for (const bool centred : {true, false})
    for (const std::size_t n : {1, 7, 8, 9, 15, 16, 17, 33, 64, 70})
      for (const Real beta : {Real(0), Real(1), Real(0.5)})
        for (const bool scaled : {true, false}) {
          CAPTURE(n);
          const Reals gain = draw(n, 2), bias = draw(n, 3), dy = draw(rows * n, 4), before = draw(rows * n, 5);
          Reals x = draw(rows * n, 1, 2);
          const Real* const factor = scaled ? gain.data() : nullptr;
          const auto norm = [&](std::size_t first, std::size_t count) {
            const auto behind = static_cast<std::ptrdiff_t>(first * n);
            NormResults r{
                Reals(count * n + 1, 7), Reals(count + 1, 7), Reals(count + 1, 7),
                Reals(before.begin() + behind, before.begin() + behind + static_cast<std::ptrdiff_t>(count * n))};
            r.dx.push_back(7);
            const Real *const from = x.data() + first * n, *const d = dy.data() + first * n;
            if (centred) {
              kernels::layer_norm(from, factor, scaled ? bias.data() : nullptr, Real(0.01), r.y.data(), r.mean.data(),
                                  r.inverse.data(), count, n);
              kernels::layer_norm_backward(d, factor, from, r.mean.data(), r.inverse.data(), beta, r.dx.data(), nullptr,
                                           nullptr, count, n);
            } else {
              kernels::rms_norm(from, factor, Real(0.01), r.y.data(), r.inverse.data(), count, n);
              kernels::rms_norm_backward(d, factor, from, r.inverse.data(), beta, r.dx.data(), nullptr, count, n);
            }
            return r;
          };
          std::vector<NormResults> alone;
          for (std::size_t r = 0; r < rows; ++r) alone.push_back(norm(r, 1));
          const std::size_t bad = 2;
          x[bad * n] = not_a_number;
          for (std::size_t count = 0; count <= rows; ++count) {
            const NormResults together = norm(0, count);
            bool same = true;
            for (std::size_t r = 0; r < count; ++r) {
              if (r == bad) continue;
              const auto row = static_cast<std::ptrdiff_t>(r * n), end = row + static_cast<std::ptrdiff_t>(n);
              same = same && std::equal(together.y.begin() + row, together.y.begin() + end, alone[r].y.begin()) &&
                     std::equal(together.dx.begin() + row, together.dx.begin() + end, alone[r].dx.begin()) &&
                     together.mean[r] == alone[r].mean[0] && together.inverse[r] == alone[r].inverse[0];
            }
            CHECK(same);
            if (count > bad) CHECK(std::isnan(together.y[bad * n]));
            for (const Reals* values : {&together.y, &together.mean, &together.inverse, &together.dx})
              CHECK(values->back() == 7);
          }
        }
}

TEST_CASE("gradients of gain and bias add up over any number of rows, in one vector too") {
  for (std::size_t rows = 0; rows <= 9; ++rows)
    for (const std::size_t n : {1, 15, 16, 17, 70}) {
      CAPTURE(rows);
      CAPTURE(n);
      const Reals x = draw(rows * n, 1, 2), dy = draw(rows * n, 4), gain = draw(n, 2);
      Reals y(rows * n), mean(rows), inverse(rows), dgain(n, 5), dbias(n, 6), both(n, 4), of_rms(n, 3);
      Longs exact_dgain(n, 5), exact_dbias(n, 6), exact_both(n, 4), exact_of_rms(n, 3);
      kernels::layer_norm(x.data(), nullptr, nullptr, Real(0.01), y.data(), mean.data(), inverse.data(), rows, n);
      for (std::size_t i = 0; i < rows * n; ++i) {
        const long double product = static_cast<long double>(dy[i]) * y[i];
        exact_dgain[i % n] += product;
        exact_dbias[i % n] += dy[i];
        exact_both[i % n] += product + dy[i];
      }
      const auto backward = [&](Real* to_gain, Real* to_bias) {
        kernels::layer_norm_backward(dy.data(), gain.data(), x.data(), mean.data(), inverse.data(), 0, nullptr, to_gain,
                                     to_bias, rows, n);
      };
      backward(dgain.data(), nullptr);
      backward(nullptr, dbias.data());
      backward(both.data(), both.data());
      kernels::rms_norm(x.data(), nullptr, Real(0.01), y.data(), inverse.data(), rows, n);
      for (std::size_t i = 0; i < rows * n; ++i) exact_of_rms[i % n] += static_cast<long double>(dy[i]) * y[i];
      kernels::rms_norm_backward(dy.data(), gain.data(), x.data(), inverse.data(), 0, nullptr, of_rms.data(), rows, n);
      CHECK(difference(dgain, exact_dgain) < 40 * eps);
      CHECK(difference(dbias, exact_dbias) < 40 * eps);
      CHECK(difference(both, exact_both) < 40 * eps);
      CHECK(difference(of_rms, exact_of_rms) < 40 * eps);
    }
}

}  // namespace
}  // namespace surd
