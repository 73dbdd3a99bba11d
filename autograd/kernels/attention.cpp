#include "autograd/kernels/attention.hpp"

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

constexpr std::size_t longest = lanes >= 16 ? 32 : 16;  // queries, and keys
constexpr std::size_t widest = 64;                      // columns of a head, or of several at once

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

}  // namespace

bool are_short_heads(const HeadSizes& s) {
  return s.queries <= longest && s.keys > 0 && s.keys <= longest &&
         s.heads * std::max(s.key_width, s.value_width) <= widest;
}

std::size_t longest_short_head() { return longest; }

std::size_t heads_at_once(const HeadSizes& s) {
  return are_short_heads(s) ? widest / std::max({s.key_width, s.value_width, std::size_t{1}}) : 1;
}

void short_heads_by_keys(const HeadSizes& s, std::size_t width, Real factor, Rows a, Rows b, Real* scores) {
  alignas(64) Real turned[widest * longest];
  transpose_panel(b.data, b.stride, s.keys, s.heads * width, turned, s.row());
  for (std::size_t h = 0; h < s.heads; ++h)
    multiply<false>({s.queries, s.row(), width, factor, a.data + h * width, a.stride, turned + h * width * s.row(),
                     s.row(), 0, scores + h * s.scores(), s.row()});
}

void short_heads_by_scores(const HeadSizes& s, bool transpose_a, const Real* a, Rows b, std::size_t width, Real factor,
                           Real beta, MutableRows to) {
  Product p{transpose_a ? s.keys : s.queries,
            width,
            transpose_a ? s.queries : s.keys,
            factor,
            a,
            s.row(),
            b.data,
            b.stride,
            beta,
            to.data,
            to.stride};
  for (std::size_t h = 0; h < s.heads; ++h, p.a += s.scores(), p.b += width, p.c += width)
    transpose_a ? multiply<true>(p) : multiply<false>(p);
}

