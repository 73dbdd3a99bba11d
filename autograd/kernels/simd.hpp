#pragma once

#include "autograd/tensor.hpp"

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

/// Loops over raw pointers in SIMD registers. The last, incomplete register is filled with `padding`, so an element's
/// result does not depend on where in the array it stands.
namespace surd::kernels {

/// Of functions whose arrays of registers would otherwise lie in memory.
#define SURD_INLINE __attribute__((always_inline))

using Batch = xsimd::batch<Real>;
inline constexpr std::size_t lanes = Batch::size;
inline constexpr bool many_registers = lanes * sizeof(Real) == 64;  ///< 32 of 512 bits, else 16

/// x y + z, rounded once where the processor can. What xsimd 8 has for 512 bits is a product and a sum, which the
/// compiler fuses as it likes: where z is a product too, it may be that one.
inline Batch fma(Batch x, Batch y, Batch z) {
#if defined(__AVX512F__) && defined(SURD_DOUBLE)
  return _mm512_fmadd_pd(x, y, z);
#elif defined(__AVX512F__)
  return _mm512_fmadd_ps(x, y, z);
#else
  return xsimd::fma(x, y, z);
#endif
}

#ifdef __SANITIZE_ADDRESS__
/// As below, in a loop: nothing stays in a register here, and code that is unrolled takes minutes more to compile with
/// all its checks.
template <std::size_t n, class F>
void unroll(F f) {
  for (std::size_t i = 0; i < n; ++i) f(i);
}
#else
template <class F, std::size_t... i>
SURD_INLINE inline void unroll(F f, std::index_sequence<i...>) {
  (f(std::integral_constant<std::size_t, i>()), ...);
}

/// f(0), f(1), ... f(n - 1), with constants. An array of many registers that is indexed by the variables of loops,
/// though these are unrolled by a pragma, is written to memory before and after its use by GCC 12.
template <std::size_t n, class F>
SURD_INLINE inline void unroll(F f) {
  unroll(f, std::make_index_sequence<n>());
}
#endif

#ifdef SURD_DOUBLE
/// e^x, 0 where it is less than the least normal number. xsimd 8's is infinite from 2^1023.5 on, half an octave before
/// the largest number.
inline Batch exp(Batch x) {
  const Batch infinity(std::numeric_limits<Real>::infinity());
  const Batch y = xsimd::exp(x);
  if (!xsimd::any(y == infinity)) return y;
  const Batch root = xsimd::exp(x * Batch(Real(0.5)));
  return xsimd::select(y == infinity, root * root, y);
}

template <std::size_t n>
SURD_INLINE inline void exp(Batch (&x)[n]) {
  unroll<n>([&](auto i) SURD_INLINE { x[i] = exp(x[i]); });
}
#else
/// times_power_of_two() for every processor.
inline Batch times_power_by_bits(Batch x, Batch k) {
  // Half of k is added to the exponent of x. 2 to the power of the rest is a factor, which overflows.
  using Integers = xsimd::batch<std::int32_t>;
  const Integers whole = xsimd::to_int(k), half = whole >> 1;
  const Integers bits = xsimd::bitwise_cast<Integers>(x) + (half << 23);
  const Batch product = xsimd::bitwise_cast<Batch>(bits) * xsimd::bitwise_cast<Batch>((whole - half + 127) << 23);
  return xsimd::select(k < Batch(-126), Batch(0), product);
}
/// x 2^k, for x near 1 and a whole k up to 128; 0 where k < -126, also where x is NaN. Where k is NaN, x must be.
inline Batch times_power_of_two(Batch x, Batch k) {
#ifdef __AVX512F__
  return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(k, Batch(-126), _CMP_NLT_UQ), x, k);
#else
  return times_power_by_bits(x, k);
#endif
}

