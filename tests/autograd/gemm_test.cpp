#include "autograd/kernels/gemm.hpp"

#include "autograd/kernels/few_rows.hpp"
#include "autograd/kernels/gemm_blocks.hpp"
#include "autograd/kernels/simd.hpp"
#include "tests/autograd/reals.hpp"
#include "tests/tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace surd {
namespace {

using test::infinity;
using test::not_a_number;

/// Whole numbers from -4 to 4: every order of summation gives the same sums, without rounding.
std::vector<Real> whole_numbers(std::size_t count, std::uint64_t seed) {
  const random::Stream stream(seed, "test", "gemm kernel");
  std::vector<Real> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<Real>(std::floor(9 * stream.uniform(i))) - 4;
  return values;
}

/// In [0, 1).
std::vector<Real> fractions(std::size_t count, std::uint64_t seed) {
  const random::Stream stream(seed, "test", "gemm kernel");
  std::vector<Real> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<Real>(stream.uniform(i));
  return values;
}

struct Product {
  bool transpose_a, transpose_b;
  std::size_t m, n, k;
  Real alpha = 1, beta = 0;
  std::size_t gap = 0;  // between rows
  kernels::Caches caches = kernels::this_processors_caches();
};

/// How many elements of C, and of what lies between its rows, are not exactly what the definition says.
std::size_t wrong_elements(const Product& s) {
  const std::size_t lda = (s.transpose_a ? s.m : s.k) + s.gap, ldb = (s.transpose_b ? s.k : s.n) + 2 * s.gap;
  const std::size_t ldc = s.n + 3 * s.gap;
  // No larger than needed, so that AddressSanitizer sees what is read beyond the last row.
  const auto size = [](std::size_t rows, std::size_t columns, std::size_t stride) {
    return rows == 0 || columns == 0 ? 0 : (rows - 1) * stride + columns;
  };
  auto a = whole_numbers(s.transpose_a ? size(s.k, s.m, lda) : size(s.m, s.k, lda), 1);
  auto b = whole_numbers(s.transpose_b ? size(s.n, s.k, ldb) : size(s.k, s.n, ldb), 2);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (i % lda >= lda - s.gap) a[i] = not_a_number;
  for (std::size_t i = 0; i < b.size(); ++i)
    if (i % ldb >= ldb - 2 * s.gap) b[i] = not_a_number;
  const auto start = whole_numbers(size(s.m, s.n, ldc), 3);
  auto c = start;
  if (s.beta == 0)
    for (std::size_t i = 0; i < c.size(); ++i)
      if (i % ldc < s.n) c[i] = not_a_number;
  kernels::gemm(s.transpose_a, s.transpose_b, s.m, s.n, s.k, s.alpha, a.data(), lda, b.data(), ldb, s.beta, c.data(),
                ldc, s.caches);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const std::size_t row = i / ldc, column = i % ldc;
    double exact = static_cast<double>(start[i]);
    if (column < s.n) {
      double sum = 0;
      for (std::size_t l = 0; l < s.k; ++l)
        sum += static_cast<double>(a[s.transpose_a ? l * lda + row : row * lda + l]) *
               static_cast<double>(b[s.transpose_b ? column * ldb + l : l * ldb + column]);
      exact = static_cast<double>(s.alpha) * sum + static_cast<double>(s.beta) * exact;
    }
    if (!(static_cast<double>(c[i]) == exact)) ++wrong;
  }
  return wrong;
}

/// Over the four transpositions.
std::size_t wrong_turns(Product s) {
  std::size_t wrong = 0;
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true}) {
      s.transpose_a = transpose_a, s.transpose_b = transpose_b;
      wrong += wrong_elements(s);
    }
  return wrong;
}

TEST_CASE("the kernel is exact on every small size") {
  for (std::size_t m = 0; m <= 40; ++m)
    for (std::size_t n = 0; n <= 40; ++n)
      for (const std::size_t k : {0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 40}) {
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        REQUIRE(wrong_turns({false, false, m, n, k}) == 0);
      }
}

