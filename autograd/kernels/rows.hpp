#pragma once

#include "autograd/tensor.hpp"

#include <cstddef>
#include <cstdint>

/// Row by row, on raw pointers: `rows` rows of `n` elements each. Forward beside backward.
namespace surd::kernels {

/// y = exp(x - c) / sum exp(x - c), with c = max x or, to show what happens without it, c = 0. y may be x.
void softmax_row(const Real* x, Real* y, std::size_t n, bool subtract_max);
/// dx = y * (dy - sum(dy * y)). dx may be dy.
void softmax_row_backward(const Real* y, const Real* dy, Real* dx, std::size_t n);

/// y = x - log sum exp x. y may be x.
void log_softmax_row(const Real* x, Real* y, std::size_t n);
/// dx = dy - exp(y) sum(dy)
void log_softmax_row_backward(const Real* y, const Real* dy, Real* dx, std::size_t n);

/// y = (x - mean) inverse_deviation * gain + bias, inverse_deviation = 1/sqrt(var + epsilon), with a mean and an
/// inverse deviation for each row. y may not be x; gain may be null for 1, bias for 0.
void layer_norm(const Real* x, const Real* gain, const Real* bias, Real epsilon, Real* y, Real* mean,
                Real* inverse_deviation, std::size_t rows, std::size_t n);
/// Adds to beta dx, where beta = 0 says that dx is uninitialised, and to dgain and dbias. Any of the three may be null,
/// and gain for 1.
void layer_norm_backward(const Real* dy, const Real* gain, const Real* x, const Real* mean,
                         const Real* inverse_deviation, Real beta, Real* dx, Real* dgain, Real* dbias, std::size_t rows,
                         std::size_t n);

/// y = x inverse_rms * gain, inverse_rms = 1/sqrt(mean(x^2) + epsilon); gain may be null for 1.
void rms_norm(const Real* x, const Real* gain, Real epsilon, Real* y, Real* inverse_rms, std::size_t rows,
              std::size_t n);
/// Adds to beta dx, as above, and to dgain. Either may be null, and gain for 1.
void rms_norm_backward(const Real* dy, const Real* gain, const Real* x, const Real* inverse_rms, Real beta, Real* dx,
                       Real* dgain, std::size_t rows, std::size_t n);

/// Cross-entropy of one row of logits against the smoothed target
/// q = (1 - smoothing) one_hot(target) + smoothing / n (Szegedy et al., arXiv 1512.00567, section 7), in nats.
/// Writes the logits' cotangent softmax(logits) - q to `gradient` unless that is null; it may be `logits`.
Real cross_entropy_row(const Real* logits, Real* gradient, std::size_t n, std::int32_t target, Real smoothing);

/// Turns each of `pairs` pairs of x by an angle given as (cos, sin), or back. y may be x.
void rotate_pairs(const Real* x, const Real* rotations, bool back, Real* y, std::size_t pairs);

}  // namespace surd::kernels