/// e^x within 1.1 ulp, of several registers by turns, because each step waits for the one before; infinite above 88.72,
/// and 0 below -87.68, where it is no normal number any more: some processors take very long for products of such. With
/// whole k and |r| <= log(2) / 2, e^x = e^(k log 2 + r) = 2^k e^r; log 2 is the sum of two numbers, of which the first
/// times k is exact (Cody & Waite, Software Manual for the Elementary Functions, 1980, chapter 6). The polynomial is
/// the one of degree 6, 1 + r + ..., whose largest relative error in that range is least: 3e-9.
template <std::size_t n>
SURD_INLINE inline void exp(Batch (&x)[n]) {
  const Batch highest(89);  // finite, and e^x is not; a NaN passes, as the second argument of min()
  Batch k[n], y[n];
  unroll<n>([&](auto i) SURD_INLINE { x[i] = xsimd::min(highest, x[i]); });
  unroll<n>([&](auto i) SURD_INLINE { k[i] = xsimd::nearbyint(Batch(1.44269504F) * x[i]); });
  unroll<n>([&](auto i) SURD_INLINE { x[i] = xsimd::fma(k[i], Batch(-0x1.62e4p-1F), x[i]); });
  unroll<n>([&](auto i) SURD_INLINE { x[i] = xsimd::fma(k[i], Batch(-0x1.7f7d1cp-20F), x[i]); });
  unroll<n>([&](auto i) SURD_INLINE { y[i] = xsimd::fma(Batch(0x1.6a4cb4p-10F), x[i], Batch(0x1.123986p-7F)); });
  unroll<n>([&](auto i) SURD_INLINE { y[i] = xsimd::fma(y[i], x[i], Batch(0x1.5558bp-5F)); });
  unroll<n>([&](auto i) SURD_INLINE { y[i] = xsimd::fma(y[i], x[i], Batch(0x1.555492p-3F)); });
  unroll<n>([&](auto i) SURD_INLINE { y[i] = xsimd::fma(y[i], x[i], Batch(0x1.fffffcp-2F)); });
  unroll<n>([&](auto i) SURD_INLINE { y[i] = xsimd::fma(y[i] * x[i], x[i], x[i]) + Batch(1); });
  unroll<n>([&](auto i) SURD_INLINE { x[i] = times_power_of_two(y[i], k[i]); });
}

inline Batch exp(Batch x) {
  Batch one[] = {x};
  exp(one);
  return one[0];
}
#endif

/// The first `count` <= lanes elements of a register: load() gives zeros behind them, and memory there is neither read
/// nor written.
#if defined(__AVX512F__)
class Part {
 public:
  explicit Part(std::size_t count) : mask_(static_cast<Mask>((1U << count) - 1)) {}
#ifdef SURD_DOUBLE
  using Mask = __mmask8;
  Batch load(const Real* x) const { return _mm512_maskz_loadu_pd(mask_, x); }
  Batch load(const Real* x, Real padding) const { return _mm512_mask_loadu_pd(Batch(padding), mask_, x); }
  void store(Batch value, Real* y) const { _mm512_mask_storeu_pd(y, mask_, value); }
#else
  using Mask = __mmask16;
  Batch load(const Real* x) const { return _mm512_maskz_loadu_ps(mask_, x); }
  Batch load(const Real* x, Real padding) const { return _mm512_mask_loadu_ps(Batch(padding), mask_, x); }
  void store(Batch value, Real* y) const { _mm512_mask_storeu_ps(y, mask_, value); }
#endif

