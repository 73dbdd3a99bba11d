#include "autograd/ops/attention_head.hpp"

#include "autograd/blas.hpp"
#include "autograd/kernels/dropout.hpp"
#include "autograd/kernels/elementwise.hpp"

#include <algorithm>

namespace surd::attention_head {
namespace {

/// factor A B^T of each head.
void multiply_by_keys(const kernels::HeadSizes& s, std::size_t width, Real factor, kernels::Rows a, kernels::Rows b,
                      Real* scores) {
  if (kernels::are_short_heads(s)) return kernels::short_heads_by_keys(s, width, factor, a, b, scores);
  for (std::size_t h = 0; h < s.heads; ++h)
    blas::gemm(blas::no, blas::yes, s.queries, s.keys, width, factor, a.data + h * width, a.stride, b.data + h * width,
               b.stride, 0, scores + h * s.scores(), s.row());
}

/// to = factor A B + beta to of each head, with A [queries, keys] or its transpose.
void multiply_by_scores(const kernels::HeadSizes& s, bool transpose, const Real* a, kernels::Rows b, std::size_t width,
                        Real factor, Real beta, kernels::MutableRows to) {
  if (kernels::are_short_heads(s)) return kernels::short_heads_by_scores(s, transpose, a, b, width, factor, beta, to);
  for (std::size_t h = 0; h < s.heads; ++h)
    blas::gemm(transpose ? blas::yes : blas::no, blas::no, transpose ? s.keys : s.queries, width,
               transpose ? s.queries : s.keys, factor, a + h * s.scores(), s.row(), b.data + h * width, b.stride, beta,
               to.data + h * width, to.stride);
}

/// Weights after dropout: in `memory`, or themselves where nothing is marked.
const Real* kept_weights(const kernels::HeadSizes& s, const Real* marked_weights, Real keep_scale, Real* memory) {
  if (keep_scale == 1) return marked_weights;
  kernels::drop_marked(marked_weights, keep_scale, memory, s.heads * s.scores());
  return memory;
}

/// Calls f(head, query, where its row of scores begins).
template <class F>
void for_each_row(const kernels::HeadSizes& s, F f) {
  for (std::size_t h = 0, at = 0; h < s.heads; ++h)
    for (std::size_t t = 0; t < s.queries; ++t, at += s.row()) f(h, t, at);
}

}  // namespace

void weights(const kernels::HeadSizes& s, kernels::Rows q, kernels::Rows k, Real factor, kernels::Rows biases, Real cap,
             const std::size_t* visible, bool subtract_max, Real* scores, Real* weights) {
  multiply_by_keys(s, s.key_width, factor, q, k, weights);
  if (biases.data != nullptr)
    for_each_row(s, [&](std::size_t h, std::size_t t, std::size_t at) {
      kernels::accumulate(biases.data + h * biases.stride + (s.queries - 1 - t), weights + at, s.keys);
    });
  if (cap > 0)
    for_each_row(s, [&](std::size_t, std::size_t, std::size_t at) {
      kernels::soft_cap(cap, weights + at, weights + at, s.keys);
    });
  if (scores != nullptr) std::copy_n(weights, s.heads * s.scores(), scores);
  kernels::softmax_prefixes(weights, visible, s.heads * s.queries, s.row(), subtract_max);
}

void output(const kernels::HeadSizes& s, const Real* marked_weights, Real keep_scale, kernels::Rows v, Real* memory,
            kernels::MutableRows o) {
  multiply_by_scores(s, false, kept_weights(s, marked_weights, keep_scale, memory), v, s.value_width, 1, 0, o);
}

void backward(const kernels::HeadSizes& s, kernels::Rows q, kernels::Rows k, kernels::Rows v, Real factor, Real cap,
              const Real* scores, const Real* marked_weights, Real keep_scale, kernels::Rows d_o, Real* d_scores,
              const Gradients& to) {
  const Real beta = to.add_to_keys ? 1 : 0;
  if (to.v.data != nullptr)
    multiply_by_scores(s, true, kept_weights(s, marked_weights, keep_scale, d_scores), d_o, s.value_width, 1, beta,
                       to.v);
  multiply_by_keys(s, s.value_width, 1, d_o, v, d_scores);
  kernels::softmax_marked_backward(marked_weights, keep_scale, d_scores, s.heads * s.queries, s.row());
  if (cap > 0)
    for_each_row(s, [&](std::size_t, std::size_t, std::size_t at) {
      kernels::soft_cap_backward(cap, scores + at, d_scores + at, d_scores + at, s.keys);
    });
  if (to.q.data != nullptr) multiply_by_scores(s, false, d_scores, k, s.key_width, factor, 0, to.q);
  if (to.k.data != nullptr) multiply_by_scores(s, true, d_scores, q, s.key_width, factor, beta, to.k);
}

}  // namespace surd::attention_head