TEST_CASE("the kernel takes strides and factors") {
  for (const auto& [m, n, k] : std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>{
           {1, 1, 1}, {12, 12, 8}, {13, 33, 16}, {15, 31, 9}, {29, 50, 21}, {64, 5, 65}, {5, 37, 131}, {11, 18, 260}})
    for (const std::size_t gap : {0, 1, 5})
      for (const Real alpha : {Real(1), Real(-0.5), Real(0)})
        for (const Real beta : {Real(0), Real(1), Real(0.25)}) {
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(k);
          CAPTURE(gap);
          CAPTURE(alpha);
          CAPTURE(beta);
          CHECK(wrong_turns({false, false, m, n, k, alpha, beta, gap}) == 0);
        }
}

TEST_CASE("the kernel is exact across its blocks") {
  CHECK(wrong_turns({false, false, 31, 70, 1030, 2, 1, 1}) == 0);           // several blocks of k
  CHECK(wrong_turns({false, false, 15, 1100, 515, 1, Real(0.5), 3}) == 0);  // of k by several of n
  for (const std::size_t ways : {0, 8, 12, 16}) {  // rows a multiple of 4 KB apart, and of 2 KB
    const kernels::Caches caches{ways, 48 << 10, 1 << 20};
    CAPTURE(ways);
    CHECK(wrong_turns({false, false, 29, 128, 1024, 1, 0, 0, caches}) == 0);
    CHECK(wrong_turns({false, false, 1024, 128, 33, 1, 0, 0, caches}) == 0);
    CHECK(wrong_turns({false, false, 1024, 24 * kernels::lanes + 3, 300, 1, 0, 0, {ways, 0, 0}}) == 0);
    CHECK(wrong_turns({false, false, 86, 3 * kernels::lanes + 5, 1024, 2, 1, 0, caches}) == 0);
    CHECK(wrong_turns({false, false, 105, 3 * kernels::lanes, 2048 / sizeof(Real), 1, 0, 0, caches}) == 0);
    CHECK(wrong_turns({false, false, 86, 37, 600, 1, 1, 4096 / sizeof(Real) - 600 % (4096 / sizeof(Real)), caches}) ==
          0);
  }
  // So many rows that the first strip packs a straight B; it is a whole tile, and the others are lower.
  CHECK(wrong_turns({false, false, 92, 3 * kernels::lanes + 5, 600, 2, 1, 3}) == 0);
  CHECK(wrong_turns({false, false, 108, 3 * kernels::lanes, 390}) == 0);
  CHECK(wrong_turns({false, false, 1024, 131, 530, 2, Real(0.5)}) == 0);
  CHECK(wrong_turns({false, false, 5, 130, 600, 1, 1, 1019}) == 0);
  CHECK(wrong_turns({false, false, 101, 11 * kernels::lanes - 1, 530}) == 0);  // the last register of a panel in part
  CHECK(wrong_turns({false, false, 101, 100 * kernels::lanes + 3, 600, 1, 1, 2}) == 0);
  CHECK(wrong_turns({false, false, 1030, 24 * kernels::lanes + 3, 530, 2, Real(0.5), 0, {8, 0, 0}}) == 0);
  // Few rows, but a B that the L2 cache does not hold, which the first strip packs also then.
  for (const std::size_t m : {16, 20, 27, 40})
    for (const std::size_t k : {1000, 1024}) {
      CAPTURE(m);
      CAPTURE(k);
      CHECK(wrong_turns({false, false, m, 19 * kernels::lanes - 3, k, 2, 1, k == 1000 ? 3UL : 0UL, {8, 0, 0}}) == 0);
    }
}

TEST_CASE("the kernel is exact where a block of A stays in the L2 cache and B passes in pieces") {
  constexpr std::size_t page = 4096 / sizeof(Real);
  for (const std::size_t l1_size : {32 << 10, 128 << 10, 1 << 20})  // pieces of a panel, of several, and whole blocks
    for (const std::size_t l2_size : {0, 2 << 20}) {
      const kernels::Caches caches{12, l1_size, l2_size};
      CAPTURE(l1_size);
      CAPTURE(l2_size);
      CHECK(wrong_turns({false, false, 1, 291, 200, 1, 1, 2, caches}) == 0);
      CHECK(wrong_turns({false, false, 14, 291, 1030, 2, 1, 2, caches}) == 0);  // two strips
      CHECK(wrong_turns({false, false, 64, 95, 700, 1, 0, 0, caches}) == 0);
      CHECK(wrong_turns({false, false, 95, 192, 401, 2, Real(0.5), 1, caches}) == 0);  // one strip packs B
      CHECK(wrong_turns({false, false, 33, 3300, 45, 1, 1, 0, caches}) == 0);          // a single block of k
      CHECK(wrong_turns({false, false, 64, 300, 500, 1, 1, page - 64, caches}) == 0);  // A is packed for each block
      CHECK(wrong_turns({false, false, page, page + 5, 16, 1, 1, 0, caches}) == 0);    // once for several pieces
      for (const std::size_t m : {78, 84, 96, 112, 128})  // about as many rows as stay in an L2 cache of 512 KB
        CHECK(wrong_turns({false, false, m, 129, (512 << 10) / 3 / sizeof(Real) / m, 1, 1, page - m, caches}) == 0);
    }
}

