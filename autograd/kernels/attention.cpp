#include "autograd/kernels/attention.hpp"

#include "autograd/kernels/dropout.hpp"
#include "autograd/kernels/simd.hpp"
#include "autograd/kernels/transpose.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace surd::kernels {
namespace {

constexpr std::size_t shortest = 16;                          // row of scores
constexpr std::size_t longest = lanes >= shortest ? 32 : 16;  // queries, and row of scores: two registers
constexpr std::size_t widest = 64;                            // columns of a head
constexpr std::size_t group = fold_size;                      // rows at a time: no sum waits for itself

/// Element [i][l] is data[i row + l column].
struct Matrix {
  const Real* data;
  std::size_t row, column;
};

/// A matrix of up to `width` registers a row, of which the last one is `last` elements long.
template <std::size_t width>
struct Panel {
  const Real* data;
  std::size_t stride;
  Part last;

  SURD_INLINE Batch load(std::size_t l, std::size_t r) const {
    const Real* from = data + l * stride + r * lanes;
    return r + 1 < width ? Batch::load_unaligned(from) : last.load(from);
  }
};

/// Row g of the group that begins at `first`; beyond the last of `rows` it is the last one again.
std::size_t row_of(std::size_t first, std::size_t g, std::size_t rows) { return std::min(first + g, rows - 1); }

/// sum[r][g] = sum over l < k of a[i][l] b[l][r], i = row_of(first, g, rows), for each register r of a row of b.
template <std::size_t width>
SURD_INLINE inline void sum_products(const Matrix& a, std::size_t first, std::size_t rows, std::size_t k,
                                     const Panel<width>& b, Batch (&sum)[width][group]) {
  const Real* row[group];
#pragma GCC unroll 4
  for (std::size_t g = 0; g < group; ++g) {
    row[g] = a.data + row_of(first, g, rows) * a.row;
#pragma GCC unroll 4
    for (std::size_t r = 0; r < width; ++r) sum[r][g] = Batch(Real(0));
  }
  for (std::size_t l = 0; l < k; ++l) {
    Batch y[width];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < width; ++r) y[r] = b.load(l, r);
#pragma GCC unroll 4
    for (std::size_t g = 0; g < group; ++g) {
      const Batch x(row[g][l * a.column]);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < width; ++r) sum[r][g] = xsimd::fma(x, y[r], sum[r][g]);
    }
  }
}

/// c[i] = factor sum over l < k of a[i][l] b[l], or c[i] plus that, in `width` registers of columns.
template <std::size_t width>
void multiply_panel(const Matrix& a, std::size_t rows, std::size_t k, const Panel<width>& b, Real factor, bool add,
                    MutableRows c) {
  for (std::size_t i = 0; i < rows; i += group) {
    Batch sum[width][group];
    sum_products(a, i, rows, k, b, sum);
#pragma GCC unroll 4
    for (std::size_t g = 0; g < group; ++g) {
      if (i + g >= rows) break;
      Real* to = c.data + (i + g) * c.stride;
#pragma GCC unroll 4
      for (std::size_t r = 0; r < width; ++r, to += lanes) {
        const bool is_last = r + 1 == width;
        Batch result = Batch(factor) * sum[r][g];
        if (add) result += is_last ? b.last.load(to) : Batch::load_unaligned(to);
        if (is_last)
          b.last.store(result, to);
        else
          result.store_unaligned(to);
      }
    }
  }
}

/// c = factor a b, or c plus that, with a [rows, k] and b [k, columns].
void multiply(const Matrix& a, std::size_t rows, std::size_t columns, std::size_t k, Rows b, Real factor, bool add,
              MutableRows c) {
  for (std::size_t j = 0; j < columns; j += 2 * lanes) {
    const std::size_t rest = columns - j;
    const MutableRows to{c.data + j, c.stride};
    if (rest > lanes)
      multiply_panel<2>(a, rows, k, {b.data + j, b.stride, Part(std::min(lanes, rest - lanes))}, factor, add, to);
    else
      multiply_panel<1>(a, rows, k, {b.data + j, b.stride, Part(rest)}, factor, add, to);
  }
}

