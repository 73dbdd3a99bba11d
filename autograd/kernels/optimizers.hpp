#pragma once

#include "autograd/tensor.hpp"

#include <cstddef>

/// One update of `n` parameters x from their gradient g, on raw pointers. `scale` multiplies the gradient first (global
/// norm clipping); `decay` adds decay x to it (L2) unless said otherwise.
namespace surd::kernels {

/// velocity = momentum velocity + g; x -= rate velocity, or, with Nesterov, x -= rate (g + momentum velocity).
/// velocity may be null where momentum is 0.
void sgd(const Real* g, Real scale, Real rate, Real momentum, bool nesterov, Real decay, Real* x, Real* velocity,
         std::size_t n);

struct AdamStep {
  Real rate;  ///< learning rate / (1 - beta1^t)
  Real beta1, beta2;
  Real inv_sqrt_correction;  ///< 1 / sqrt(1 - beta2^t)
  Real epsilon;
  Real decay;   ///< L2, added to the gradient
  Real shrink;  ///< x is multiplied by this first (decoupled weight decay); 1 for none
};

/// first = beta1 first + (1 - beta1) g; second = beta2 second + (1 - beta2) g^2;
/// x = shrink x - rate first / (sqrt(second) inv_sqrt_correction + epsilon). Kingma & Ba, arXiv 1412.6980, with the
/// bias corrections where PyTorch has them.
void adam(const Real* g, Real scale, const AdamStep& step, Real* x, Real* first, Real* second, std::size_t n);

}  // namespace surd::kernels
