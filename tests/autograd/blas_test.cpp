#include "autograd/blas.hpp"

#include "autograd/kernels/gemm.hpp"
#include "tests/tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace surd {
namespace {

using blas::Transpose;

constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();

/// Rows of `stride` elements, the first `columns` of them random and the rest `fill`.
std::vector<Real> matrix(std::size_t rows, std::size_t columns, std::size_t stride, Real fill, std::uint64_t seed) {
  const random::Stream stream(seed, "test", "gemm");
  std::vector<Real> values(rows * stride, fill);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      values[r * stride + c] = static_cast<Real>(2 * stream.uniform(r * columns + c) - 1);
  return values;
}

/// Largest deviation from the definition, over C; infinite where something beside C was written.
double deviation(decltype(&blas::library_gemm) product, Transpose ta, Transpose tb, std::size_t m, std::size_t n,
                 std::size_t k, Real alpha, Real beta, std::size_t gap) {
  const bool a_turned = ta == Transpose::yes, b_turned = tb == Transpose::yes;
  const std::size_t lda = (a_turned ? m : k) + gap, ldb = (b_turned ? k : n) + 2 * gap, ldc = n + 3 * gap;
  // What lies between the rows must not be read.
  const auto a = matrix(a_turned ? k : m, a_turned ? m : k, lda, nan, 1);
  const auto b = matrix(b_turned ? n : k, b_turned ? k : n, ldb, nan, 2);
  const auto start = matrix(m, n, ldc, 77, 3);
  auto c = start;
  if (beta == 0)
    for (std::size_t i = 0; i < m; ++i) std::fill_n(c.begin() + static_cast<std::ptrdiff_t>(i * ldc), n, nan);
  product(ta, tb, m, n, k, alpha, a.data(), lda, b.data(), ldb, beta, c.data(), ldc);
  double worst = 0;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < ldc; ++j) {
      double exact = 77;
      if (j < n) {
        exact = 0;
        for (std::size_t l = 0; l < k; ++l)
          exact += static_cast<double>(a[a_turned ? l * lda + i : i * lda + l]) *
                   static_cast<double>(b[b_turned ? j * ldb + l : l * ldb + j]);
        exact =
            static_cast<double>(alpha) * exact + static_cast<double>(beta) * static_cast<double>(start[i * ldc + j]);
      }
      const double error = std::fabs(static_cast<double>(c[i * ldc + j]) - exact);
      worst =
          std::isnan(error) || (j >= n && error > 0) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    }
  }
  return worst;
}

TEST_CASE("gemm follows its definition") {
  const double tolerance = 200 * static_cast<double>(std::numeric_limits<Real>::epsilon());
  for (const auto& [m, n, k] : std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>{{1, 1, 1},
                                                                                              {1, 7, 3},
                                                                                              {7, 1, 3},
                                                                                              {5, 4, 1},
                                                                                              {3, 17, 9},
                                                                                              {16, 16, 16},
                                                                                              {33, 31, 35},
                                                                                              {64, 5, 65},
                                                                                              {96, 112, 99}}) {
    for (const Transpose ta : {Transpose::no, Transpose::yes}) {
      for (const Transpose tb : {Transpose::no, Transpose::yes}) {
        for (const std::size_t gap : {0, 1, 5}) {
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(k);
          CAPTURE(gap);
          for (const auto product : {static_cast<decltype(&blas::library_gemm)>(&blas::gemm), &blas::library_gemm}) {
            CHECK(deviation(product, ta, tb, m, n, k, 1, 0, gap) < tolerance);
            CHECK(deviation(product, ta, tb, m, n, k, Real(-0.5), 1, gap) < tolerance);
            CHECK(deviation(product, ta, tb, m, n, k, 2, Real(0.25), gap) < tolerance);
            CHECK(deviation(product, ta, tb, m, n, k, 0, 0, gap) == 0);  // factor 0, and NaN in C
          }
        }
      }
    }
  }
}

TEST_CASE("gemm over an empty inner axis scales C") {
  std::vector<Real> c(6, nan);
  const Real unused = 0;
  blas::gemm(Transpose::no, Transpose::no, 2, 3, 0, 1, &unused, &unused, 0, c.data());
  CHECK(c == std::vector<Real>(6, 0));
  c.assign(6, 3);
  blas::gemm(Transpose::yes, Transpose::yes, 2, 3, 0, 1, &unused, &unused, 1, c.data());
  CHECK(c == std::vector<Real>(6, 3));
}

TEST_CASE("gemm of nothing does nothing") {
  Real a = 1, c = 5;
  blas::gemm(Transpose::no, Transpose::no, 0, 3, 1, 1, &a, &a, 0, &c);
  blas::gemm(Transpose::no, Transpose::no, 3, 0, 1, 1, &a, &a, 0, &c);
  CHECK(c == 5);
}

TEST_CASE("gemm gives NaN for NaN") {
  std::vector<Real> a(12, 1), b(12, 1), c(9);
  a[5] = nan;  // row 1 of [3, 4]
  blas::gemm(Transpose::no, Transpose::no, 3, 3, 4, 1, a.data(), b.data(), 0, c.data());
  for (std::size_t i = 0; i < 9; ++i) CHECK(std::isnan(c[i]) == (i / 3 == 1));
}

TEST_CASE("linear maps add their bias and cut at 0, by the kernel and by the library") {
  const std::size_t rows = 9, out = 19, in = 21;
  const auto numbers = [](std::size_t count, int step) {
    std::vector<Real> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<Real>(static_cast<int>(i) * step % 11 - 5);
    return values;
  };
  const auto x = numbers(rows * in, 3), weight = numbers(out * in, 7), bias = numbers(out, 5);
  for (const auto map : {&blas::linear, &kernels::linear, &blas::library_linear})
    for (const bool with_bias : {false, true})
      for (const bool relu : {false, true}) {
        std::vector<Real> y(rows * out, nan);
        map(rows, out, in, x.data(), weight.data(), with_bias ? bias.data() : nullptr, relu, y.data());
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t j = 0; j < out; ++j) {
            Real expected = with_bias ? bias[j] : 0;  // whole numbers: exact
            for (std::size_t l = 0; l < in; ++l) expected += x[i * in + l] * weight[j * in + l];
            CHECK(y[i * out + j] == (relu ? std::max<Real>(expected, 0) : expected));
          }
      }
}

TEST_CASE("the self-test passes here") {
  CHECK(blas::self_test_error() >
        0);  // rounding differs from the naive product's, so 0 would mean nothing was computed
  CHECK(blas::self_test_error() <= blas::self_test_tolerance());
  CHECK(blas::self_test_tolerance() < 1e-5);
  blas::initialize();
  CHECK_FALSE(blas::description().empty());
  CHECK_FALSE(blas::core_name().empty());
}

TEST_CASE("gemm is right on several threads at once") {
  blas::initialize();
  std::vector<double> worst(3);
  std::vector<std::thread> threads;
  for (double& mine : worst)
    threads.emplace_back([&mine] {
      for (int i = 0; i < 20; ++i) mine = std::max(mine, blas::self_test_error());
    });
  for (std::thread& thread : threads) thread.join();
  for (const double error : worst) CHECK(error <= blas::self_test_tolerance());
}

}  // namespace
}  // namespace surd
