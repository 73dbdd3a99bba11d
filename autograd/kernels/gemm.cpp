#include "autograd/kernels/gemm.hpp"

#include "autograd/kernels/elementwise.hpp"
#include "autograd/kernels/simd.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

// Matrix products by blocks that stay in a cache, down to a tile of C that stays in registers (Goto & van de Geijn,
// Anatomy of High-Performance Matrix Multiplication, ACM TOMS 34(3), 2008; Van Zee & van de Geijn, BLIS, ACM TOMS
// 41(3), 2015), simplified for matrices that are small in at least one direction:
//
//   for each block of columns of C            so that a block of B fills half of the L2 cache
//     for each block of k                     the inner axis
//       pack the block of B                   only if B is turned; else it is read where it lies
//       for each strip of rows of C           as high as a tile, and all about equally high: no narrow rest
//         copy the strip of A                 only if its rows would fall into the same cache sets
//         for each panel of two registers     micro-kernel: a tile of C plus strip times panel
//
// The micro-kernel holds up to 14 x 2 registers of sums. A step of k loads two registers of B and multiplies them by
// each of the strip's elements, broadcast straight from A: A is read once a panel, in the L1 cache, by rows or by
// columns, and so is not packed. A packed panel holds two registers for each k, one after the other.
//
// The rows of a tile are a template argument, as its sums are registers; a table holds a function for each number.

namespace surd::kernels {
namespace {

#ifdef __AVX512F__
constexpr std::size_t tile_rows = 14;  // of 32 registers, 28 hold sums
#else
constexpr std::size_t tile_rows = 6;  // of 16 registers, 12 hold sums
#endif
constexpr std::size_t panel = 2 * lanes;
constexpr std::size_t longest_block = 512;                      // of k
constexpr std::size_t block_size = (512 << 10) / sizeof(Real);  // of B: half of an L2 cache of 1 MB

/// A strip of rows of C for one block of k. Packed panels of B stand one behind the other.
struct Strip {
  std::size_t n, k;
  Real alpha;
  const Real* a;
  std::size_t lda;
  const Real* b;
  std::size_t ldb;
  bool b_packed;
  Real beta;
  Real* c;
  std::size_t ldc;
  Real* a_copy;      // null where A is read in place
  const Real* bias;  // what the sums begin with, a number a column; null for 0
  bool relu;         // the positive part is stored; beta is 0 and alpha 1
};

#define SURD_INLINE __attribute__((always_inline))  // or else the sums would not stay in registers

/// The tile of `rows` x `width` registers: c = alpha a b + beta c. A tile of one register has `columns` <= lanes.
template <bool turn_a, std::size_t rows, std::size_t width>
SURD_INLINE inline void micro_kernel(const Strip& s, const Real* a, std::size_t lda, const Real* b, std::size_t ldb,
                                     std::size_t columns, const Real* bias, Real* c) {
  Batch sum[rows][width];
#pragma GCC unroll 2
  for (std::size_t j = 0; j < width; ++j) {
    Batch first(Real(0));
    if (bias != nullptr) first = width == 1 ? load_part(bias, columns) : Batch::load_unaligned(bias + j * lanes);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i) sum[i][j] = first;
  }

  const Real* fifth_row[] = {a, a + 5 * lda, a + 10 * lda};  // few enough addresses for the registers
  const auto step = [&](std::size_t l) SURD_INLINE {
    Batch y[width];
#pragma GCC unroll 2
    for (std::size_t j = 0; j < width; ++j)
      y[j] = width == 1 ? load_part(b + l * ldb, columns) : Batch::load_unaligned(b + l * ldb + j * lanes);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i) {
      const Batch x(turn_a ? a[l * lda + i] : fifth_row[i / 5][i % 5 * lda + l]);
#pragma GCC unroll 2
      for (std::size_t j = 0; j < width; ++j) sum[i][j] = xsimd::fma(x, y[j], sum[i][j]);
    }
  };
  std::size_t l = 0;
  for (; l + 4 <= s.k; l += 4) step(l), step(l + 1), step(l + 2), step(l + 3);
  for (; l < s.k; ++l) step(l);

