#pragma once

#include "autograd/kernels/attention.hpp"

/// Heads of attention on what one document of a batch row sees; ops/attention.cpp says what is computed. Products of
/// short heads have kernels of their own (kernels/attention.hpp), the others are those of blas::gemm.
///
/// Q is [queries, heads key_width], K [keys, heads key_width], V [keys, heads value_width], O [queries, heads
/// value_width]; P, the scores and their gradient are [heads, queries, row()], and what stands in the scores beyond the
/// keys is nobody's. `factor` is the one on the scores, `cap` that of soft_cap, 0 for none.
namespace surd::attention_head {

/// P = softmax(S), S = factor Q K^T + bias or the soft cap of that, over the first visible[h][t] keys of query t of
/// head h, 0 beyond. The bias of query t and key j is element queries - 1 - t + j of row h of `biases`; null for none.
/// `scores`, as large as P and not P, gets S unless it is null.
void weights(const kernels::HeadSizes& sizes, kernels::Rows q, kernels::Rows k, Real factor, kernels::Rows biases,
             Real cap, const std::size_t* visible, bool subtract_max, Real* scores, Real* weights);

/// O = dropout(P) V, where a minus sign marks what is dropped (mark_dropped); where keep_scale is 1, nothing is, and
/// `memory`, otherwise as large as P, is not used.
void output(const kernels::HeadSizes& sizes, const Real* marked_weights, Real keep_scale, kernels::Rows v, Real* memory,
            kernels::MutableRows o);

struct Gradients {
  kernels::MutableRows q, k, v;  ///< what is null is left out
  bool add_to_keys;              ///< those of K and V are added to what is there: other heads share them
};
/// Backward of weights() and output(), from the gradient of O. `d_scores`, as large as P and neither it nor `scores`,
/// gets the gradient of the scores before their cap. `scores` is what weights() gave, and is not read where there is no
/// cap.
void backward(const kernels::HeadSizes& sizes, kernels::Rows q, kernels::Rows k, kernels::Rows v, Real factor, Real cap,
              const Real* scores, const Real* marked_weights, Real keep_scale, kernels::Rows d_o, Real* d_scores,
              const Gradients& to);

}  // namespace surd::attention_head
