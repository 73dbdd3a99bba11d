#include "autograd/kernels/rows.hpp"

#include "autograd/kernels/elementwise.hpp"
#include "autograd/kernels/simd.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

namespace surd::kernels {
namespace {

/// y = exp(x - shift); returns the sum. y may be x.
Real exp_shifted(const Real* x, Real shift, Real* y, std::size_t n) {
  Batch total(Real(0));
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Batch e = exp(Batch::load_unaligned(x + i) - Batch(shift));
    e.store_unaligned(y + i);
    total += e;
  }
  Real sum = xsimd::hadd(total);
  if (i < n) {
    store_part(exp(load_part(x + i, n - i, shift) - Batch(shift)), y + i, n - i);
    for (; i < n; ++i) sum += y[i];
  }
  return sum;
}

/// sum exp(x - shift), without storing it.
Real sum_exp_shifted(const Real* x, Real shift, std::size_t n) {
  Batch total(Real(0));
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) total += exp(Batch::load_unaligned(x + i) - Batch(shift));
  if (i < n) total += exp(load_part(x + i, n - i, -std::numeric_limits<Real>::infinity()) - Batch(shift));
  return xsimd::hadd(total);
}

}  // namespace

void softmax_row(const Real* x, Real* y, std::size_t n, bool subtract_max) {
  if (n == 0) return;
  const Real total = exp_shifted(x, subtract_max ? maximum(n, x) : Real(0), y, n);
  scale(1 / total, y, y, n);
}

void softmax_row_backward(const Real* y, const Real* dy, Real* dx, std::size_t n) {
  const Real inner = dot(y, dy, n);
  map([inner](Batch p, Batch g) { return p * (g - Batch(inner)); }, n, dx, y, dy);
}

void log_softmax_row(const Real* x, Real* y, std::size_t n) {
  if (n == 0) return;
  const Real top = maximum(n, x);
  const Real log_total = std::log(sum_exp_shifted(x, top, n));
  // Not u - (top + log_total): a large top would swallow the digits of log_total.
  map([=](Batch u) { return u - Batch(top) - Batch(log_total); }, n, y, x);
}

void log_softmax_row_backward(const Real* y, const Real* dy, Real* dx, std::size_t n) {
  const Real total = sum(dy, n);
  map([total](Batch v, Batch g) { return g - Batch(total) * exp(v); }, n, dx, y, dy);
}

