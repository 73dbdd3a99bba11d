#include "autograd/ops/attention_head.hpp"

#include "autograd/blas.hpp"
#include "autograd/kernels/dropout.hpp"
#include "autograd/kernels/elementwise.hpp"
#include "autograd/kernels/rows.hpp"

#include <algorithm>

namespace surd::attention_head {
namespace {

using blas::no;
using blas::yes;

/// Memory for kept_of_marked().
Tensor memory_for_kept(const kernels::HeadSizes& s, Real keep_scale) {
  return Tensor(Shape{keep_scale == 1 ? 0 : s.queries * s.row()});
}

}  // namespace

void weights(const kernels::HeadSizes& s, kernels::Rows q, kernels::Rows k, const Real* bias,
             const std::size_t* visible, bool subtract_max, Real* scores, Real* weights) {
  if (kernels::is_short_head(s))
    return kernels::short_head_weights(s, q, k, bias, visible, subtract_max, scores, weights);
  blas::gemm(no, yes, s.queries, s.keys, s.key_width, s.factor, q.data, q.stride, k.data, k.stride, 0, weights,
             s.row());
  for (std::size_t t = 0; bias != nullptr && t < s.queries; ++t)
    kernels::accumulate(bias + (s.queries - 1 - t), weights + t * s.row(), s.keys);
  for (std::size_t t = 0; s.cap > 0 && t < s.queries; ++t)
    kernels::soft_cap(s.cap, weights + t * s.row(), weights + t * s.row(), s.keys);
  if (scores != nullptr) std::copy_n(weights, s.queries * s.row(), scores);
  kernels::softmax_prefixes(weights, visible, s.queries, s.row(), subtract_max);
}

void output(const kernels::HeadSizes& s, const Real* marked_weights, Real keep_scale, kernels::Rows v,
            kernels::MutableRows o) {
  if (kernels::is_short_head(s)) return kernels::short_head_output(s, marked_weights, keep_scale, v, o);
  Tensor memory = memory_for_kept(s, keep_scale);
  const Real* const kept = kernels::kept_of_marked(marked_weights, keep_scale, memory.data(), s.queries * s.row());
  blas::gemm(no, no, s.queries, s.value_width, s.keys, 1, kept, s.row(), v.data, v.stride, 0, o.data, o.stride);
}

void backward(const kernels::HeadSizes& s, kernels::Rows q, kernels::Rows k, kernels::Rows v, const Real* scores,
              const Real* marked_weights, Real keep_scale, kernels::Rows d_o, Real* d_scores,
              const kernels::HeadGradients& to) {
  if (kernels::is_short_head(s))
    return kernels::short_head_backward(s, q, k, v, scores, marked_weights, keep_scale, d_o, d_scores, to);
  const Real beta = to.add_to_keys ? 1 : 0;
  if (to.v.data != nullptr) {
    Tensor memory = memory_for_kept(s, keep_scale);
    const Real* const kept = kernels::kept_of_marked(marked_weights, keep_scale, memory.data(), s.queries * s.row());
    blas::gemm(yes, no, s.keys, s.value_width, s.queries, 1, kept, s.row(), d_o.data, d_o.stride, beta, to.v.data,
               to.v.stride);
  }
  blas::gemm(no, yes, s.queries, s.keys, s.value_width, 1, d_o.data, d_o.stride, v.data, v.stride, 0, d_scores,
             s.row());
  for (std::size_t t = 0; t < s.queries; ++t) {
    Real* const row = d_scores + t * s.row();
    kernels::softmax_marked_backward(marked_weights + t * s.row(), keep_scale, row, s.row());
    if (s.cap > 0) kernels::soft_cap_backward(s.cap, scores + t * s.row(), row, row, s.keys);
  }
  if (to.q.data != nullptr)
    blas::gemm(no, no, s.queries, s.key_width, s.keys, s.factor, d_scores, s.row(), k.data, k.stride, 0, to.q.data,
               to.q.stride);
  if (to.k.data != nullptr)
    blas::gemm(yes, no, s.keys, s.key_width, s.queries, s.factor, d_scores, s.row(), q.data, q.stride, beta, to.k.data,
               to.k.stride);
}

}  // namespace surd::attention_head
