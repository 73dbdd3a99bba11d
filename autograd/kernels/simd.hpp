#pragma once

#include "autograd/tensor.hpp"

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

/// Loops over raw pointers in SIMD registers. The last, incomplete register is filled with `padding`, so an element's
/// result does not depend on where in the array it stands.
namespace surd::kernels {

using Batch = xsimd::batch<Real>;
inline constexpr std::size_t lanes = Batch::size;

/// xsimd 8's exp is infinite from 2^127.5 (float) or 2^1023.5 (double) on, half an octave before the largest number;
/// this one is infinite where e^x is beyond it: x > 88.72 or 709.78.
inline Batch exp(Batch x) {
  const Batch infinity(std::numeric_limits<Real>::infinity());
  const Batch y = xsimd::exp(x);
  if (!xsimd::any(y == infinity)) return y;
  const Batch root = xsimd::exp(x * Batch(Real(0.5)));
  return xsimd::select(y == infinity, root * root, y);
}

/// The first `count` <= lanes elements at x; the rest is `padding`.
inline Batch load_part(const Real* x, std::size_t count, Real padding = 0) {
#if defined(__AVX512F__) && defined(SURD_DOUBLE)
  return _mm512_mask_loadu_pd(Batch(padding), static_cast<__mmask8>((1U << count) - 1), x);
#elif defined(__AVX512F__)
  return _mm512_mask_loadu_ps(Batch(padding), static_cast<__mmask16>((1U << count) - 1), x);
#else
  alignas(64) Real buffer[lanes];
  std::fill(std::copy_n(x, count, buffer), buffer + lanes, padding);
  return Batch::load_aligned(buffer);
#endif
}

inline void store_part(Batch value, Real* y, std::size_t count) {
#if defined(__AVX512F__) && defined(SURD_DOUBLE)
  _mm512_mask_storeu_pd(y, static_cast<__mmask8>((1U << count) - 1), value);
#elif defined(__AVX512F__)
  _mm512_mask_storeu_ps(y, static_cast<__mmask16>((1U << count) - 1), value);
#else
  alignas(64) Real buffer[lanes];
  value.store_aligned(buffer);
  std::copy_n(buffer, count, y);
#endif
}

/// 0, 1, 2, ...
inline Batch lane_index() {
  alignas(64) Real index[lanes];
  for (std::size_t i = 0; i < lanes; ++i) index[i] = static_cast<Real>(i);
  return Batch::load_aligned(index);
}

/// The largest element, found by halves.
inline Real horizontal_max(Batch x) {
#if defined(__AVX512F__) && defined(SURD_DOUBLE)
  return _mm512_reduce_max_pd(x);
#elif defined(__AVX512F__)
  return _mm512_reduce_max_ps(x);
#else
  alignas(64) Real half[lanes];
  x.store_aligned(half);
  for (std::size_t width = lanes / 2; width > 0; width /= 2)
    for (std::size_t i = 0; i < width; ++i) half[i] = std::max(half[i], half[i + width]);
  return half[0];
#endif
}

/// y[i] = f(x...[i]) for i < n; y may be one of the x.
template <class F, class... X>
inline void map(F f, std::size_t n, Real* y, const X*... x) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) f(Batch::load_unaligned(x + i)...).store_unaligned(y + i);
  if (i < n) store_part(f(load_part(x + i, n - i)...), y + i, n - i);
}

/// sum over i < n of f(x...[i]). f must be 0 where every x is 0.
template <class F, class... X>
inline Real sum(F f, std::size_t n, const X*... x) {
  Batch total(Real(0));
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) total += f(Batch::load_unaligned(x + i)...);
  if (i < n) total += f(load_part(x + i, n - i)...);
  return xsimd::hadd(total);
}

inline Real maximum(std::size_t n, const Real* x) {
  const Real lowest = std::numeric_limits<Real>::lowest();
  Batch best(lowest);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) best = xsimd::max(best, Batch::load_unaligned(x + i));
  if (i < n) best = xsimd::max(best, load_part(x + i, n - i, lowest));
  return horizontal_max(best);
}

}  // namespace surd::kernels