namespace {

/// Calls f(first row, count) for `most` rows of n at a time, and then for one at a time. Each step of a row waits for
/// the one before, so that several rows by turns take less time than one after the other. Longer rows take more,
/// because the processor fetches ahead what follows in memory, but not of so many at once.
template <std::size_t most, class F>
void by_turns(std::size_t rows, std::size_t n, F f) {
  constexpr std::size_t longest = 256 / sizeof(Real);
  std::size_t r = 0;
  for (; n <= longest && r + most <= rows; r += most) f(r, std::integral_constant<std::size_t, most>());
  for (; r < rows; ++r) f(r, std::integral_constant<std::size_t, 1>());
}

// Below, sums of products are fma(), so that a row has the same bits wherever it stands among the others: the compiler
// might fuse other ones in each function. Arrays of what is summed are as long as sums() takes them, whatever `count`
// is.

/// layer_norm of `count` rows or, where they are not centred, rms_norm, whose means are 0 and not stored.
template <bool centred, std::size_t count>
void norm_by_turns(const Real* x, const Real* gain, const Real* bias, Real epsilon, Real* y, Real* mean,
                   Real* inverse_deviation, std::size_t n) {
  const auto length = static_cast<Real>(n);
  const auto each_row = [](auto f) SURD_INLINE { unroll<count>(f); };
  Batch total[fold_size] = {}, squares[fold_size] = {};
  Real centre[fold_size] = {}, sum[fold_size];
  if (centred) {
    by_registers(n, [&](std::size_t i, auto part)
                        SURD_INLINE { each_row([&](auto r) SURD_INLINE { total[r] += part.load(x + r * n + i); }); });
    sums(total, sum);
    each_row([&](auto r) SURD_INLINE { mean[r] = centre[r] = sum[r] / length; });
  }
  by_registers(n, [&](std::size_t i, auto part) SURD_INLINE {
    each_row([&](auto r) SURD_INLINE {
      const Batch u = part.load(x + r * n + i, centre[r]) - Batch(centre[r]);
      squares[r] = fma(u, u, squares[r]);
    });
  });
  sums(squares, sum);
  each_row([&](auto r) SURD_INLINE { inverse_deviation[r] = 1 / std::sqrt(sum[r] / length + epsilon); });
  by_registers(n, [&](std::size_t i, auto part) SURD_INLINE {
    const Batch factor = gain != nullptr ? part.load(gain + i) : Batch(Real(1));
    const Batch offset = bias != nullptr ? part.load(bias + i) : Batch(Real(0));
    each_row([&](auto r) SURD_INLINE {
      const Batch h = (part.load(x + r * n + i) - Batch(centre[r])) * Batch(inverse_deviation[r]);
      part.store(fma(h, factor, offset), y + r * n + i);
    });
  });
}

/// With h = (x - mean) inverse_deviation and g = dy * gain, of a layer_norm (Ba et al., 1607.06450)
///   dx = inverse_deviation (g - mean(g) - h mean(g * h))
/// and of an rms_norm (Zhang & Sennrich, 1910.07467) the same without mean and mean(g).
template <bool centred, std::size_t count>
void norm_backward_by_turns(const Real* dy, const Real* gain, const Real* x, const Real* mean,
                            const Real* inverse_deviation, Real beta, Real* dx, Real* dgain, Real* dbias,
                            std::size_t n) {
  const auto each_row = [](auto f) SURD_INLINE { unroll<count>(f); };
  const auto normalized = [&](auto r, std::size_t i, auto part) SURD_INLINE {
    const Batch u = part.load(x + r * n + i);
    return (centred ? u - Batch(mean[r]) : u) * Batch(inverse_deviation[r]);
  };
  const auto load_gain = [&](std::size_t i, auto part)
                             SURD_INLINE { return gain != nullptr ? part.load(gain + i) : Batch(Real(1)); };
  Batch sum_g[fold_size] = {}, sum_gh[fold_size] = {};
  by_registers(n, [&](std::size_t i, auto part) SURD_INLINE {
    const Batch factor = load_gain(i, part);
    Batch sum_dh(Real(0)), sum_d(Real(0));
    each_row([&](auto r) SURD_INLINE {
      const Batch d = part.load(dy + r * n + i), h = normalized(r, i, part);
      sum_dh = fma(d, h, sum_dh);
      sum_d += d;
      sum_g[r] = fma(d, factor, sum_g[r]);
      sum_gh[r] = fma(d * factor, h, sum_gh[r]);
    });
    // One after the other: they may be the same.
    if (dgain != nullptr) part.store(part.load(dgain + i) + sum_dh, dgain + i);
    if (dbias != nullptr) part.store(part.load(dbias + i) + sum_d, dbias + i);
  });
  if (dx == nullptr) return;
  Real mean_g[fold_size] = {}, mean_gh[fold_size];
  if (centred) sums(sum_g, mean_g);
  sums(sum_gh, mean_gh);
  each_row([&](auto r) SURD_INLINE { mean_g[r] /= static_cast<Real>(n), mean_gh[r] /= static_cast<Real>(n); });
  by_registers(n, [&](std::size_t i, auto part) SURD_INLINE {
    const Batch factor = load_gain(i, part);
    each_row([&](auto r) SURD_INLINE {
      const Batch centred_g = fma(part.load(dy + r * n + i), factor, Batch(-mean_g[r]));
      const Batch d = Batch(inverse_deviation[r]) * fma(normalized(r, i, part), Batch(-mean_gh[r]), centred_g);
      Real* const to = dx + r * n + i;
      part.store(beta == 0 ? d : fma(Batch(beta), part.load(to), d), to);
    });
  });
}

template <bool centred>
void norm(const Real* x, const Real* gain, const Real* bias, Real epsilon, Real* y, Real* mean, Real* inverse_deviation,
          std::size_t rows, std::size_t n) {
  by_turns<fold_size>(rows, n, [&](std::size_t r, auto count) {
    norm_by_turns<centred, count.value>(x + r * n, gain, bias, epsilon, y + r * n, centred ? mean + r : nullptr,
                                        inverse_deviation + r, n);
  });
}

template <bool centred>
void norm_backward(const Real* dy, const Real* gain, const Real* x, const Real* mean, const Real* inverse_deviation,
                   Real beta, Real* dx, Real* dgain, Real* dbias, std::size_t rows, std::size_t n) {
  by_turns<many_registers ? fold_size : 2>(rows, n, [&](std::size_t r, auto count) {
    norm_backward_by_turns<centred, count.value>(dy + r * n, gain, x + r * n, centred ? mean + r : nullptr,
                                                 inverse_deviation + r, beta, dx != nullptr ? dx + r * n : nullptr,
                                                 dgain, dbias, n);
  });
}

}  // namespace

