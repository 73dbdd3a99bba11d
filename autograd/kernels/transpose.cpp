#include "autograd/kernels/transpose.hpp"

#include "autograd/kernels/simd.hpp"

#include <algorithm>

namespace surd::kernels {
namespace {

#ifndef SURD_DOUBLE
constexpr std::size_t square = 4;  // elements of 128 bits: a quarter, a half, or all of a register

/// A register of the 128 bits at `l` in every fourth row.
#if defined(__AVX512F__)
SURD_INLINE inline Batch join(const Real* const* row, std::size_t l) {
  const __m512 first = _mm512_castps128_ps512(_mm_loadu_ps(row[0] + l));
  const __m512 second = _mm512_insertf32x4(first, _mm_loadu_ps(row[4] + l), 1);
  const __m512 third = _mm512_insertf32x4(second, _mm_loadu_ps(row[8] + l), 2);
  return _mm512_insertf32x4(third, _mm_loadu_ps(row[12] + l), 3);
}
#elif defined(__AVX__)
SURD_INLINE inline Batch join(const Real* const* row, std::size_t l) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(row[0] + l)), _mm_loadu_ps(row[4] + l), 1);
}
#else
SURD_INLINE inline Batch join(const Real* const* row, std::size_t l) { return _mm_loadu_ps(row[0] + l); }
#endif

/// to[l][j] = row[j][l] for j < lanes and l < square. What join() leaves to do is to transpose the squares that lie in
/// the same 128 bits.
SURD_INLINE inline void transpose_squares(const Real* const* row, std::size_t l, Real* to, std::size_t width) {
  Batch x[square], y[square];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < square; ++i) x[i] = join(row + i, l);
#pragma GCC unroll 2
  for (std::size_t stage = 1; stage < square; stage *= 2) {
#pragma GCC unroll 2
    for (std::size_t i = 0; i < square / 2; ++i) {
      y[2 * i] = zip_lower(x[i], x[i + square / 2]);
      y[2 * i + 1] = zip_upper(x[i], x[i + square / 2]);
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < square; ++i) x[i] = y[i];
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < square; ++i) x[i].store_unaligned(to + i * width);
}
#endif

}  // namespace

void transpose_panel(const Real* b, std::size_t ldb, std::size_t columns, std::size_t k, Real* to, std::size_t width) {
  for (std::size_t j = 0; j < width; j += lanes, to += lanes) {
    const Real* row[lanes];
    for (std::size_t i = 0; i < lanes; ++i) row[i] = b + std::min(j + i, columns - 1) * ldb;
    std::size_t l = 0;
#ifndef SURD_DOUBLE  // which only tests need, and not fast
    for (; l + square <= k; l += square) transpose_squares(row, l, to + l * width, width);
#endif
    for (; l < k; ++l)
      for (std::size_t i = 0; i < lanes; ++i) to[l * width + i] = row[i][l];
  }
}

}  // namespace surd::kernels