namespace {

constexpr Real hidden = -std::numeric_limits<Real>::infinity();  // the score of a key that is not seen

/// Each pass of a softmax takes so many rows before the next pass begins, because a row waits for the end of each of
/// its passes, but not for other rows.
constexpr std::size_t short_rows_at_once = 64, long_rows_at_once = 8;

/// Within a pass over short rows, so many take each step by turns, for the same reason.
constexpr std::size_t group_size = many_registers ? 2 * fold_size : fold_size;

/// Calls f(row, size) for groups of rows: row(g) is the number of the group's row g, for g below the constant `size`;
/// beyond the last of `rows` it is the last one again.
template <class F>
SURD_INLINE inline void by_groups(std::size_t rows, F f) {
  std::size_t first = 0;
  for (; first + group_size <= rows; first += group_size)
    f([=](std::size_t g) SURD_INLINE { return first + g; }, std::integral_constant<std::size_t, group_size>());
  for (; first < rows; first += fold_size)
    f([=](std::size_t g) SURD_INLINE { return std::min(first + g, rows - 1); },
      std::integral_constant<std::size_t, fold_size>());
}

/// softmax_prefixes of rows of one or two registers, and up to short_rows_at_once.
template <std::size_t registers>
void softmax_short_prefixes(Real* x, const std::size_t* visible, std::size_t rows, bool subtract_max) {
  Real shift[short_rows_at_once] = {}, total[short_rows_at_once];
  const auto place = [=](std::size_t row, std::size_t r) { return x + (row * registers + r) * lanes; };
  const auto load = [=](std::size_t row, std::size_t r) SURD_INLINE {
    return load_part(place(row, r), std::min(lanes, visible[row] - std::min(visible[row], r * lanes)), hidden);
  };
  // Calls f(row, size, u) for groups of rows; u[r][g] is register r of the group's row g.
  const auto pass = [&](auto f) SURD_INLINE {
    by_groups(rows, [&](auto row, auto size) SURD_INLINE {
      constexpr std::size_t group = decltype(size)::value;
      Batch u[registers][group];
      unroll<registers>([&](auto r)
                            SURD_INLINE { unroll<group>([&](auto g) SURD_INLINE { u[r][g] = load(row(g), r); }); });
      f(row, size, u);
    });
  };
  if (subtract_max)
    pass([&](auto row, auto size, auto& u) SURD_INLINE {
      constexpr std::size_t group = decltype(size)::value;
      Real largest[group];
      unroll<registers>([&](auto r) SURD_INLINE {
        unroll<group>([&](auto g) SURD_INLINE { u[0][g] = xsimd::max(u[0][g], u[r][g]); });
      });
      maxima(u[0], largest);
      for (std::size_t g = 0; g < group; ++g) shift[row(g)] = largest[g];
    });
  pass([&](auto row, auto size, auto& u) SURD_INLINE {
    constexpr std::size_t group = decltype(size)::value;
    Batch sum[group];
    Real sum_of_row[group];
    unroll<registers>([&](auto r) SURD_INLINE {
      unroll<group>([&](auto g) SURD_INLINE { u[r][g] -= Batch(shift[row(g)]); });
      exp(u[r]);
      unroll<group>([&](auto g) SURD_INLINE { sum[g] = r == 0 ? u[r][g] : sum[g] + u[r][g]; });
      unroll<group>([&](auto g) SURD_INLINE { u[r][g].store_unaligned(place(row(g), r)); });
    });
    sums(sum, sum_of_row);
    for (std::size_t g = 0; g < group; ++g) total[row(g)] = sum_of_row[g];
  });
  for (std::size_t row = 0; row < rows; ++row) total[row] = 1 / total[row];
  for (std::size_t row = 0; row < rows; ++row)
    unroll<registers>([&](auto r) SURD_INLINE {
      const Batch e = Batch::load_unaligned(place(row, r));
      (visible[row] == 0 ? Batch(Real(0)) : e * Batch(total[row])).store_unaligned(place(row, r));
    });
}

/// softmax_prefixes of longer rows, and up to long_rows_at_once: the same passes over what is visible.
void softmax_long_prefixes(Real* x, const std::size_t* visible, std::size_t rows, std::size_t width,
                           bool subtract_max) {
  const auto load = [=](std::size_t r, std::size_t i) {
    const Real* const from = x + r * width + i;
    return i + lanes <= visible[r] ? Batch::load_unaligned(from) : load_part(from, visible[r] - i, hidden);
  };
  Real shift[long_rows_at_once] = {}, inverse[long_rows_at_once];
  for (std::size_t r = 0; subtract_max && r < rows; ++r) {
    Batch largest(hidden);
    for (std::size_t i = 0; i < visible[r]; i += lanes) largest = xsimd::max(largest, load(r, i));
    shift[r] = horizontal_max(largest);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    Batch total(Real(0));
    for (std::size_t i = 0; i < visible[r]; i += lanes) {
      const Batch u = load(r, i) - Batch(shift[r]);
      const Batch e = exp(u);
      e.store_unaligned(x + r * width + i);
      total += e;
    }
    inverse[r] = 1 / xsimd::hadd(total);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    Real* row = x + r * width;
    std::size_t i = 0;
    for (; i < visible[r]; i += lanes) (Batch::load_unaligned(row + i) * Batch(inverse[r])).store_unaligned(row + i);
    for (; i < width; i += lanes) Batch(Real(0)).store_unaligned(row + i);
  }
}

/// dz of softmax_marked_backward().
SURD_INLINE inline Batch kept_gradient(Batch marked_y, Batch dy, Real keep_scale) {
  const Batch zero(Real(0));
  return xsimd::select(marked_y > zero, Batch(keep_scale) * dy, zero);
}

/// softmax_marked_backward of rows of one or two registers.
template <std::size_t registers>
void softmax_marked_backward_of_short(const Real* marked_y, Real keep_scale, Real* dy, std::size_t rows) {
  by_groups(rows, [&](auto row, auto size) SURD_INLINE {
    constexpr std::size_t group = decltype(size)::value;
    const auto place = [=](auto g, auto r) SURD_INLINE { return (row(g) * registers + r) * lanes; };
    Batch dz[registers][group], total[group];
    Real inner[group];
    unroll<registers>([&](auto r) SURD_INLINE {
      unroll<group>([&](auto g) SURD_INLINE {
        const Batch y = Batch::load_unaligned(marked_y + place(g, r));
        dz[r][g] = kept_gradient(y, Batch::load_unaligned(dy + place(g, r)), keep_scale);
        total[g] = r == 0 ? y * dz[r][g] : fma(y, dz[r][g], total[g]);
      });
    });
    sums(total, inner);
    unroll<registers>([&](auto r) SURD_INLINE {
      unroll<group>([&](auto g) SURD_INLINE {
        const Batch y = xsimd::abs(Batch::load_unaligned(marked_y + place(g, r)));
        (y * (dz[r][g] - Batch(inner[g]))).store_unaligned(dy + place(g, r));
      });
    });
  });
}

/// softmax_marked_backward of one longer row.
void softmax_marked_backward_of_long(const Real* marked_y, Real keep_scale, Real* dy, std::size_t width) {
  const auto gradient = [=](Batch y, std::size_t i) {
    return kept_gradient(y, Batch::load_unaligned(dy + i), keep_scale);
  };
  Batch total(Real(0));
  for (std::size_t i = 0; i < width; i += lanes) {
    const Batch y = Batch::load_unaligned(marked_y + i);
    total = fma(y, gradient(y, i), total);
  }
  const Batch inner(xsimd::hadd(total));
  for (std::size_t i = 0; i < width; i += lanes) {
    const Batch y = Batch::load_unaligned(marked_y + i);
    (xsimd::abs(y) * (gradient(y, i) - inner)).store_unaligned(dy + i);
  }
}

}  // namespace

void softmax_prefixes(Real* x, const std::size_t* visible, std::size_t rows, std::size_t width, bool subtract_max) {
  const bool one = width == lanes, two = width == 2 * lanes;  // registers
  const std::size_t at_once = one || two ? short_rows_at_once : long_rows_at_once;
  for (std::size_t r = 0; r < rows; r += at_once) {
    const std::size_t count = std::min(at_once, rows - r);
    if (one)
      softmax_short_prefixes<1>(x + r * width, visible + r, count, subtract_max);
    else if (two)
      softmax_short_prefixes<2>(x + r * width, visible + r, count, subtract_max);
    else
      softmax_long_prefixes(x + r * width, visible + r, count, width, subtract_max);
  }
}

void softmax_marked_backward(const Real* marked_y, Real keep_scale, Real* dy, std::size_t rows, std::size_t width) {
  if (width == lanes) return softmax_marked_backward_of_short<1>(marked_y, keep_scale, dy, rows);
  if (width == 2 * lanes) return softmax_marked_backward_of_short<2>(marked_y, keep_scale, dy, rows);
  for (std::size_t r = 0; r < rows; ++r)
    softmax_marked_backward_of_long(marked_y + r * width, keep_scale, dy + r * width, width);
}

}  // namespace surd::kernels