 private:
  Mask mask_;
};
#elif defined(__AVX__) && !defined(SURD_DOUBLE)
class Part {
 public:
  explicit Part(std::size_t count)
      : count_(count), mask_(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones + lanes - count))) {}
  Batch load(const Real* x) const { return _mm256_maskload_ps(x, mask_); }
  Batch load(const Real* x, Real padding) const {
    return _mm256_blendv_ps(Batch(padding), load(x), _mm256_castsi256_ps(mask_));
  }
  /// By halves: a masked store takes some forty micro-operations on AMD's processors before Zen 4.
  void store(Batch value, Real* y) const {
    if (count_ == lanes) return value.store_unaligned(y);
    __m128 left = _mm256_castps256_ps128(value);
    if ((count_ & 4) != 0) _mm_storeu_ps(y, left), left = _mm256_extractf128_ps(value, 1), y += 4;
    if ((count_ & 2) != 0) _mm_storel_pi(reinterpret_cast<__m64*>(y), left), left = _mm_movehl_ps(left, left), y += 2;
    if ((count_ & 1) != 0) _mm_store_ss(y, left);
  }

 private:
  static constexpr std::int32_t ones[2 * lanes] = {-1, -1, -1, -1, -1, -1, -1, -1};
  std::size_t count_;
  __m256i mask_;
};
#else
class Part {
 public:
  explicit Part(std::size_t count) : count_(count) {}
  Batch load(const Real* x, Real padding = 0) const {
    alignas(64) Real buffer[lanes];
    std::fill(std::copy_n(x, count_, buffer), buffer + lanes, padding);
    return Batch::load_aligned(buffer);
  }
  void store(Batch value, Real* y) const {
    alignas(64) Real buffer[lanes];
    value.store_aligned(buffer);
    std::copy_n(buffer, count_, y);
  }

 private:
  std::size_t count_;
};
#endif

/// The first `count` <= lanes elements at x; the rest is 0, or `padding`.
inline Batch load_part(const Real* x, std::size_t count) { return Part(count).load(x); }
inline Batch load_part(const Real* x, std::size_t count, Real padding) { return Part(count).load(x, padding); }
inline void store_part(Batch value, Real* y, std::size_t count) { Part(count).store(value, y); }

/// A whole register, loaded and stored like a Part.
struct Whole {
  Batch load(const Real* x) const { return Batch::load_unaligned(x); }
  Batch load(const Real* x, Real) const { return load(x); }
  void store(Batch value, Real* y) const { value.store_unaligned(y); }
};

/// Calls f(i, part) for the registers that begin at i = 0, lanes, ... of n elements; part is a Whole or, for the last
/// one, a Part.
template <class F>
SURD_INLINE inline void by_registers(std::size_t n, F f) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) f(i, Whole());
  if (i < n) f(i, Part(n - i));
}

#ifndef SURD_DOUBLE
// zip_lower() and zip_upper() take elements of two registers in turn, from the lower or upper half of each 128 bits.
// (What xsimd calls zip_lo does so up to version 9.)
#if defined(__AVX512F__)
inline Batch zip_lower(Batch x, Batch y) { return _mm512_unpacklo_ps(x, y); }
inline Batch zip_upper(Batch x, Batch y) { return _mm512_unpackhi_ps(x, y); }
#elif defined(__AVX__)
inline Batch zip_lower(Batch x, Batch y) { return _mm256_unpacklo_ps(x, y); }
inline Batch zip_upper(Batch x, Batch y) { return _mm256_unpackhi_ps(x, y); }
#else
inline Batch zip_lower(Batch x, Batch y) { return _mm_unpacklo_ps(x, y); }
inline Batch zip_upper(Batch x, Batch y) { return _mm_unpackhi_ps(x, y); }
#endif
#endif

/// The largest element, found by halves.
inline Real horizontal_max(Batch x) {
#if defined(__AVX512F__) && defined(SURD_DOUBLE)
  return _mm512_reduce_max_pd(x);
#elif defined(__AVX512F__)
  return _mm512_reduce_max_ps(x);
#elif defined(__AVX__) && !defined(SURD_DOUBLE)
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
#else
  alignas(64) Real half[lanes];
  x.store_aligned(half);
  for (std::size_t width = lanes / 2; width > 0; width /= 2)
    for (std::size_t i = 0; i < width; ++i) half[i] = std::max(half[i], half[i + width]);
  return half[0];
#endif
}

