#include "autograd/kernels/rows.hpp"

#include "autograd/kernels/elementwise.hpp"
#include "autograd/kernels/simd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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

namespace {

/// So many rows go through a pass before the next pass begins: a processor works at some of them at once, because none
/// waits for another.
constexpr std::size_t rows_at_once = 8;

void softmax_prefixes_at_once(Real* x, const std::size_t* visible, std::size_t rows, std::size_t width,
                              bool subtract_max) {
  const auto load = [=](std::size_t r, std::size_t i) {
    const Batch value = Batch::load_unaligned(x + r * width + i);
    if (i + lanes <= visible[r]) return value;
    return xsimd::select(lane_index() < Batch(static_cast<Real>(visible[r] - i)), value,
                         Batch(-std::numeric_limits<Real>::infinity()));
  };
  Real shift[rows_at_once] = {}, inverse[rows_at_once];
  for (std::size_t r = 0; subtract_max && r < rows; ++r) {
    Batch largest(-std::numeric_limits<Real>::infinity());
    for (std::size_t i = 0; i < visible[r]; i += lanes) largest = xsimd::max(largest, load(r, i));
    shift[r] = horizontal_max(largest);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    Batch total(Real(0));
    for (std::size_t i = 0; i < visible[r]; i += lanes) {
      const Batch u = load(r, i) - Batch(shift[r]);
      const Batch e = exp(u);
      e.store_unaligned(x + r * width + i);
      total += e;
    }
    inverse[r] = 1 / xsimd::hadd(total);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    Real* row = x + r * width;
    std::size_t i = 0;
    for (; i < visible[r]; i += lanes) (Batch::load_unaligned(row + i) * Batch(inverse[r])).store_unaligned(row + i);
    for (; i < width; i += lanes) Batch(Real(0)).store_unaligned(row + i);
  }
}

}  // namespace

void softmax_prefixes(Real* x, const std::size_t* visible, std::size_t rows, std::size_t width, bool subtract_max) {
  for (std::size_t r = 0; r < rows; r += rows_at_once)
    softmax_prefixes_at_once(x + r * width, visible + r, std::min(rows_at_once, rows - r), width, subtract_max);
}