  const auto store = [&](auto value) SURD_INLINE {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 2
      for (std::size_t j = 0; j < width; ++j) {
        Real* to = c + i * s.ldc + j * lanes;
        if (width == 1)
          store_part(value(sum[i][j], [&] { return load_part(to, columns); }), to, columns);
        else
          value(sum[i][j], [&] { return Batch::load_unaligned(to); }).store_unaligned(to);
      }
  };
  const Batch alpha(s.alpha), beta(s.beta);
  if (s.beta != 0)
    store([&](Batch x, auto old) { return xsimd::fma(alpha, x, beta * old()); });
  else if (s.alpha != 1)
    store([&](Batch x, auto) { return alpha * x; });
  else if (s.relu)
    store([](Batch x, auto) { return xsimd::select(x < Batch(Real(0)), Batch(Real(0)), x); });  // keeps a NaN
  else
    store([&](Batch x, auto) { return x; });
}

template <bool turn_a, std::size_t rows>
void multiply(const Strip& s) {
  const Real* a = s.a;
  std::size_t lda = s.lda;
  if (s.a_copy != nullptr) {
    lda = s.k + lanes;
    for (std::size_t i = 0; i < rows; ++i) std::copy_n(a + i * s.lda, s.k, s.a_copy + i * lda);
    a = s.a_copy;
  }
  const auto b_at = [&](std::size_t j) { return s.b + (s.b_packed ? j * s.k : j); };
  const auto bias_at = [&](std::size_t j) { return s.bias == nullptr ? nullptr : s.bias + j; };
  std::size_t j = 0;
  for (; j + panel <= s.n; j += panel)
    micro_kernel<turn_a, rows, 2>(s, a, lda, b_at(j), s.b_packed ? panel : s.ldb, panel, bias_at(j), s.c + j);
  for (; j < s.n; j += lanes)
    micro_kernel<turn_a, rows, 1>(s, a, lda, b_at(j), s.b_packed ? lanes : s.ldb, std::min(lanes, s.n - j), bias_at(j),
                                  s.c + j);
}

template <bool turn_a, std::size_t... i>
constexpr auto multiply_by_rows(std::index_sequence<i...>) {
  return std::array<void (*)(const Strip&), sizeof...(i)>{multiply<turn_a, i + 1>...};
}

#ifdef __AVX512F__
#ifdef SURD_DOUBLE
inline __m128d load_quarter(const Real* x) { return _mm_loadu_pd(x); }
inline Batch join(__m128d a, __m128d b, __m128d c, __m128d d) {
  return _mm512_insertf64x2(_mm512_insertf64x2(_mm512_insertf64x2(_mm512_castpd128_pd512(a), b, 1), c, 2), d, 3);
}
#else
inline __m128 load_quarter(const Real* x) { return _mm_loadu_ps(x); }
inline Batch join(__m128 a, __m128 b, __m128 c, __m128 d) {
  return _mm512_insertf32x4(_mm512_insertf32x4(_mm512_insertf32x4(_mm512_castps128_ps512(a), b, 1), c, 2), d, 3);
}
#endif

/// to[l][j] = row[j][l] for j < lanes and l < a quarter of them. A register takes its quarters from every fourth
/// (second) row; what is left is to transpose the squares that lie in the same quarter.
SURD_INLINE inline void transpose_quarter(const Real* const* row, std::size_t l, Real* to, std::size_t width) {
  constexpr std::size_t quarter = lanes / 4;
  Batch x[quarter], y[quarter];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < quarter; ++i)
    x[i] = join(load_quarter(row[i] + l), load_quarter(row[i + quarter] + l), load_quarter(row[i + 2 * quarter] + l),
                load_quarter(row[i + 3 * quarter] + l));
#pragma GCC unroll 2
  for (std::size_t stage = 1; stage < quarter; stage *= 2) {
#pragma GCC unroll 2
    for (std::size_t i = 0; i < quarter / 2; ++i) {
      y[2 * i] = xsimd::zip_lo(x[i], x[i + quarter / 2]);
      y[2 * i + 1] = xsimd::zip_hi(x[i], x[i + quarter / 2]);
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < quarter; ++i) x[i] = y[i];
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < quarter; ++i) x[i].store_unaligned(to + i * width);
}
#endif

/// to[l][j] = b[j][l] for j < width and l < k. Beyond `columns` stand copies of the last one, which nobody stores.
void pack_panel(const Real* b, std::size_t ldb, std::size_t columns, std::size_t k, Real* to, std::size_t width) {
  for (std::size_t j = 0; j < width; j += lanes, to += lanes) {
    const Real* row[lanes];
    for (std::size_t i = 0; i < lanes; ++i) row[i] = b + std::min(j + i, columns - 1) * ldb;
    std::size_t l = 0;
#ifdef __AVX512F__
    for (; l + lanes / 4 <= k; l += lanes / 4) transpose_quarter(row, l, to + l * width, width);
#endif
    for (; l < k; ++l)
      for (std::size_t i = 0; i < lanes; ++i) to[l * width + i] = row[i][l];
  }
}