/// Registers whose elements sums() and maxima() join together, in little more time than those of one.
inline constexpr std::size_t fold_size = 4;
#if defined(__AVX__) && !defined(SURD_DOUBLE)
/// to[i] = the elements of x[i], joined two by two by f, for four of them.
template <class F>
SURD_INLINE inline void fold_four(F f, const Batch* x, Real* to) {
  const Batch even = f(zip_lower(x[0], x[2]), zip_upper(x[0], x[2]));
  const Batch odd = f(zip_lower(x[1], x[3]), zip_upper(x[1], x[3]));
  const Batch each = f(zip_lower(even, odd), zip_upper(even, odd));  // in every 128 bits a part of each of the four
#ifdef __AVX512F__
  using Half = xsimd::batch<Real, xsimd::avx2>;
  const __m256d upper = _mm512_extractf64x4_pd(_mm512_castps_pd(each), 1);
  const Half half = f(Half(_mm512_castps512_ps256(each)), Half(_mm256_castpd_ps(upper)));
#else
  const Batch half = each;
#endif
  using Quarter = xsimd::batch<Real, xsimd::sse4_2>;
  f(Quarter(_mm256_castps256_ps128(half)), Quarter(_mm256_extractf128_ps(half, 1))).store_unaligned(to);
}
template <class F, std::size_t n>
SURD_INLINE inline void fold(F f, const Batch (&x)[n], Real (&to)[n]) {
  static_assert(n % fold_size == 0);
  unroll<n / fold_size>([&](auto i) SURD_INLINE { fold_four(f, x + i * fold_size, to + i * fold_size); });
}
/// to[i] = the sum of the elements of x[i]; n is a multiple of fold_size.
template <std::size_t n>
SURD_INLINE inline void sums(const Batch (&x)[n], Real (&to)[n]) {
  fold([](auto a, auto b) SURD_INLINE { return a + b; }, x, to);
}
/// to[i] = the largest of the elements of x[i]; n is a multiple of fold_size.
template <std::size_t n>
SURD_INLINE inline void maxima(const Batch (&x)[n], Real (&to)[n]) {
  fold([](auto a, auto b) SURD_INLINE { return xsimd::max(a, b); }, x, to);
}
#else
template <std::size_t n>
void sums(const Batch (&x)[n], Real (&to)[n]) {
  for (std::size_t i = 0; i < n; ++i) to[i] = xsimd::hadd(x[i]);
}
template <std::size_t n>
void maxima(const Batch (&x)[n], Real (&to)[n]) {
  for (std::size_t i = 0; i < n; ++i) to[i] = horizontal_max(x[i]);
}
#endif

/// y[i] = f(x...[i]) for i < n; y may be one of the x.
template <class F, class... X>
inline void map(F f, std::size_t n, Real* y, const X*... x) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) f(Batch::load_unaligned(x + i)...).store_unaligned(y + i);
  if (i < n) store_part(f(load_part(x + i, n - i)...), y + i, n - i);
}

/// f(x...[i]) for i < n, joined into one register. `neutral`, and f of it, is joined to finite numbers without an
/// effect.
template <class Join, class F, class... X>
inline Batch joined(Join join, Real neutral, F f, std::size_t n, const X*... x) {
  Batch a(neutral);
  std::size_t i = 0;
  if (n >= 4 * lanes) {  // four by turns, because each waits for what it was before
    Batch b(neutral), c(neutral), d(neutral);
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      a = join(a, f(Batch::load_unaligned(x + i)...));
      b = join(b, f(Batch::load_unaligned(x + i + lanes)...));
      c = join(c, f(Batch::load_unaligned(x + i + 2 * lanes)...));
      d = join(d, f(Batch::load_unaligned(x + i + 3 * lanes)...));
    }
    a = join(join(a, b), join(c, d));
  }
  for (; i + lanes <= n; i += lanes) a = join(a, f(Batch::load_unaligned(x + i)...));
  if (i < n) a = join(a, f(load_part(x + i, n - i, neutral)...));
  return a;
}

/// sum over i < n of f(x...[i]). f must be 0 where every x is 0.
template <class F, class... X>
inline Real sum(F f, std::size_t n, const X*... x) {
  return xsimd::hadd(joined([](Batch a, Batch b) { return a + b; }, 0, f, n, x...));
}

inline Real maximum(std::size_t n, const Real* x) {
  const auto larger = [](Batch a, Batch b) { return xsimd::max(a, b); };
  const auto itself = [](Batch u) { return u; };
  return horizontal_max(joined(larger, std::numeric_limits<Real>::lowest(), itself, n, x));
}

}  // namespace surd::kernels
