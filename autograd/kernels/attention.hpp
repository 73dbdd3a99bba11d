#pragma once

#include "autograd/tensor.hpp"

#include <cstddef>

/// What attention consists of: a softmax over what each query sees; and for heads of few queries and keys, as toy tasks
/// have them, products whose sums stay in registers. autograd/ops/attention_head.hpp puts them together.
namespace surd::kernels {

/// Row i begins at data + i stride.
struct Rows {
  const Real* data;
  std::size_t stride;
};
struct MutableRows {
  Real* data;
  std::size_t stride;
};

/// Elements from one row of scores to the next: rows are padded, so that no register is filled in part.
inline std::size_t row_of_scores(std::size_t keys) { return (keys + 15) / 16 * 16; }

/// Heads that stand side by side, each with keys and values of its own: columns h width, h width + 1, ... of Q, K, V
/// and O are of head h, and its scores begin at h scores().
struct HeadSizes {
  std::size_t queries, keys, key_width, value_width, heads = 1;

  std::size_t row() const { return row_of_scores(keys); }
  std::size_t scores() const { return queries * row(); }  ///< elements of one head's; those of the next follow
};

/// Whether short_heads_by_keys() and short_heads_by_scores() take these heads, all at once.
bool are_short_heads(const HeadSizes& sizes);
/// Queries, and keys, of the longest head that they take.
std::size_t longest_short_head();
/// How many heads of these sizes they take at once; 1 where they take none.
std::size_t heads_at_once(const HeadSizes& sizes);

/// scores = factor A B^T of each head, with A [queries, heads width], B [keys, heads width], where `width` is key_width
/// or value_width, and scores [heads, queries, row()]. Beyond the keys stand copies of the last one's.
void short_heads_by_keys(const HeadSizes& sizes, std::size_t width, Real factor, Rows a, Rows b, Real* scores);
/// to = factor A B + beta to of each head, with beta 0 or 1, A [queries, keys] or its transpose, out of
/// [heads, queries, row()], and `width` columns a head in B and `to`, which is neither A nor B.
void short_heads_by_scores(const HeadSizes& sizes, bool transpose_a, const Real* a, Rows b, std::size_t width,
                           Real factor, Real beta, MutableRows to);

/// softmax_row (kernels/rows.hpp) of x [rows, width] in place, over the first visible[r] elements of row r; the others
/// become 0. `width` is a multiple of 16, and what stands beyond the visible elements may be anything.
void softmax_prefixes(Real* x, const std::size_t* visible, std::size_t rows, std::size_t width, bool subtract_max);
/// dx = y * (dz - sum(dz * y)), row by row, in place of dy [rows, width], with dz = keep_scale dy or, where dropout
/// marked y with a minus sign, 0; y itself is meant without the sign. `width` is a multiple of 16.
void softmax_marked_backward(const Real* marked_y, Real keep_scale, Real* dy, std::size_t rows, std::size_t width);

}  // namespace surd::kernels
