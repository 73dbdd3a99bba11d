#include "autograd/kernels/dropout.hpp"

#include "autograd/kernels/simd.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace surd::kernels {
namespace {

constexpr std::size_t blocks = 32, elements_a_block = 8, stretch = blocks * elements_a_block;

/// Calls decide(i, keeps, count) for stretches of [0, n); keeps[j] is 1 where element i + j stays, and 0 where it is
/// dropped.
template <class Decide>
void by_stretches(const DropoutDraws& draws, std::size_t n, Decide decide) {
  alignas(64) std::uint32_t words[4 * blocks] = {};
  alignas(64) std::uint16_t keeps[stretch];
  const auto threshold = static_cast<std::uint16_t>(draws.rate.threshold);
  for (std::size_t i = 0; i < n;) {
    const std::uint64_t element = draws.first + i;
    const std::size_t skip = element % elements_a_block;
    const std::size_t count = std::min(stretch - skip, n - i);
    draws.stream.blocks(element / elements_a_block, (skip + count + elements_a_block - 1) / elements_a_block, words);
    std::memcpy(keeps, words, sizeof keeps);  // the lower half of a word first
    for (std::uint16_t& keep : keeps) keep = keep >= threshold;
    decide(i, keeps + skip, count);
    i += count;
  }
}

/// Chosen before it is multiplied: a product that is not wanted could raise a floating-point exception, so that with
/// AVX2, which has no masks for it, the compiler would branch.
template <class Decision>
Real or_zero(Decision keeps, Real x) {
  return keeps != 0 ? x : Real(0);
}

/// Stores the decisions as bytes. Called once they have been used: a byte may alias anything, which would slow down the
/// loop that uses the decisions.
void remember(const std::uint16_t* keeps, std::uint8_t* kept, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) kept[j] = static_cast<std::uint8_t>(keeps[j]);
}

}  // namespace

DropoutRate::DropoutRate(double rate)
    : threshold(static_cast<std::uint32_t>(std::clamp(std::lround(rate * 65536), rate > 0 ? 1L : 0L, 65535L))),
      keep_scale(static_cast<Real>(1 / (1 - static_cast<double>(threshold) / 65536))) {}

void dropout(const DropoutDraws& draws, const Real* x, Real* y, std::uint8_t* kept, std::size_t n) {
  const Real scale = draws.rate.keep_scale;
  by_stretches(draws, n, [=](std::size_t begin, const std::uint16_t* keeps, std::size_t count) {
    for (std::size_t j = 0; j < count; ++j) y[begin + j] = scale * or_zero(keeps[j], x[begin + j]);
    remember(keeps, kept + begin, count);
  });
}

void add_dropout(const DropoutDraws& draws, const Real* a, const Real* x, Real* y, std::uint8_t* kept, std::size_t n) {
  const Real scale = draws.rate.keep_scale;
  by_stretches(draws, n, [=](std::size_t begin, const std::uint16_t* keeps, std::size_t count) {
    for (std::size_t j = 0; j < count; ++j) y[begin + j] = a[begin + j] + scale * or_zero(keeps[j], x[begin + j]);
    remember(keeps, kept + begin, count);
  });
}

void dropout_backward(const std::uint8_t* kept, Real keep_scale, const Real* dy, Real* dx, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) dx[i] = keep_scale * or_zero(kept[i], dy[i]);
}

void mark_dropped(const DropoutDraws& draws, Real* x, std::size_t n) {
  by_stretches(draws, n, [=](std::size_t begin, const std::uint16_t* keeps, std::size_t count) {
    for (std::size_t j = 0; j < count; ++j) x[begin + j] = keeps[j] != 0 ? x[begin + j] : -x[begin + j];
  });
}

void drop_marked(const Real* x, Real keep_scale, Real* y, std::size_t n) {
  map([keep_scale](Batch u) { return xsimd::select(u < Batch(Real(0)), Batch(Real(0)), Batch(keep_scale) * u); }, n, y,
      x);
}

}  // namespace surd::kernels