TEST_CASE("what is fetched ahead in about equal parts is each cache line of a matrix") {
  using kernels::cache_line;
  for (const std::size_t rows : {0, 1, 13, 40})
    for (const std::size_t columns : {std::size_t(0), std::size_t(1), cache_line, 5 * cache_line - 1, 6 * cache_line})
      for (const std::size_t gap : {0, 3})
        for (const std::size_t parts : {1, 2, 7, 300}) {
          const std::size_t stride = columns + gap, lines_of_row = (columns + cache_line - 1) / cache_line;
          const std::vector<Real> matrix(rows * stride);
          const std::size_t all = kernels::part_ahead(matrix.data(), rows, columns, stride).pairs;
          std::vector<std::size_t> fetched;
          for (std::size_t part = 0; part < parts; ++part) {
            kernels::Ahead ahead = kernels::part_ahead(matrix.data(), rows, columns, stride, part, parts);
            CHECK(ahead.pairs <= (all + parts - 1) / parts);
            for (; ahead.pairs > 0; ahead.advance())
              for (const std::size_t line : {std::size_t(0), ahead.second})
                fetched.push_back(static_cast<std::size_t>(ahead.at - matrix.data()) + line);
          }
          std::vector<std::size_t> lines;
          for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < lines_of_row; ++j) lines.push_back(i * stride + j * cache_line);
          if (gap == 0) {
            lines.clear();
            for (std::size_t i = 0; i < rows * columns; i += cache_line) lines.push_back(i);
          }
          CAPTURE(rows);
          CAPTURE(columns);
          CAPTURE(gap);
          CAPTURE(parts);
          CHECK(std::is_sorted(fetched.begin(), fetched.end()));
          CHECK(std::adjacent_find(fetched.begin(), fetched.end()) == fetched.end());
          CHECK(std::includes(fetched.begin(), fetched.end(), lines.begin(), lines.end()));
          // Lines come in pairs: there may be one too many at the end of all, or of each row of several lines.
          CHECK(fetched.size() <= lines.size() + (gap > 0 && lines_of_row > 1 ? rows : 1));
        }
}

TEST_CASE("the kernel gives NaN for NaN and infinity for infinity") {
  for (const std::size_t n : {3, 32, 45}) {
    std::vector<Real> a(20 * 6, 1), b(6 * n, 1), c(20 * n);
    a[1 * 6 + 5] = not_a_number;
    a[2 * 6] = infinity;
    kernels::gemm(false, false, 20, n, 6, 1, a.data(), 6, b.data(), n, 0, c.data(), n);
    for (std::size_t i = 0; i < c.size(); ++i) {
      CHECK(std::isnan(c[i]) == (i / n == 1));
      CHECK((c[i] == infinity) == (i / n == 2));
    }
    // B transposed [n, 6]: what is wrong with one column stays in it.
    a.assign(a.size(), 1);
    b[(n - 1) * 6] = not_a_number;
    kernels::gemm(false, true, 20, n, 6, 1, a.data(), 6, b.data(), 6, 0, c.data(), n);
    for (std::size_t i = 0; i < c.size(); ++i) CHECK(std::isnan(c[i]) == (i % n == n - 1));
  }
}

TEST_CASE("an element's bits do not depend on the size or place of its tile") {
  const std::size_t m = 150, n = 53, k = 77;  // so many rows that B is packed, which it is not for a single one
  const auto a = fractions(m * k, 4), b = fractions(k * n, 5);
  std::vector<Real> whole(m * n), single(1);
  kernels::gemm(false, false, m, n, k, Real(0.3), a.data(), k, b.data(), n, 0, whole.data(), n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      kernels::gemm(false, false, 1, 1, k, Real(0.3), &a[i * k], k, &b[j], n, 0, single.data(), 1);
      CHECK(single[0] == whole[i * n + j]);
    }
}

