#include "autograd/kernels/attention.hpp"

#include "autograd/kernels/dropout.hpp"
#include "autograd/kernels/product.hpp"
#include "autograd/kernels/simd.hpp"
#include "autograd/kernels/transpose.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

namespace surd::kernels {
namespace {

constexpr std::size_t shortest = 16;                          // row of scores
constexpr std::size_t longest = lanes >= shortest ? 32 : 16;  // queries, and row of scores: two registers
constexpr std::size_t widest = 64;                            // columns of a head

/// Rows of a softmax at a time: each of its steps waits for the one before, but not for those of other rows.
constexpr std::size_t group_size = many_registers ? 2 * fold_size : fold_size;

/// Row g of the group that begins at `first`; beyond the last of `rows` it is the last one again.
std::size_t row_of(std::size_t first, std::size_t g, std::size_t rows) { return std::min(first + g, rows - 1); }

/// Calls f(first, size) for groups of rows (row_of); size is a constant.
template <class F>
SURD_INLINE inline void by_groups(std::size_t rows, F f) {
  std::size_t first = 0;
  for (; first + fold_size < rows; first += group_size) f(first, std::integral_constant<std::size_t, group_size>());
  if (first < rows) f(first, std::integral_constant<std::size_t, fold_size>());
}

// The inner axis of a head's products is so short that what gemm.cpp does before and after its sums takes as long as
// these. There is neither bias nor relu here, and beta is 0 or 1.

/// A tile of C, of `rows` rows of `width` registers, of which the last has but `last` columns. It begins at `c`, its
/// rows of A at `a`, its columns of B at `b`.
template <bool transpose_a, std::size_t width, std::size_t rows>
void multiply_tile(const Product& p, const Real* a, const Real* b, std::size_t last, Real* c) {
  const Part part(last);
  Batch sum[rows][width];
  unroll<rows>([&](auto i) SURD_INLINE { unroll<width>([&](auto r) SURD_INLINE { sum[i][r] = Batch(Real(0)); }); });
  const std::size_t k = p.k, lda = p.lda, ldb = p.ldb, ldc = p.ldc;
  for (std::size_t l = 0; l < k; ++l, a += transpose_a ? lda : 1, b += ldb) {
    Batch y[width];
    unroll<width>([&](auto r) SURD_INLINE {
      y[r] = r + 1 < width ? Batch::load_unaligned(b + r * lanes) : part.load(b + r * lanes);
    });
    unroll<rows>([&](auto i) SURD_INLINE {
      const Batch x(a[transpose_a ? i : i * lda]);
      unroll<width>([&](auto r) SURD_INLINE { sum[i][r] = xsimd::fma(x, y[r], sum[i][r]); });
    });
  }
  const Batch alpha(p.alpha);
  const auto store = [&](auto result) SURD_INLINE {
    unroll<rows>([&](auto i) SURD_INLINE {
      unroll<width>([&](auto r) SURD_INLINE {
        Real* const to = c + i * ldc + r * lanes;
        if (r + 1 < width)
          result(sum[i][r], [&] { return Batch::load_unaligned(to); }).store_unaligned(to);
        else
          part.store(result(sum[i][r], [&] { return part.load(to); }), to);
      });
    });
  };
  if (p.beta != 0)
    store([&](Batch x, auto old) SURD_INLINE { return xsimd::fma(alpha, x, old()); });
  else
    store([&](Batch x, auto) SURD_INLINE { return alpha * x; });
}

/// How many rows of sums stay in registers; of one register a row, more are not faster.
constexpr std::size_t tallest_tile(std::size_t width) {
  return width == 1 ? (many_registers ? 16 : 12) : (many_registers ? 13 : 6);
}

using Tile = void (*)(const Product&, const Real*, const Real*, std::size_t, Real*);

template <bool transpose_a, std::size_t width, std::size_t... i>
constexpr std::array<Tile, sizeof...(i)> tiles_by_rows(std::index_sequence<i...>) {
  return {multiply_tile<transpose_a, width, i + 1>...};
}

/// Element i has i + 1 rows.
template <bool transpose_a, std::size_t width>
constexpr auto tiles = tiles_by_rows<transpose_a, width>(std::make_index_sequence<tallest_tile(width)>());

/// Columns j, j + 1, ... of C, in `width` registers and tiles about equally high.
template <bool transpose_a, std::size_t width>
SURD_INLINE inline void multiply_columns(const Product& p, std::size_t j, std::size_t last) {
  constexpr std::size_t tallest = tallest_tile(width);
  const std::size_t parts = (p.m + tallest - 1) / tallest;
  const std::size_t height = parts <= 1 ? p.m : (p.m + parts - 1) / parts;
  for (std::size_t i = 0; i < p.m; i += height) {
    const std::size_t rows = std::min(height, p.m - i);
    tiles<transpose_a, width>[rows - 1](p, p.a + (transpose_a ? i : i * p.lda), p.b + j, last, p.c + i * p.ldc + j);
  }
}

/// The product, of which A is given as its transpose or as it is.
template <bool transpose_a>
void multiply(const Product& p) {
  for (std::size_t j = 0; j < p.n; j += 2 * lanes) {
    const std::size_t rest = p.n - j;
    if (rest > lanes)
      multiply_columns<transpose_a, 2>(p, j, std::min(lanes, rest - lanes));
    else
      multiply_columns<transpose_a, 1>(p, j, rest);
  }
}

/// scores = factor A B^T, with A [queries, width] and B [keys, width]; columns beyond the keys repeat the last one.
void multiply_by_keys(const HeadSizes& s, std::size_t width, Real factor, Rows a, Rows b, Real* scores) {
  alignas(64) Real turned[widest * longest];
  transpose_panel(b.data, b.stride, s.keys, width, turned, s.row());
  multiply<false>({s.queries, s.row(), width, factor, a.data, a.stride, turned, s.row(), 0, scores, s.row()});
}

template <std::size_t width>
void weights_of(const HeadSizes& s, Rows q, Rows k, const Real* bias, const std::size_t* visible, bool subtract_max,
                Real* scores, Real* weights) {
  constexpr std::size_t row = width * lanes;
  multiply_by_keys(s, s.key_width, s.factor, q, k, weights);
  const Batch hidden(-std::numeric_limits<Real>::infinity());
  by_groups(s.queries, [&](std::size_t t, auto size) SURD_INLINE {
    constexpr std::size_t group = decltype(size)::value;
    Batch x[width][group];
    const auto query = [&](auto g) SURD_INLINE { return row_of(t, g, s.queries); };
    const auto place = [&](auto g, auto r) SURD_INLINE { return query(g) * row + r * lanes; };
    const auto each = [&](auto f) SURD_INLINE {
      unroll<width>([&](auto r) SURD_INLINE { unroll<group>([&](auto g) SURD_INLINE { f(g, r, x[r][g]); }); });
    };
    each([&](auto g, auto r, Batch& score) SURD_INLINE { score = Batch::load_unaligned(weights + place(g, r)); });
    if (bias != nullptr)
      each([&](auto g, auto r, Batch& score) SURD_INLINE {
        const std::size_t left = s.keys - std::min(s.keys, r * lanes);
        score += load_part(bias + (s.queries - 1 - query(g)) + r * lanes, std::min(lanes, left));
      });
    if (s.cap > 0) each([&](auto, auto, Batch& score) SURD_INLINE { score = soft_cap(score, Batch(s.cap)); });
    if (scores != nullptr)
      each([&](auto g, auto r, Batch& score) SURD_INLINE { score.store_unaligned(scores + place(g, r)); });
    each([&](auto g, auto r, Batch& score) SURD_INLINE {
      const Batch key = lane_index() + Batch(static_cast<Real>(r * lanes));
      score = xsimd::select(key < Batch(static_cast<Real>(visible[query(g)])), score, hidden);
    });
    if (subtract_max) {
      Batch largest[group];
      Real shift[group];
      unroll<group>([&](auto g) SURD_INLINE {
        largest[g] = x[0][g];
        unroll<width>([&](auto r) SURD_INLINE { largest[g] = xsimd::max(largest[g], x[r][g]); });
      });
      maxima(largest, shift);
      each([&](auto g, auto, Batch& score) SURD_INLINE { score -= Batch(shift[g]); });
    }
    Batch total[group];
    Real denominator[group];
    unroll<width>([&](auto r) SURD_INLINE {
      exp(x[r]);
      unroll<group>([&](auto g) SURD_INLINE { total[g] = r == 0 ? x[r][g] : total[g] + x[r][g]; });
    });
    sums(total, denominator);
    Real inverse[group];
    for (std::size_t g = 0; g < group; ++g) inverse[g] = 1 / denominator[g];
    each([&](auto g, auto r, Batch& weight) SURD_INLINE {
      const bool sees_none = visible[query(g)] == 0;
      (sees_none ? Batch(Real(0)) : weight * Batch(inverse[g])).store_unaligned(weights + place(g, r));
    });
  });
}

/// ds = P * (dz - rowsum(dz * P)), dz = keep_scale d_o V^T or, where P is marked as dropped, 0; times the derivative of
/// the cap.
template <std::size_t width>
void gradient_of_scores(const HeadSizes& s, Rows v, const Real* scores, const Real* marked_weights, Real keep_scale,
                        Rows d_o, Real* ds) {
  constexpr std::size_t row = width * lanes;
  multiply_by_keys(s, s.value_width, keep_scale, d_o, v, ds);
  const Batch zero(Real(0));
  by_groups(s.queries, [&](std::size_t t, auto size) SURD_INLINE {
    constexpr std::size_t group = decltype(size)::value;
    const auto place = [&](auto g, auto r) SURD_INLINE { return row_of(t, g, s.queries) * row + r * lanes; };
    Batch dz[width][group], total[group];
    Real inner[group];
    unroll<width>([&](auto r) SURD_INLINE {
      unroll<group>([&](auto g) SURD_INLINE {
        const Batch y = Batch::load_unaligned(marked_weights + place(g, r));
        dz[r][g] = xsimd::select(y > zero, Batch::load_unaligned(ds + place(g, r)), zero);
        total[g] = r == 0 ? y * dz[r][g] : xsimd::fma(y, dz[r][g], total[g]);
      });
    });
    sums(total, inner);
    unroll<width>([&](auto r) SURD_INLINE {
      unroll<group>([&](auto g) SURD_INLINE {
        const Batch y = xsimd::abs(Batch::load_unaligned(marked_weights + place(g, r)));
        Batch gradient = y * (dz[r][g] - Batch(inner[g]));
        if (s.cap > 0) gradient *= soft_cap_gradient(Batch::load_unaligned(scores + place(g, r)), Batch(s.cap));
        gradient.store_unaligned(ds + place(g, r));
      });
    });
  });
}

/// Calls f with the number of registers of a row of scores, as a type.
template <class F>
void by_width(std::size_t row, F f) {
  if (row == shortest) return f(std::integral_constant<std::size_t, shortest / lanes>());
  f(std::integral_constant<std::size_t, longest / lanes>());
}

}  // namespace

bool is_short_head(const HeadSizes& s) {
  return s.queries <= longest && (s.row() == shortest || s.row() == longest) &&
         std::max(s.key_width, s.value_width) <= widest;
}

std::size_t longest_short_head() { return longest; }

void short_head_weights(const HeadSizes& sizes, Rows q, Rows k, const Real* bias, const std::size_t* visible,
                        bool subtract_max, Real* scores, Real* weights) {
  by_width(sizes.row(),
           [&](auto width) { weights_of<width.value>(sizes, q, k, bias, visible, subtract_max, scores, weights); });
}

void short_head_output(const HeadSizes& s, const Real* marked_weights, Real keep_scale, Rows v, MutableRows o) {
  alignas(64) Real memory[longest * longest];
  const Real* const kept = kept_of_marked(marked_weights, keep_scale, memory, s.queries * s.row());
  multiply<false>({s.queries, s.value_width, s.keys, 1, kept, s.row(), v.data, v.stride, 0, o.data, o.stride});
}

void short_head_backward(const HeadSizes& s, Rows q, Rows k, Rows v, const Real* scores, const Real* marked_weights,
                         Real keep_scale, Rows d_o, Real* ds, const HeadGradients& to) {
  by_width(s.row(),
           [&](auto width) { gradient_of_scores<width.value>(s, v, scores, marked_weights, keep_scale, d_o, ds); });
  const std::size_t row = s.row();
  const Real beta = to.add_to_keys ? 1 : 0;
  if (to.v.data != nullptr) {
    alignas(64) Real memory[longest * longest];
    const Real* const kept = kept_of_marked(marked_weights, keep_scale, memory, s.queries * s.row());
    multiply<true>(
        {s.keys, s.value_width, s.queries, 1, kept, row, d_o.data, d_o.stride, beta, to.v.data, to.v.stride});
  }
  if (to.q.data != nullptr)
    multiply<false>({s.queries, s.key_width, s.keys, s.factor, ds, row, k.data, k.stride, 0, to.q.data, to.q.stride});
  if (to.k.data != nullptr)
    multiply<true>({s.keys, s.key_width, s.queries, s.factor, ds, row, q.data, q.stride, beta, to.k.data, to.k.stride});
}

}  // namespace surd::kernels
