#include "autograd/kernels/optimizers.hpp"

#include "autograd/kernels/simd.hpp"

namespace surd::kernels {
namespace {

/// Calls f(i, count) for each register's worth of elements.
template <class F>
void by_lanes(std::size_t n, F f) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) f(i, lanes);
  if (i < n) f(i, n - i);
}

Batch load(const Real* x, std::size_t count) { return count == lanes ? Batch::load_unaligned(x) : load_part(x, count); }
void store(Batch value, Real* y, std::size_t count) {
  if (count == lanes)
    value.store_unaligned(y);
  else
    store_part(value, y, count);
}

}  // namespace

void sgd(const Real* g, Real scale, Real rate, Real momentum, bool nesterov, Real decay, Real* x, Real* velocity,
         std::size_t n) {
  by_lanes(n, [&](std::size_t i, std::size_t count) {
    const Batch value = load(x + i, count);
    Batch step = xsimd::fma(Batch(decay), value, Batch(scale) * load(g + i, count));
    if (velocity != nullptr) {
      const Batch v = xsimd::fma(Batch(momentum), load(velocity + i, count), step);
      store(v, velocity + i, count);
      step = nesterov ? xsimd::fma(Batch(momentum), v, step) : v;
    }
    store(value - Batch(rate) * step, x + i, count);
  });
}

void adam(const Real* g, Real scale, const AdamStep& s, Real* x, Real* first, Real* second, std::size_t n) {
  by_lanes(n, [&](std::size_t i, std::size_t count) {
    const Batch value = load(x + i, count);
    const Batch gradient = xsimd::fma(Batch(s.decay), value, Batch(scale) * load(g + i, count));
    const Batch m = xsimd::fma(Batch(s.beta1), load(first + i, count), Batch(1 - s.beta1) * gradient);
    const Batch v = xsimd::fma(Batch(s.beta2), load(second + i, count), Batch(1 - s.beta2) * gradient * gradient);
    store(m, first + i, count);
    store(v, second + i, count);
    const Batch denominator = xsimd::fma(xsimd::sqrt(v), Batch(s.inv_sqrt_correction), Batch(s.epsilon));
    store(Batch(s.shrink) * value - Batch(s.rate) * m / denominator, x + i, count);
  });
}

}  // namespace surd::kernels