TEST_CASE("of few rows with a transposed B, too") {
  for (const std::size_t k : {77, 200}) {
    const std::size_t m = kernels::few_rows(k), n = 37;
    const auto a = fractions(m * k, 4), b = fractions(n * k, 5);
    std::vector<Real> whole(m * n), single(1);
    kernels::gemm(false, true, m, n, k, 1, a.data(), k, b.data(), k, 0, whole.data(), n);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        kernels::gemm(false, true, 1, 1, k, 1, &a[i * k], k, &b[j * k], k, 0, single.data(), 1);
        CHECK(single[0] == whole[i * n + j]);
      }
  }
}

TEST_CASE("nor on the processor's caches") {
  for (const auto& [m, n, k] :
       std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>{{29, 131, 1024},
                                                                      {63, 3 * kernels::lanes, 1024},
                                                                      {86, 4 * kernels::lanes - 1, 1024},
                                                                      {150, 300, 1024},
                                                                      {105, 70, 512},
                                                                      {1024, 420, 300}}) {
    const auto a = fractions(m * k, 4), b = fractions(k * n, 5);
    const std::vector<Real> c(m * n, Real(0.25));
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true}) {
        const auto product = [&, m = m, n = n, k = k](const kernels::Caches& caches) {
          auto result = c;
          kernels::gemm(transpose_a, transpose_b, m, n, k, Real(0.3), a.data(), transpose_a ? m : k, b.data(),
                        transpose_b ? k : n, 1, result.data(), n, caches);
          return result;
        };
        const auto here = product(kernels::this_processors_caches());
        for (const std::size_t ways : {0, 8, 9, 12, 16})
          for (const auto& [l1_size, l2_size] :
               std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {32 << 10, 1 << 20}, {48 << 10, 2 << 20}}) {
            CAPTURE(m);
            CAPTURE(n);
            CAPTURE(k);
            CAPTURE(transpose_a);
            CAPTURE(transpose_b);
            CAPTURE(ways);
            CAPTURE(l1_size);
            CAPTURE(l2_size);
            CHECK(product({ways, l1_size, l2_size}) == here);
          }
      }
  }
}

TEST_CASE("a bias is added to a product, which is cut off at 0, also over several blocks of the inner axis") {
  for (const std::size_t in : {1, 31, 64, 256, 257, 512, 513, 1100})
    for (const std::size_t out : {1, 15, 16, 33, 64})
      for (const std::size_t rows : {1, 2, 5, 7, 12, 13, 14, 29})
        for (const bool relu : {false, true})
          for (const bool biased : {false, true}) {
            const auto x = whole_numbers(rows * in, 1), weight = whole_numbers(out * in, 2),
                       bias = whole_numbers(out, 3);
            std::vector<Real> y(rows * out, not_a_number);
            kernels::linear(rows, out, in, x.data(), weight.data(), biased ? bias.data() : nullptr, relu, y.data());
            std::size_t wrong = 0;
            for (std::size_t r = 0; r < rows; ++r)
              for (std::size_t j = 0; j < out; ++j) {
                Real exact = biased ? bias[j] : Real(0);
                for (std::size_t i = 0; i < in; ++i) exact += x[r * in + i] * weight[j * in + i];
                if (relu) exact = std::max(exact, Real(0));
                if (!(y[r * out + j] == exact)) ++wrong;
              }
            CAPTURE(in);
            CAPTURE(out);
            CAPTURE(rows);
            CAPTURE(relu);
            CAPTURE(biased);
            CHECK(wrong == 0);
          }
}

TEST_CASE("what is not a number passes the cut at 0") {
  for (const std::size_t in : {4, 600})
    for (const std::size_t rows : {1, 20}) {
      std::vector<Real> x(rows * in, Real(1)), weight(in, Real(1)), y(rows);
      x[2] = not_a_number;
      kernels::linear(rows, 1, in, x.data(), weight.data(), nullptr, true, y.data());
      for (std::size_t i = 0; i < rows; ++i) CHECK(std::isnan(y[i]) == (i == 0));
    }
}

}  // namespace
}  // namespace surd
