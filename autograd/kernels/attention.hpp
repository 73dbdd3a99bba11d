#pragma once

#include "autograd/tensor.hpp"

#include <cstddef>

/// A head of attention whose scores, softmax and sums stay in registers and in the L1 cache, for the short sequences of
/// toy tasks. The op (autograd/ops/attention.cpp) says what is computed, and does longer ones by matrix products.
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

struct HeadSizes {
  std::size_t queries, keys, key_width, value_width;
  Real factor;   ///< on the scores
  Real cap = 0;  ///< of the scores, see soft_cap; 0: none

  std::size_t row() const { return row_of_scores(keys); }
};

/// Whether the functions below take a head of these sizes.
bool is_short_head(const HeadSizes& sizes);
/// Queries, and keys, of the longest head that they take.
std::size_t longest_short_head();

/// P = softmax(S), S = factor Q K^T + bias or the soft cap of that, over the first visible[t] keys of query t, 0
/// beyond. The bias of query t and key j is bias[queries - 1 - t + j]; null for none. `scores`, as large as P and not
/// P, gets S unless it is null, with copies of the last key beyond the keys.
void short_head_weights(const HeadSizes& sizes, Rows q, Rows k, const Real* bias, const std::size_t* visible,
                        bool subtract_max, Real* scores, Real* weights);

/// O = dropout(P) V, where a minus sign marks what is dropped (mark_dropped); where keep_scale is 1, nothing is.
void short_head_output(const HeadSizes& sizes, const Real* marked_weights, Real keep_scale, Rows v, MutableRows o);

/// The gradients of the two, from that of O; what is null is left out. Those of K and V are added where other heads
/// share them. `d_scores`, as large as P and neither it nor `scores`, gets the gradient of the scores before their
/// cap. `scores` is what short_head_weights gave, and is not read where there is no cap.
struct HeadGradients {
  MutableRows q, k, v;
  bool add_to_keys;
};
void short_head_backward(const HeadSizes& sizes, Rows q, Rows k, Rows v, const Real* scores, const Real* marked_weights,
                         Real keep_scale, Rows d_o, Real* d_scores, const HeadGradients& gradients);

}  // namespace surd::kernels