template <std::size_t width>
void weights_of(const HeadSizes& s, Rows q, Rows k, const Real* bias, const std::size_t* visible, bool subtract_max,
                Real* scores, Real* weights) {
  constexpr std::size_t row = width * lanes;
  alignas(64) Real turned[widest * longest];
  transpose_panel(k.data, k.stride, s.keys, s.key_width, turned, row);
  const Panel<width> columns{turned, row, Part(lanes)};
  const Batch hidden(-std::numeric_limits<Real>::infinity());
  for (std::size_t t = 0; t < s.queries; t += group) {
    Batch x[width][group];
    sum_products({q.data, q.stride, 1}, t, s.queries, s.key_width, columns, x);
    const auto query = [&](auto g) SURD_INLINE { return row_of(t, g, s.queries); };
    const auto each = [&](auto f) SURD_INLINE {
      unroll<width>([&](auto r) SURD_INLINE { unroll<group>([&](auto g) SURD_INLINE { f(g, r, x[r][g]); }); });
    };
    each([&](auto, auto, Batch& score) SURD_INLINE { score *= Batch(s.factor); });
    if (bias != nullptr)
      each([&](auto g, auto r, Batch& score) SURD_INLINE {
        const std::size_t left = s.keys - std::min(s.keys, r * lanes);
        score += load_part(bias + (s.queries - 1 - query(g)) + r * lanes, std::min(lanes, left));
      });
    if (s.cap > 0) each([&](auto, auto, Batch& score) SURD_INLINE { score = soft_cap(score, Batch(s.cap)); });
    if (scores != nullptr)
      each([&](auto g, auto r, Batch& score)
               SURD_INLINE { score.store_unaligned(scores + query(g) * row + r * lanes); });
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
      (sees_none ? Batch(Real(0)) : weight * Batch(inverse[g])).store_unaligned(weights + query(g) * row + r * lanes);
    });
  }
}

/// ds = P * (dz - rowsum(dz * P)), dz = keep_scale d_o V^T or, where P is marked as dropped, 0; times the derivative of
/// the cap. kept = dropout(P).
template <std::size_t width>
void gradient_of_scores(const HeadSizes& s, Rows v, const Real* scores, const Real* marked_weights, Real keep_scale,
                        Rows d_o, Real* ds, Real* kept) {
  constexpr std::size_t row = width * lanes;
  alignas(64) Real turned[widest * longest];
  transpose_panel(v.data, v.stride, s.keys, s.value_width, turned, row);
  const Panel<width> columns{turned, row, Part(lanes)};
  const Batch zero(Real(0)), scale(keep_scale);
  for (std::size_t t = 0; t < s.queries; t += group) {
    Batch dz[width][group];
    sum_products({d_o.data, d_o.stride, 1}, t, s.queries, s.value_width, columns, dz);
    std::size_t first_of[group];
    unroll<group>([&](auto g) SURD_INLINE { first_of[g] = row_of(t, g, s.queries) * row; });
    const auto place = [&](auto g, auto r) SURD_INLINE { return first_of[g] + r * lanes; };
    Batch total[group];
    Real inner[group];
    unroll<width>([&](auto r) SURD_INLINE {
      unroll<group>([&](auto g) SURD_INLINE {
        const Batch y = Batch::load_unaligned(marked_weights + place(g, r));
        dz[r][g] = xsimd::select(y > zero, scale * dz[r][g], zero);
        total[g] = r == 0 ? y * dz[r][g] : xsimd::fma(y, dz[r][g], total[g]);
        xsimd::select(y < zero, zero, scale * y).store_unaligned(kept + place(g, r));
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
  }
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
  alignas(64) Real kept[longest * longest];
  drop_marked(marked_weights, keep_scale, kept, s.queries * s.row());
  multiply({kept, s.row(), 1}, s.queries, s.value_width, s.keys, v, 1, false, o);
}

void short_head_backward(const HeadSizes& s, Rows q, Rows k, Rows v, const Real* scores, const Real* marked_weights,
                         Real keep_scale, Rows d_o, Real* d_scores, const HeadGradients& to) {
  alignas(64) Real kept[longest * longest];
  by_width(s.row(), [&](auto width) {
    gradient_of_scores<width.value>(s, v, scores, marked_weights, keep_scale, d_o, d_scores, kept);
  });
  if (to.v.data != nullptr)
    multiply({kept, 1, s.row()}, s.keys, s.value_width, s.queries, d_o, 1, to.add_to_keys, to.v);
  if (to.q.data != nullptr) multiply({d_scores, s.row(), 1}, s.queries, s.key_width, s.keys, k, s.factor, false, to.q);
  if (to.k.data != nullptr)
    multiply({d_scores, 1, s.row()}, s.keys, s.key_width, s.queries, q, s.factor, to.add_to_keys, to.k);
}

}  // namespace surd::kernels
