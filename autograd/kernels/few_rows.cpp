#include "autograd/kernels/few_rows.hpp"

#include "autograd/kernels/simd.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

namespace surd::kernels {
namespace {

constexpr std::size_t most_rows = many_registers ? 6 : 3;  // of which four columns each have sums in registers
constexpr std::size_t block = 16;                          // columns that a call computes

/// The processor foresees what a page of memory holds next, but not the next page: from a few rows of B to a page on,
/// they are fetched in advance.
constexpr std::size_t long_row = 1024 / sizeof(Real), rows_ahead = 8;

/// Columns of `rows` rows whose sums are in registers together: enough that they outlast the latency of one sum.
constexpr std::size_t columns_at_once(std::size_t rows) {
  return rows <= (many_registers ? 3 : 1) ? 2 * fold_size : fold_size;
}

/// to[i block + j] = sum over l of a[i][l] b[j][l].
template <std::size_t rows, std::size_t columns>
SURD_INLINE inline void dot_products(const Product& p, const Real* const (&b)[columns], Real* to) {
  Batch sum[rows][columns];
  unroll<rows>([&](auto i) SURD_INLINE { unroll<columns>([&](auto j) SURD_INLINE { sum[i][j] = Batch(Real(0)); }); });
  const auto add = [&](auto fetch) SURD_INLINE {
    by_registers(p.k, [&](std::size_t l, auto part) SURD_INLINE {
      Batch x[rows];
      unroll<rows>([&](auto i) SURD_INLINE { x[i] = part.load(p.a + i * p.lda + l); });
      unroll<columns>([&](auto j) SURD_INLINE {
        const Batch y = part.load(b[j] + l);
        if (fetch) __builtin_prefetch(b[j] + l + rows_ahead * p.ldb, 0, 2);
        unroll<rows>([&](auto i) SURD_INLINE { sum[i][j] = xsimd::fma(x[i], y, sum[i][j]); });
      });
    });
  };
  if (p.k >= long_row)
    add(std::true_type());
  else
    add(std::false_type());
  unroll<rows>([&](auto i) SURD_INLINE {
    Real total[columns];
    sums(sum[i], total);
    std::copy_n(total, columns, to + i * block);
  });
}

/// `columns` <= block columns of `rows` rows.
template <std::size_t rows>
void columns_of(const Product& p, std::size_t columns) {
  constexpr std::size_t at_once = columns_at_once(rows);
  alignas(64) Real totals[rows][block];
  for (std::size_t j = 0; j < columns; j += at_once) {
    const Real* b[at_once];  // beyond the last column once more the last one
    for (std::size_t i = 0; i < at_once; ++i) b[i] = p.b + std::min(j + i, columns - 1) * p.ldb;
    dot_products<rows>(p, b, &totals[0][j]);
  }
  const Batch alpha(p.alpha), beta(p.beta);
  for (std::size_t i = 0; i < rows; ++i) {
    by_registers(columns, [&](std::size_t j, auto part) SURD_INLINE {
      Real* const to = p.c + i * p.ldc + j;
      Batch result = alpha * part.load(totals[i] + j);
      if (p.beta != 0) result = xsimd::fma(beta, part.load(to), result);
      if (p.bias != nullptr) result = result + part.load(p.bias + j);
      if (p.relu) result = xsimd::select(result < Batch(Real(0)), Batch(Real(0)), result);  // keeps a NaN
      part.store(result, to);
    });
  }
}

template <std::size_t... i>
constexpr auto columns_by_rows(std::index_sequence<i...>) {
  return std::array<void (*)(const Product&, std::size_t), sizeof...(i)>{columns_of<i + 1>...};
}

}  // namespace

void multiply_few_rows(const Product& product) {
  static constexpr auto by_rows = columns_by_rows(std::make_index_sequence<most_rows>());
  const std::size_t m = product.m, n = product.n;
  const std::size_t groups = (m + most_rows - 1) / most_rows;
  for (std::size_t j = 0; j < n; j += block) {
    Product p = product;
    p.b += j * p.ldb;
    p.c += j;
    if (p.bias != nullptr) p.bias += j;
    for (std::size_t i = 0; i < groups; ++i) {
      const std::size_t rows = m / groups + (i < m % groups ? 1 : 0);
      by_rows[rows - 1](p, std::min(block, n - j));
      p.a += rows * p.lda;
      p.c += rows * p.ldc;
    }
  }
}

}  // namespace surd::kernels
