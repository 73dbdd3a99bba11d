#include "autograd/kernels/gemm.hpp"

#include "autograd/kernels/elementwise.hpp"
#include "autograd/kernels/few_rows.hpp"
#include "autograd/kernels/gemm_blocks.hpp"
#include "autograd/kernels/simd.hpp"
#include "autograd/kernels/transpose.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include <unistd.h>

// Matrix products by blocks that stay in a cache, down to a tile of C that stays in registers (Goto & van de Geijn,
// Anatomy of High-Performance Matrix Multiplication, ACM TOMS 34(3), 2008; Van Zee & van de Geijn, BLIS, ACM TOMS
// 41(3), 2015), simplified for matrices that are small in at least one direction:
//
//   for each block of columns of C            so that a block of B fills half of the L2 cache
//     for each block of k                     the inner axis
//       for each piece of the block of B      all of it; or if the block of A stays in the L2 cache and has no more
//                                             rows than B columns, a panel, or as many as fit an L1 cache
//         pack the piece                      if it is transposed; else the first strip packs it while it reads it, if
//                                             so many strips read it that this pays: fewer if B does not fit an L2
//                                             cache
//         for each strip of rows of C         at most as high as a tile, lower if the rows of A share sets of an L1
//                                             cache with too few ways; all about equally high, without a narrow rest,
//                                             but for one that packs B
//           pack the strip of A               with the first piece, if A is transposed and enough panels read it, fewer
//                                             if its rows share a set, so many strips together as fill a third of the
//                                             L2 cache
//           for each panel of two registers   micro-kernel: a tile of C plus strip times panel; meanwhile as much as
//                                             there is time for of what comes next is fetched into the L2 cache: the
//                                             strip of A below, or with later pieces the next piece of B
//
// The micro-kernel holds up to 13 x 2 registers of sums. A step of k loads two registers of B and multiplies them by
// each of the strip's elements, broadcast from A itself or from its packed strip. A packed panel holds two registers
// for each k, one after the other; the last panel of a matrix may have one register, and its last register may be
// filled in part.
//
// A few rows times a transposed B would not repay its packing, and are left to few_rows.hpp.
//
// The rows of a tile are a template argument, as its sums are registers; a table holds a function for each number.