void softmax_marked_backward(const Real* marked_y, Real keep_scale, Real* dy, std::size_t width) {
  const Batch zero(Real(0)), scale(keep_scale);
  Batch total(Real(0));
  for (std::size_t i = 0; i < width; i += lanes) {
    const Batch y = Batch::load_unaligned(marked_y + i);
    const Batch dz = xsimd::select(y > zero, scale * Batch::load_unaligned(dy + i), zero);
    total = xsimd::fma(y, dz, total);
  }
  const Batch inner(xsimd::hadd(total));
  for (std::size_t i = 0; i < width; i += lanes) {
    const Batch y = Batch::load_unaligned(marked_y + i);
    const Batch dz = xsimd::select(y > zero, scale * Batch::load_unaligned(dy + i), zero);
    (xsimd::abs(y) * (dz - inner)).store_unaligned(dy + i);
  }
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

void layer_norm(const Real* x, const Real* gain, const Real* bias, Real epsilon, Real* y, Real* mean,
                Real* inverse_deviation, std::size_t rows, std::size_t n) {
  const auto length = static_cast<Real>(n);
  for (std::size_t r = 0; r < rows; ++r, x += n, y += n) {
    const Real centre = sum(x, n) / length;
    Batch squares(Real(0));
    by_registers(n, [&](std::size_t i, auto part) {
      const Batch u = part.load(x + i, centre) - Batch(centre);
      squares = xsimd::fma(u, u, squares);
    });
    const Real inverse = 1 / std::sqrt(xsimd::hadd(squares) / length + epsilon);
    by_registers(n, [&](std::size_t i, auto part) {
      Batch h = (part.load(x + i) - Batch(centre)) * Batch(inverse);
      if (gain != nullptr) h *= part.load(gain + i);
      if (bias != nullptr) h += part.load(bias + i);
      part.store(h, y + i);
    });
    mean[r] = centre;
    inverse_deviation[r] = inverse;
  }
}

void layer_norm_backward(const Real* dy, const Real* gain, const Real* x, const Real* mean,
                         const Real* inverse_deviation, Real beta, Real* dx, Real* dgain, Real* dbias, std::size_t rows,
                         std::size_t n) {
  // With h = (x - mean) inverse_deviation and g = dy * gain:
  // dx = inverse_deviation (g - mean(g) - h mean(g * h)); Ba et al., 1607.06450.
  const auto length = static_cast<Real>(n);
  for (std::size_t r = 0; r < rows; ++r, dy += n, x += n) {
    const Batch centre(mean[r]), inverse(inverse_deviation[r]);
    const auto normalized = [&](std::size_t i, auto part) { return (part.load(x + i) - centre) * inverse; };
    const auto scaled = [&](std::size_t i, auto part) {
      return gain != nullptr ? part.load(dy + i) * part.load(gain + i) : part.load(dy + i);
    };
    Batch sum_g(Real(0)), sum_gh(Real(0));
    by_registers(n, [&](std::size_t i, auto part) {
      const Batch d = part.load(dy + i), h = normalized(i, part), g = scaled(i, part);
      if (dgain != nullptr) part.store(xsimd::fma(d, h, part.load(dgain + i)), dgain + i);
      if (dbias != nullptr) part.store(d + part.load(dbias + i), dbias + i);
      sum_g += g;
      sum_gh = xsimd::fma(g, h, sum_gh);
    });
    if (dx == nullptr) continue;
    const Batch mean_g(xsimd::hadd(sum_g) / length), mean_gh(xsimd::hadd(sum_gh) / length);
    by_registers(n, [&](std::size_t i, auto part) {
      const Batch d = inverse * (scaled(i, part) - mean_g - normalized(i, part) * mean_gh);
      part.store(beta == 0 ? d : d + Batch(beta) * part.load(dx + i), dx + i);
    });
    dx += n;
  }
}

void rms_norm(const Real* x, const Real* gain, Real epsilon, Real* y, Real* inverse_rms, std::size_t rows,
              std::size_t n) {
  for (std::size_t r = 0; r < rows; ++r, x += n, y += n) {
    const Real inverse = 1 / std::sqrt(dot(x, x, n) / static_cast<Real>(n) + epsilon);
    scale(inverse, x, y, n);
    if (gain != nullptr) multiply(y, gain, y, n);
    inverse_rms[r] = inverse;
  }
}

void rms_norm_backward(const Real* dy, const Real* gain, const Real* x, const Real* inverse_rms, Real beta, Real* dx,
                       Real* dgain, std::size_t rows, std::size_t n) {
  // With h = x inverse_rms and g = dy * gain: dx = inverse_rms (g - h mean(g * h)); Zhang & Sennrich, 1910.07467.
  for (std::size_t r = 0; r < rows; ++r, dy += n, x += n) {
    const Batch inverse(inverse_rms[r]);
    const auto scaled = [&](std::size_t i, auto part) {
      return gain != nullptr ? part.load(dy + i) * part.load(gain + i) : part.load(dy + i);
    };
    Batch sum_gh(Real(0));
    by_registers(n, [&](std::size_t i, auto part) {
      const Batch h = part.load(x + i) * inverse;
      if (dgain != nullptr) part.store(xsimd::fma(part.load(dy + i), h, part.load(dgain + i)), dgain + i);
      sum_gh = xsimd::fma(scaled(i, part), h, sum_gh);
    });
    if (dx == nullptr) continue;
    const Batch mean_gh(xsimd::hadd(sum_gh) / static_cast<Real>(n));
    by_registers(n, [&](std::size_t i, auto part) {
      const Batch d = inverse * (scaled(i, part) - part.load(x + i) * inverse * mean_gh);
      part.store(beta == 0 ? d : d + Batch(beta) * part.load(dx + i), dx + i);
    });
    dx += n;
  }
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
