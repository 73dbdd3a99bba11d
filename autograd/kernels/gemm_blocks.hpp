#pragma once

#include "autograd/kernels/simd.hpp"

#include <algorithm>
#include <cstddef>

/// How a matrix product is cut; gemm.cpp begins with an overview.

namespace surd::kernels {

inline constexpr std::size_t cache_line = 64 / sizeof(Real);  // elements

inline std::size_t round_up(std::size_t x, std::size_t unit) { return (x + unit - 1) / unit * unit; }

/// How long blocks are if `whole` is cut into about equal ones of at most `longest`, a multiple of `unit`.
inline std::size_t block_length(std::size_t whole, std::size_t longest, std::size_t unit) {
  if (whole <= longest) return whole;
  const std::size_t parts = (whole + longest - 1) / longest;
  return round_up((whole + parts - 1) / parts, unit);
}

/// n columns of B from j on, of the block of columns that begins at `block`, and k of the inner axis from l on.
struct Piece {
  std::size_t block, j, n, l, k;
};

/// The pieces of B in the order in which they are multiplied: those of a block, one block of k after the other, and
/// then those of the next block of columns.
class Pieces {
 public:
  Pieces(std::size_t n, std::size_t k, std::size_t n_block, std::size_t n_piece, std::size_t k_block)
      : n_(n), k_(k), n_block_(n_block), n_piece_(n_piece), k_block_(k_block) {}

  Piece first() const { return at(0, 0, 0); }
  /// After the last one comes a piece without columns.
  Piece after(const Piece& x) const {
    const std::size_t end = end_of(x.block);
    if (x.j + x.n < end) return at(x.block, x.j + x.n, x.l);
    return x.l + x.k < k_ ? at(x.block, x.block, x.l + x.k) : at(end, end, 0);
  }

 private:
  std::size_t end_of(std::size_t block) const { return std::min(n_, block + n_block_); }
  Piece at(std::size_t block, std::size_t j, std::size_t l) const {
    return {block, j, std::min(n_piece_, end_of(block) - j), l, std::min(k_block_, k_ - l)};
  }

  std::size_t n_, k_, n_block_, n_piece_, k_block_;
};

/// The rows of C, cut into strips: one of `first_height` < m rows, if that is not 0, then some about equally high.
class Strips {
 public:
  Strips(std::size_t m, std::size_t first_height, std::size_t tallest)
      : first_height_(first_height),
        before_(first_height > 0 ? 1 : 0),
        equal_((m - first_height + tallest - 1) / tallest),
        rows_((m - first_height) / equal_),
        higher_((m - first_height) % equal_) {}

  std::size_t count() const { return before_ + equal_; }
  std::size_t height(std::size_t i) const {
    return i < before_ ? first_height_ : rows_ + (i - before_ < higher_ ? 1 : 0);
  }
  std::size_t begin(std::size_t i) const {
    return i < before_ ? 0 : first_height_ + (i - before_) * rows_ + std::min(i - before_, higher_);
  }

 private:
  std::size_t first_height_, before_, equal_, rows_, higher_;
};

/// Cache lines of a matrix, row by row, that are fetched while others are multiplied. In a training step a matrix is
/// often in no cache; a pair of lines with every few steps of the inner axis costs nothing, where more at once would
/// wait for each other.
struct Ahead {
  const Real* at = nullptr;       // the first line of the next pair
  const Real* row_end = nullptr;  // behind the last pair of its row
  std::size_t pairs = 0;          // that are left
  std::size_t second = 0;         // from the first line of a pair to the other
  std::size_t step = 0;           // from a pair to the next of its row
  std::ptrdiff_t gap = 0;         // from the end of a row's last pair to the next row, which may begin before it
  std::size_t stride = 0;         // from a row to the next

  SURD_INLINE void advance() {
    at += step;
    const bool row_ends = at >= row_end;  // no branch: it would be predicted wrong
    at += row_ends ? gap : 0;
    row_end += row_ends ? stride : 0;
    --pairs;
  }
};

/// Part 0, 1, ... of `parts` about equal parts of a matrix [rows, columns]; the last ones may be empty.
inline Ahead part_ahead(const Real* matrix, std::size_t rows, std::size_t columns, std::size_t stride,
                        std::size_t part = 0, std::size_t parts = 1) {
  if (rows == 0 || columns == 0) return {};
  if (columns == stride) columns *= rows, stride *= rows, rows = 1;  // nothing stands between the rows
  std::size_t second = cache_line;
  if (rows > 1 && columns <= cache_line) {  // one line each: two rows make a pair, and the matrix counts as one row
    second = stride;
    columns = rows * stride;
    rows = 1;
  }
  const std::size_t step = 2 * second, pairs_of_row = (columns + step - 1) / step, pairs = rows * pairs_of_row;
  const std::size_t longest = (pairs + parts - 1) / parts, begin = std::min(pairs, part * longest);
  const Real* const row = matrix + begin / pairs_of_row * stride;
  const Real* const row_end = row + pairs_of_row * step;
  const std::ptrdiff_t gap = row + stride - row_end;
  return {row + begin % pairs_of_row * step, row_end, std::min(longest, pairs - begin), second, step, gap, stride};
}

}  // namespace surd::kernels