namespace surd::kernels {
namespace {

#ifdef __AVX512F__
constexpr std::size_t tile_rows = 13;            // of 32 registers, 26 hold sums; with 28 some are spilled
constexpr std::size_t longest_block_of_k = 384;  // a strip of A takes 20 KB
constexpr std::size_t steps_unrolled = 4;        // of k: elements of A are loaded earlier
constexpr std::size_t rows_fetched_ahead = 16;   // of B by the strip that packs it, and of a transposed A
constexpr bool fetch_transposed_a = true;
constexpr bool fetch_c_by_rows = true;  // one with every few steps: at once, they would wait for each other
constexpr std::size_t panels_to_pack_a = std::numeric_limits<std::size_t>::max();  // at least, of a transposed A
constexpr std::size_t panels_to_pack_a_of_one_set = 4;
#else
constexpr std::size_t tile_rows = 6;             // of 16 registers, 12 hold sums
constexpr std::size_t longest_block_of_k = 512;  // 12 KB; longer ones are no faster
constexpr std::size_t steps_unrolled = 1;        // with more a sum is spilled, and each step waits for it
constexpr std::size_t rows_fetched_ahead = 32;   // of B; a row is multiplied in half the time
constexpr bool fetch_transposed_a = false;       // if several panels read it, it is packed
constexpr bool fetch_c_by_rows = false;          // a tile has few lines
constexpr std::size_t panels_to_pack_a = 12;     // at least: several strips share a cache line
constexpr std::size_t panels_to_pack_a_of_one_set = 8;
#endif
/// Strips are not cut lower than this for the sake of a cache: 8 x 2 sums keep two multipliers busy.
constexpr std::size_t low_tile_rows = std::min<std::size_t>(8, tile_rows);
constexpr std::size_t panel = 2 * lanes;

/// Of k: a strip of A stays in an L1 cache. Of a transposed A, which may be packed for each block of columns of B,
/// shorter ones where that lets twice as many columns fit the L2 cache.
constexpr std::size_t longest_block(bool transpose_a, std::size_t n) {
  return transpose_a ? (n > 320 ? 256 : 384) : longest_block_of_k;
}

constexpr std::size_t strips_to_pack_b = 8;         // at least, if B is not transposed
constexpr std::size_t strips_to_pack_large_b = 3;   // one that an L2 cache does not hold
constexpr std::size_t wide_rows_fetched_ahead = 6;  // of a transposed A, many strips wide
static_assert(strips_to_pack_b >= 2 && strips_to_pack_large_b >= 2, "others follow the strip that packs");

/// Rows that a packed panel takes for k of them: an odd number, or all panels could begin in one cache set.
std::size_t packed_rows(std::size_t k) { return k | 1; }

/// A strip of rows of C for one piece of B. Packed panels of B stand one behind the other; alpha is 1 and beta 0 where
/// the positive part is stored, which is once the sums are complete, and alpha is 1 where they begin with a bias.
struct Strip : Product {
  Real* b_copy;  // where B is packed to by the strip that packs it
  bool b_packed = false;
  Ahead ahead = {};  // what is fetched meanwhile
};

/// x, but the compiler cannot see that it is unchanged: otherwise it would compute a + lda, a + 2 lda + 1, ... before
/// the loop and keep more of them than there are registers.
template <class T>
SURD_INLINE inline T opaque(T x) {
  asm("" : "+r"(x));
  return x;
}

/// The tile of `rows` x `width` registers: c = alpha a b + beta c. `partial`: the last register has but `last` columns.
/// `pack`: the panel of B is packed to b_copy on the way.
template <bool transpose_a, std::size_t rows, bool pack, std::size_t width, bool partial>
SURD_INLINE inline void micro_kernel(const Strip& s, const Real* b, std::size_t ldb, Real* b_copy, std::size_t last,
                                     const Real* bias, Real* c, Ahead& ahead) {
  const Part part(last);
  const auto load = [&](const Real* x, std::size_t j) SURD_INLINE {
    return partial && j + 1 == width ? part.load(x + j * lanes) : Batch::load_unaligned(x + j * lanes);
  };
  // C is seldom in a cache, either: while one strip is computed, the rows of C below are fetched, or some of them if
  // the inner axis is short. Below the last strip that is in vain, wherever it is: an address is enough.
  const Real* below = c + rows * s.ldc;
  const Real* const below_end = below + rows * s.ldc;
  const auto fetch_below = [&]() SURD_INLINE {
    unroll<width>([&](auto j) SURD_INLINE { __builtin_prefetch(below + j * lanes, 0, 2); });
    below += s.ldc;
  };
  if (!fetch_c_by_rows) unroll<rows>([&](auto) SURD_INLINE { fetch_below(); });

  Batch sum[rows][width];  // in registers, as every index is a constant
  unroll<width>([&](auto j) SURD_INLINE {
    const Batch first = bias == nullptr ? Batch(Real(0)) : load(bias, j);
    unroll<rows>([&](auto i) SURD_INLINE { sum[i][j] = first; });
  });

  std::size_t lda = s.lda;  // s itself may have changed after a store, as the compiler sees it
  const Real* a = s.a;
  static_assert(tile_rows <= 15, "there are addresses for so many rows");
  const Real* fifth = a + 5 * lda;  // few enough addresses for the registers
  const Real* tenth = a + 10 * lda;
  const auto row = [&](std::size_t i) SURD_INLINE { return (i < 5 ? a : i < 10 ? fifth : tenth) + i % 5 * lda; };
  const auto step = [&](std::size_t l) SURD_INLINE {
    Batch y[width];
    unroll<width>([&](auto j) SURD_INLINE {
      y[j] = load(b, j);
      if (!pack) return;
      // Rows of B are often pages apart, and then the processor does not foresee them. Any address may be fetched.
      y[j].store_unaligned(b_copy + j * lanes);
      __builtin_prefetch(b + rows_fetched_ahead * ldb + j * lanes, 0, 2);
    });
    b += ldb;
    if (pack) b_copy += width * lanes;
    if (transpose_a && fetch_transposed_a) __builtin_prefetch(a + rows_fetched_ahead * lda);
    unroll<rows>([&](auto i) SURD_INLINE {
      const Batch x(transpose_a ? a[i] : row(i)[l]);
      unroll<width>([&](auto j) SURD_INLINE { sum[i][j] = xsimd::fma(x, y[j], sum[i][j]); });
    });
    if (transpose_a) a += lda;
  };
  const auto group = [&](auto count) SURD_INLINE {
    unroll<count>([&](auto l) SURD_INLINE { step(l); });
    if (transpose_a) return;
    lda = opaque(lda);
    a = opaque(a + count);
    if (rows > 5) fifth = opaque(fifth + count);
    if (rows > 10) tenth = opaque(tenth + count);
  };
  Ahead left = ahead;  // a copy, which stays in registers
  for (std::size_t groups = s.k / steps_unrolled; groups > 0; --groups) {
    if (left.pairs > 0) {
      __builtin_prefetch(left.at, 0, 2);
      __builtin_prefetch(left.at + left.second, 0, 2);
      left.advance();
    }
    if (fetch_c_by_rows && below != below_end) fetch_below();
    group(std::integral_constant<std::size_t, steps_unrolled>());
  }
  for (std::size_t rest = s.k % steps_unrolled; rest > 0; --rest) group(std::integral_constant<std::size_t, 1>());
  ahead = left;

  const auto store = [&](auto value) SURD_INLINE {
    unroll<rows>([&](auto i) SURD_INLINE {
      unroll<width>([&](auto j) SURD_INLINE {
        Real* to = c + i * s.ldc;
        const Batch result = value(sum[i][j], [&] { return load(to, j); });
        if (partial && j + 1 == width)
          part.store(result, to + j * lanes);
        else
          result.store_unaligned(to + j * lanes);
      });
    });
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

template <bool transpose_a, std::size_t rows, bool pack>
void multiply(const Strip& s) {
  Ahead ahead = s.ahead;
  const auto tile = [&](auto kernel, std::size_t j, std::size_t width, std::size_t last) SURD_INLINE {
    const std::size_t packed = j * packed_rows(s.k);
    kernel(s, s.b + (s.b_packed ? packed : j), s.b_packed ? width : s.ldb, pack ? s.b_copy + packed : nullptr, last,
           s.bias == nullptr ? nullptr : s.bias + j, s.c + j, ahead);
  };
  std::size_t j = 0;
  for (; j + panel <= s.n; j += panel) tile(micro_kernel<transpose_a, rows, pack, 2, false>, j, panel, lanes);
  const std::size_t rest = s.n - j;
  if (rest > lanes)
    tile(micro_kernel<transpose_a, rows, pack, 2, true>, j, panel, rest - lanes);
  else if (rest == lanes)
    tile(micro_kernel<transpose_a, rows, pack, 1, false>, j, lanes, lanes);
  else if (rest > 0)
    tile(micro_kernel<transpose_a, rows, pack, 1, true>, j, lanes, rest);
}

using StripKernel = void (*)(const Strip&);

template <bool transpose_a, std::size_t... i>
constexpr std::array<StripKernel, sizeof...(i)> multiply_by_rows(std::index_sequence<i...>) {
  return {multiply<transpose_a, i + 1, false>...};
}

/// [transpose_a][rows - 1].
constexpr std::array<StripKernel, tile_rows> strip_kernels[] = {
    multiply_by_rows<false>(std::make_index_sequence<tile_rows>()),
    multiply_by_rows<true>(std::make_index_sequence<tile_rows>())};

/// Those that pack: [transpose_a] of a first strip as high as a tile, and of low_tile_rows, where strips are lower.
constexpr StripKernel packing_kernels[] = {multiply<false, tile_rows, true>, multiply<true, tile_rows, true>};
constexpr StripKernel low_packing_kernel = multiply<false, low_tile_rows, true>;

/// Packs all panels of a transposed B.
void pack_panels(const Real* b, std::size_t ldb, std::size_t n, std::size_t k, Real* to) {
  for (std::size_t j = 0; j < n; j += panel) {
    const std::size_t columns = std::min(panel, n - j), width = columns > lanes ? panel : lanes;
    transpose_panel(b + j * ldb, ldb, columns, k, to + j * packed_rows(k), width);
  }
}

/// This thread's memory for packed blocks; it only grows.
Real* memory(std::size_t size) {
  thread_local std::vector<Real, xsimd::aligned_allocator<Real, 64>> block;
  if (block.size() < size) block.resize(size);
  return block.data();
}

constexpr std::size_t tile_registers = (tile_rows + lanes - 1) / lanes;  // that a row of a packed strip takes

std::size_t packed_strip(std::size_t height, std::size_t k) { return height * k + tile_registers * lanes; }

/// Packs strips first, first + 1, ... of a transposed A, row by row of A: element r of row l of a strip of height h
/// stands at l h + r of it. A strip takes packed_strip(h, k), because registers are stored whole.
void pack_strips(const Real* a, std::size_t lda, const Strips& strips, std::size_t first, std::size_t count,
                 std::size_t k, Real* to) {
  for (std::size_t l = 0; l < k; ++l) {
    const Real* from = a + l * lda;
    const Real* ahead = a + std::min(l + wide_rows_fetched_ahead, k - 1) * lda;  // as of B: rows may be pages apart
    Real* strip = to;
    for (std::size_t i = first; i < first + count; ++i) {
      const std::size_t height = strips.height(i);
      __builtin_prefetch(ahead);  // a cache line or less
      unroll<tile_registers>([&](auto piece) SURD_INLINE {
        const std::size_t r = piece * lanes;
        Part(std::min(lanes, height - std::min(height, r))).load(from + r).store_unaligned(strip + l * height + r);
      });
      from += height;
      ahead += height;
      strip += packed_strip(height, k);
    }
  }
}

void multiply(bool transpose_a, bool transpose_b, const Product& p, const Caches& caches) {
  if (p.m == 0 || p.n == 0) return;
  if (transpose_b && !transpose_a && p.m <= few_rows(p.k)) return multiply_few_rows(p);
  const std::size_t l1_size = std::max<std::size_t>(caches.l1_size, 32 << 10) / sizeof(Real);
  const std::size_t l2_size = std::clamp<std::size_t>(caches.l2_size, 512 << 10, 2 << 20) / sizeof(Real);
  const std::size_t k_block = block_length(p.k, longest_block(transpose_a, p.n), 8);

  // Rows of A a multiple of 4 KB apart begin in the same set of an L1 cache, and of 2 KB in one of two. A strip with no
  // more rows than a set has ways stays there; where two sets share them, half the ways are left to B and C. A
  // transposed A is packed instead, if enough panels read it.
  const auto rows_apart_by = [&](std::size_t bytes) { return p.lda * sizeof(Real) % bytes == 0; };
  const std::size_t tallest =
      !transpose_a && rows_apart_by(2048) ? std::clamp(caches.l1_ways, low_tile_rows, tile_rows) : tile_rows;
  const std::size_t strips_to_pack = p.k * p.n < l2_size ? strips_to_pack_b : strips_to_pack_large_b;
  const bool strip_packs_b = !transpose_b && p.m > (strips_to_pack - 1) * tallest;
  const bool low = tallest < tile_rows;
  const StripKernel packing = low ? low_packing_kernel : packing_kernels[transpose_a];
  const std::size_t packing_rows = low ? low_tile_rows : tile_rows;
  const Strips strips(p.m, strip_packs_b ? packing_rows : 0, tallest);
  const std::size_t packing_strips = strip_packs_b ? 1 : 0;
  const std::size_t strips_at_once = std::min(strips.count(), l2_size / 3 / packed_strip(tallest, k_block));

  // Where one piece were the whole block, the first strip alone would read B from memory, and wait.
  const bool b_in_pieces = p.m <= p.n && strips_at_once == strips.count();
  const auto columns_in = [&](std::size_t size) { return std::max(panel, size / k_block / panel * panel); };
  const std::size_t n_block = b_in_pieces && k_block == p.k ? p.n : block_length(p.n, columns_in(l2_size / 2), panel);
  const std::size_t n_piece = b_in_pieces ? std::min(n_block, columns_in(l1_size)) : n_block;
  const bool pack_a =
      transpose_a && n_block / panel >= (rows_apart_by(4096) ? panels_to_pack_a_of_one_set : panels_to_pack_a);
  const std::size_t b_size = transpose_b || strip_packs_b ? round_up(n_piece, lanes) * packed_rows(k_block) : 0;
  const std::size_t a_size = pack_a ? strips_at_once * packed_strip(tallest, k_block) : 0;
  const bool relu_at_once = p.relu && k_block == p.k;  // else the sums leave the registers before they are complete
  Real* const b_copy = memory(b_size + a_size);
  Real* const a_copy = b_copy + b_size;
  const auto part_of_b = [&](const Piece& x) { return p.b + (transpose_b ? x.j * p.ldb + x.l : x.l * p.ldb + x.j); };
  const Pieces pieces(p.n, p.k, n_block, n_piece, k_block);
  for (Piece piece = pieces.first(), next; piece.n > 0; piece = next) {
    next = pieces.after(piece);
    Strip s{p, b_copy};
    s.n = piece.n;
    s.k = piece.k;
    s.a += transpose_a ? piece.l * p.lda : piece.l;
    s.b = part_of_b(piece);
    s.c += piece.j;
    if (piece.l > 0) s.beta = 1;
    s.relu = relu_at_once;
    s.bias = p.bias == nullptr || piece.l > 0 ? nullptr : p.bias + piece.j;
    const auto use_packed_b = [&] { s.b = b_copy, s.b_packed = true; };
    if (transpose_b) pack_panels(s.b, p.ldb, s.n, s.k, b_copy), use_packed_b();
    const Real* const block = s.a;
    const bool a_is_new = piece.j == piece.block;
    for (std::size_t i = 0; i < strips.count(); ++i) {
      const std::size_t height = strips.height(i);
      const bool pack = i < packing_strips;
      if (pack_a && i % strips_at_once == 0) {
        if (a_is_new)
          pack_strips(block + strips.begin(i), p.lda, strips, i, std::min(strips_at_once, strips.count() - i), s.k,
                      a_copy);
        s.a = a_copy;
      }
      if (pack_a) s.lda = height;
      s.ahead = {};
      if (!a_is_new && !pack) {
        s.ahead = part_ahead(part_of_b(next), transpose_b ? next.n : next.k, transpose_b ? next.k : next.n, p.ldb,
                             i - packing_strips, strips.count() - packing_strips);
      } else if (a_is_new && !pack_a && i + 1 < strips.count()) {
        const std::size_t below = strips.height(i + 1);
        // Of a row of a transposed A the line of the strip's last element: what stands before it is mostly in the line
        // that is read now.
        s.ahead = transpose_a ? part_ahead(s.a + height + below - 1, s.k, 1, p.lda)
                              : part_ahead(s.a + height * p.lda, below, s.k, p.lda);
      }
      (pack ? packing : strip_kernels[transpose_a][height - 1])(s);
      if (pack) use_packed_b();
      s.a += pack_a ? packed_strip(height, s.k) : transpose_a ? height : height * p.lda;
      s.c += height * p.ldc;
    }
  }
  for (std::size_t i = 0; p.relu && !relu_at_once && i < p.m; ++i) kernels::relu(p.c + i * p.ldc, p.c + i * p.ldc, p.n);
}

}  // namespace

const Caches& this_processors_caches() {
  static const Caches caches = [] {
    const auto known = [](int what) { return static_cast<std::size_t>(std::max(0L, sysconf(what))); };
    return Caches{known(_SC_LEVEL1_DCACHE_ASSOC), known(_SC_LEVEL1_DCACHE_SIZE), known(_SC_LEVEL2_CACHE_SIZE)};
  }();
  return caches;
}

void gemm(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, Real alpha, const Real* a,
          std::size_t lda, const Real* b, std::size_t ldb, Real beta, Real* c, std::size_t ldc, const Caches& caches) {
  if (k > 0 && alpha != 0)
    return multiply(transpose_a, transpose_b, {m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, caches);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j];
}

void linear(std::size_t rows, std::size_t out, std::size_t in, const Real* x, const Real* weight, const Real* bias,
            bool relu, Real* y) {
  multiply(false, true, {rows, out, in, 1, x, in, weight, in, 0, y, out, bias, relu}, this_processors_caches());
}

}  // namespace surd::kernels