void pack(const Real* b, std::size_t ldb, std::size_t n, std::size_t k, Real* to) {
  std::size_t j = 0;
  for (; j + panel <= n; j += panel) pack_panel(b + j * ldb, ldb, panel, k, to + j * k, panel);
  for (; j < n; j += lanes) pack_panel(b + j * ldb, ldb, std::min(lanes, n - j), k, to + j * k, lanes);
}

/// This thread's memory for packed blocks; it only grows.
Real* memory(std::size_t size) {
  thread_local std::vector<Real, xsimd::aligned_allocator<Real, 64>> block;
  if (block.size() < size) block.resize(size);
  return block.data();
}

std::size_t round_up(std::size_t x, std::size_t unit) { return (x + unit - 1) / unit * unit; }

/// How long the parts are if `whole` is cut into about equal ones of at most `longest`, a multiple of `unit`.
std::size_t part(std::size_t whole, std::size_t longest, std::size_t unit) {
  if (whole <= longest) return whole;
  const std::size_t parts = (whole + longest - 1) / longest;
  return round_up((whole + parts - 1) / parts, unit);
}

void multiply(bool turn_a, bool turn_b, std::size_t m, std::size_t n, std::size_t k, Real alpha, const Real* a,
              std::size_t lda, const Real* b, std::size_t ldb, Real beta, Real* c, std::size_t ldc, const Real* bias,
              bool relu) {
  static constexpr auto by_rows = multiply_by_rows<false>(std::make_index_sequence<tile_rows>());
  static constexpr auto by_columns = multiply_by_rows<true>(std::make_index_sequence<tile_rows>());
  if (m == 0 || n == 0) return;
  const std::size_t k_block = part(k, longest_block, 8);
  const std::size_t n_block = n * k_block <= block_size ? n : part(n, block_size / k_block / panel * panel, panel);
  const std::size_t strips = m <= tile_rows ? 1 : (m + tile_rows - 1) / tile_rows;
  const std::size_t rows = strips == 1 ? m : m / strips, higher_strips = m - strips * rows;

  const bool copy_a = !turn_a && lda * sizeof(Real) % 4096 == 0 && n >= 2 * panel;
  const std::size_t b_size = turn_b ? round_up(n_block, lanes) * k_block : 0;
  Real* const packed = turn_b || copy_a ? memory(b_size + (copy_a ? tile_rows * (k_block + lanes) : 0)) : nullptr;
  for (std::size_t j = 0; j < n; j += n_block) {
    for (std::size_t l = 0; l < k; l += k_block) {
      Strip s{std::min(n_block, n - j),
              std::min(k_block, k - l),
              alpha,
              a + (turn_a ? l * lda : l),
              lda,
              b + (turn_b ? j * ldb + l : l * ldb + j),
              ldb,
              turn_b,
              l == 0 ? beta : Real(1),
              c + j,
              ldc,
              copy_a ? packed + b_size : nullptr,
              bias == nullptr || l > 0 ? nullptr : bias + j,
              relu};
      if (turn_b) {
        pack(s.b, ldb, s.n, s.k, packed);
        s.b = packed;
      }
      for (std::size_t i = 0; i < strips; ++i) {
        const std::size_t height = rows + (i < higher_strips ? 1 : 0);
        (turn_a ? by_columns : by_rows)[height - 1](s);
        s.a += turn_a ? height : height * lda;
        s.c += height * ldc;
      }
    }
  }
}

}  // namespace

void gemm(bool turn_a, bool turn_b, std::size_t m, std::size_t n, std::size_t k, Real alpha, const Real* a,
          std::size_t lda, const Real* b, std::size_t ldb, Real beta, Real* c, std::size_t ldc) {
  if (k > 0 && alpha != 0)
    return multiply(turn_a, turn_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, nullptr, false);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j];
}

void linear(std::size_t rows, std::size_t out, std::size_t in, const Real* x, const Real* weight, const Real* bias,
            bool relu, Real* y) {
  const bool at_once = in <= longest_block;  // else the sums are not yet complete when they leave the registers
  multiply(false, true, rows, out, in, 1, x, in, weight, in, 0, y, out, bias, relu && at_once);
  if (relu && !at_once) kernels::relu(y, y, rows * out);
}

}  // namespace surd::kernels