void layer_norm(const Real* x, const Real* gain, const Real* bias, Real epsilon, Real* y, Real* mean,
                Real* inverse_deviation, std::size_t rows, std::size_t n) {
  norm<true>(x, gain, bias, epsilon, y, mean, inverse_deviation, rows, n);
}

void layer_norm_backward(const Real* dy, const Real* gain, const Real* x, const Real* mean,
                         const Real* inverse_deviation, Real beta, Real* dx, Real* dgain, Real* dbias, std::size_t rows,
                         std::size_t n) {
  norm_backward<true>(dy, gain, x, mean, inverse_deviation, beta, dx, dgain, dbias, rows, n);
}

void rms_norm(const Real* x, const Real* gain, Real epsilon, Real* y, Real* inverse_rms, std::size_t rows,
              std::size_t n) {
  norm<false>(x, gain, nullptr, epsilon, y, nullptr, inverse_rms, rows, n);
}

void rms_norm_backward(const Real* dy, const Real* gain, const Real* x, const Real* inverse_rms, Real beta, Real* dx,
                       Real* dgain, std::size_t rows, std::size_t n) {
  norm_backward<false>(dy, gain, x, nullptr, inverse_rms, beta, dx, dgain, nullptr, rows, n);
}

Real cross_entropy_row(const Real* logits, Real* gradient, std::size_t n, std::int32_t target, Real smoothing) {
  // -sum q log p = log Z - (1 - smoothing) logit[target] - smoothing mean(logit), every term less the largest logit,
  // which would otherwise swallow the digits of a small loss
  const Real top = maximum(n, logits);
  const Real target_logit = logits[target];
  const Real mean_logit = smoothing == 0 ? Real(0) : sum(logits, n) / static_cast<Real>(n);
  Real total = 0;
  if (gradient != nullptr) {
    total = exp_shifted(logits, top, gradient, n);
    const Real uniform = smoothing / static_cast<Real>(n);
    map([=](Batch e) { return e * Batch(1 / total) - Batch(uniform); }, n, gradient, gradient);
    gradient[target] -= 1 - smoothing;
  } else {
    total = sum_exp_shifted(logits, top, n);
  }
  return std::log(total) + (1 - smoothing) * (top - target_logit) + smoothing * (top - mean_logit);
}

void rotate_pairs(const Real* x, const Real* rotations, bool back, Real* y, std::size_t pairs) {
  for (std::size_t i = 0; i < pairs; ++i) {
    const Real cosine = rotations[2 * i], sine = back ? -rotations[2 * i + 1] : rotations[2 * i + 1];
    const Real a = x[2 * i], b = x[2 * i + 1];
    y[2 * i] = cosine * a - sine * b;
    y[2 * i + 1] = sine * a + cosine * b;
  }
}

}  // namespace surd::kernels
