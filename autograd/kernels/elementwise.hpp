#pragma once

#include "autograd/tensor.hpp"

#include <cstddef>

/// Element by element, on raw pointers of `n` elements; y may be an input. Forward beside backward: `dy` is the
/// cotangent of the result, and a backward function writes the input's cotangent to `dx`.
namespace surd::kernels {

void accumulate(const Real* x, Real* y, std::size_t n);    ///< y += x
void axpy(Real a, const Real* x, Real* y, std::size_t n);  ///< y += a x
void add(const Real* a, const Real* b, Real* y, std::size_t n);
void subtract(const Real* a, const Real* b, Real* y, std::size_t n);
void multiply(const Real* a, const Real* b, Real* y, std::size_t n);
void divide(const Real* a, const Real* b, Real* y, std::size_t n);
void scale(Real a, const Real* x, Real* y, std::size_t n);  ///< y = a x
Real dot(const Real* a, const Real* b, std::size_t n);
Real sum(const Real* x, std::size_t n);
/// In Real where that is near enough, and infinite where Real overflows; in double where squares would vanish.
double sum_of_squares(const Real* x, std::size_t n);

/// y[r, j] = x[r, j] + bias[j]
void add_bias(const Real* x, const Real* bias, Real* y, std::size_t rows, std::size_t n);
/// dbias[j] += sum_r dy[r, j]
void sum_rows(const Real* dy, Real* dbias, std::size_t rows, std::size_t n);

void relu(const Real* x, Real* y, std::size_t n);
void relu_backward(const Real* y, const Real* dy, Real* dx, std::size_t n);  ///< takes the result y, not x
/// GELU(x) = x Phi(x), exact (Hendrycks & Gimpel, arXiv 1606.08415).
void gelu(const Real* x, Real* y, std::size_t n);
void gelu_backward(const Real* x, const Real* dy, Real* dx, std::size_t n);
/// GELU(x) ~ x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (the same, section 2), at most 5e-4 from it.
void gelu_tanh(const Real* x, Real* y, std::size_t n);
void gelu_tanh_backward(const Real* x, const Real* dy, Real* dx, std::size_t n);
void tanh(const Real* x, Real* y, std::size_t n);
void tanh_backward(const Real* y, const Real* dy, Real* dx, std::size_t n);
/// y = cap tanh(x / cap): x where it is small beside the cap, which it never exceeds (Gemma Team 2024, arXiv
/// 2408.00118, section 2, "logit soft-capping").
void soft_cap(Real cap, const Real* x, Real* y, std::size_t n);
void soft_cap_backward(Real cap, const Real* y, const Real* dy, Real* dx, std::size_t n);  ///< takes the result y
void sigmoid(const Real* x, Real* y, std::size_t n);
void sigmoid_backward(const Real* y, const Real* dy, Real* dx, std::size_t n);
/// SiLU(x) = x sigmoid(x) (Hendrycks & Gimpel, arXiv 1606.08415, section 2), also called swish.
void silu(const Real* x, Real* y, std::size_t n);
void silu_backward(const Real* x, const Real* dy, Real* dx, std::size_t n);
void exp(const Real* x, Real* y, std::size_t n);
void log(const Real* x, Real* y, std::size_t n);

}  // namespace surd::kernels
