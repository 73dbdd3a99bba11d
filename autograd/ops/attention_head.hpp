#pragma once

#include "autograd/kernels/attention.hpp"

/// One head of attention on what one document of a batch row sees; ops/attention.cpp says what is computed. Short heads
/// are kernels::short_head_*, the others matrix products with row kernels between them; the parameters are the same.
namespace surd::attention_head {

void weights(const kernels::HeadSizes& sizes, kernels::Rows q, kernels::Rows k, const Real* bias,
             const std::size_t* visible, bool subtract_max, Real* scores, Real* weights);

void output(const kernels::HeadSizes& sizes, const Real* marked_weights, Real keep_scale, kernels::Rows v,
            kernels::MutableRows o);

void backward(const kernels::HeadSizes& sizes, kernels::Rows q, kernels::Rows k, kernels::Rows v, const Real* scores,
              const Real* marked_weights, Real keep_scale, kernels::Rows d_o, Real* d_scores,
              const kernels::HeadGradients& gradients);

}  // namespace surd::attention_head
