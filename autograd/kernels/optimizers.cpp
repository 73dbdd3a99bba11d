#include "autograd/kernels/optimizers.hpp"

#include "autograd/kernels/simd.hpp"

namespace surd::kernels {

void sgd(const Real* g, Real scale, Real rate, Real momentum, bool nesterov, Real decay, Real* x, Real* velocity,
         std::size_t n) {
  by_registers(n, [&](std::size_t i, auto part) {
    const Batch value = part.load(x + i);
    Batch step = xsimd::fma(Batch(decay), value, Batch(scale) * part.load(g + i));
    if (velocity != nullptr) {
      const Batch v = xsimd::fma(Batch(momentum), part.load(velocity + i), step);
      part.store(v, velocity + i);
      step = nesterov ? xsimd::fma(Batch(momentum), v, step) : v;
    }
    part.store(value - Batch(rate) * step, x + i);
  });
}

void adam(const Real* g, Real scale, const AdamStep& s, Real* x, Real* first, Real* second, std::size_t n) {
  by_registers(n, [&](std::size_t i, auto part) {
    const Batch value = part.load(x + i);
    const Batch gradient = xsimd::fma(Batch(s.decay), value, Batch(scale) * part.load(g + i));
    const Batch m = xsimd::fma(Batch(s.beta1), part.load(first + i), Batch(1 - s.beta1) * gradient);
    const Batch v = xsimd::fma(Batch(s.beta2), part.load(second + i), Batch(1 - s.beta2) * gradient * gradient);
    part.store(m, first + i);
    part.store(v, second + i);
    const Batch denominator = xsimd::fma(xsimd::sqrt(v), Batch(s.inv_sqrt_correction), Batch(s.epsilon));
    part.store(Batch(s.shrink) * value - Batch(s.rate) * m / denominator, x + i);
  });
}

}  // namespace surd::kernels
