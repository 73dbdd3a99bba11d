#include "autograd/kernels/elementwise.hpp"

#include "autograd/kernels/simd.hpp"

namespace surd::kernels {

namespace {
constexpr Real inv_sqrt_2 = Real(0.70710678118654752440);
constexpr Real inv_sqrt_2_pi = Real(0.39894228040143267794);
constexpr Real two_sqrt_2_over_pi = Real(1.59576912160573071176);
constexpr Real cubic = Real(0.044715);

/// (1 + tanh(z)) / 2 = 1 / (1 + exp(-2 z)), z = sqrt(2 / pi) (u + 0.044715 u^3)
Batch approximate_cumulative(Batch u) {
  const Batch twice_z = Batch(two_sqrt_2_over_pi) * u * xsimd::fma(Batch(cubic) * u, u, Batch(Real(1)));
  return Batch(Real(1)) / (Batch(Real(1)) + exp(-twice_z));
}
}  // namespace

void accumulate(const Real* x, Real* y, std::size_t n) { add(x, y, y, n); }
void axpy(Real a, const Real* x, Real* y, std::size_t n) {
  map([a](Batch u, Batch v) { return xsimd::fma(Batch(a), u, v); }, n, y, x, y);
}
void add(const Real* a, const Real* b, Real* y, std::size_t n) {
  map([](Batch u, Batch v) { return u + v; }, n, y, a, b);
}
void subtract(const Real* a, const Real* b, Real* y, std::size_t n) {
  map([](Batch u, Batch v) { return u - v; }, n, y, a, b);
}
void multiply(const Real* a, const Real* b, Real* y, std::size_t n) {
  map([](Batch u, Batch v) { return u * v; }, n, y, a, b);
}
void divide(const Real* a, const Real* b, Real* y, std::size_t n) {
  map([](Batch u, Batch v) { return u / v; }, n, y, a, b);
}
void scale(Real a, const Real* x, Real* y, std::size_t n) {
  map([a](Batch u) { return Batch(a) * u; }, n, y, x);
}
Real dot(const Real* a, const Real* b, std::size_t n) {
  return sum([](Batch u, Batch v) { return u * v; }, n, a, b);
}
Real sum(const Real* x, std::size_t n) {
  return sum([](Batch u) { return u; }, n, x);
}
double sum_of_squares(const Real* x, std::size_t n) {
  constexpr double near_enough = 1e-22;  // squares below the least float, 1e-38, do not matter then
  const auto quick = static_cast<double>(dot(x, x, n));
  if (!(quick < near_enough)) return quick;
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

void add_bias(const Real* x, const Real* bias, Real* y, std::size_t rows, std::size_t n) {
  for (std::size_t r = 0; r < rows; ++r) add(x + r * n, bias, y + r * n, n);
}
void sum_rows(const Real* dy, Real* dbias, std::size_t rows, std::size_t n) {
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4)
    map([](Batch sum, Batch a, Batch b, Batch c, Batch d) { return sum + ((a + b) + (c + d)); }, n, dbias, dbias,
        dy + r * n, dy + (r + 1) * n, dy + (r + 2) * n, dy + (r + 3) * n);
  for (; r < rows; ++r) accumulate(dy + r * n, dbias, n);
}

void relu(const Real* x, Real* y, std::size_t n) {
  // max(0, NaN) would hide a NaN; the comparison keeps it.
  map([](Batch u) { return xsimd::select(u < Batch(Real(0)), Batch(Real(0)), u); }, n, y, x);
}
void relu_backward(const Real* y, const Real* dy, Real* dx, std::size_t n) {
  map([](Batch v, Batch g) { return xsimd::select(v > Batch(Real(0)), g, Batch(Real(0))); }, n, dx, y, dy);
}

void gelu(const Real* x, Real* y, std::size_t n) {
  map([](Batch u) { return Batch(Real(0.5)) * u * (Batch(Real(1)) + xsimd::erf(u * Batch(inv_sqrt_2))); }, n, y, x);
}
void gelu_backward(const Real* x, const Real* dy, Real* dx, std::size_t n) {
  // d/dx x Phi(x) = Phi(x) + x phi(x)
  map(
      [](Batch u, Batch g) {
        const Batch cumulative = Batch(Real(0.5)) * (Batch(Real(1)) + xsimd::erf(u * Batch(inv_sqrt_2)));
        const Batch density = Batch(inv_sqrt_2_pi) * exp(Batch(Real(-0.5)) * u * u);
        return g * xsimd::fma(u, density, cumulative);
      },
      n, dx, x, dy);
}

void gelu_tanh(const Real* x, Real* y, std::size_t n) {
  map([](Batch u) { return u * approximate_cumulative(u); }, n, y, x);
}
void gelu_tanh_backward(const Real* x, const Real* dy, Real* dx, std::size_t n) {
  // With s the cumulative: s + u s (1 - s) 2 dz/du. Where s (1 - s) is 0, u^2 may have overflowed.
  map(
      [](Batch u, Batch g) {
        const Batch s = approximate_cumulative(u), spread = s * (Batch(Real(1)) - s);
        const Batch slope = Batch(two_sqrt_2_over_pi) * xsimd::fma(Batch(3 * cubic) * u, u, Batch(Real(1)));
        return g * (s + xsimd::select(spread == Batch(Real(0)), Batch(Real(0)), u * spread * slope));
      },
      n, dx, x, dy);
}

void tanh(const Real* x, Real* y, std::size_t n) {
  map([](Batch u) { return xsimd::tanh(u); }, n, y, x);
}
void tanh_backward(const Real* y, const Real* dy, Real* dx, std::size_t n) {
  map([](Batch v, Batch g) { return g * (Batch(Real(1)) - v * v); }, n, dx, y, dy);
}
void soft_cap(Real cap, const Real* x, Real* y, std::size_t n) {
  map([cap](Batch u) { return Batch(cap) * xsimd::tanh(u / Batch(cap)); }, n, y, x);
}
void soft_cap_backward(Real cap, const Real* y, const Real* dy, Real* dx, std::size_t n) {
  map(
      [cap](Batch v, Batch g) {
        const Batch share = v / Batch(cap);
        return (Batch(Real(1)) - share * share) * g;
      },
      n, dx, y, dy);
}
void sigmoid(const Real* x, Real* y, std::size_t n) {
  map([](Batch u) { return Batch(Real(1)) / (Batch(Real(1)) + exp(-u)); }, n, y, x);
}
void sigmoid_backward(const Real* y, const Real* dy, Real* dx, std::size_t n) {
  map([](Batch v, Batch g) { return g * v * (Batch(Real(1)) - v); }, n, dx, y, dy);
}
void silu(const Real* x, Real* y, std::size_t n) {
  map([](Batch u) { return u / (Batch(Real(1)) + exp(-u)); }, n, y, x);
}
void silu_backward(const Real* x, const Real* dy, Real* dx, std::size_t n) {
  // d/dx x s(x) = s + x s (1 - s)
  map(
      [](Batch u, Batch g) {
        const Batch s = Batch(Real(1)) / (Batch(Real(1)) + exp(-u));
        return g * s * (Batch(Real(1)) + u * (Batch(Real(1)) - s));
      },
      n, dx, x, dy);
}
void exp(const Real* x, Real* y, std::size_t n) {
  map([](Batch u) { return exp(u); }, n, y, x);
}
void log(const Real* x, Real* y, std::size_t n) {
  map([](Batch u) { return xsimd::log(u); }, n, y, x);
}

}  // namespace surd::kernels
