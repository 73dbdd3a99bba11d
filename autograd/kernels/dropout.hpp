#pragma once

#include "autograd/base/random.hpp"
#include "autograd/tensor.hpp"

#include <cstddef>
#include <cstdint>

/// Inverted dropout: an element is dropped with the chance of a rate, and the others are divided by what is left.
namespace surd::kernels {

/// The chance of a drop is rounded to a multiple of 2^-16, but not to 0 or 1, so that one Philox block decides eight
/// elements.
struct DropoutRate {
  explicit DropoutRate(double rate);
  std::uint32_t threshold;  ///< dropped where 16 random bits are below it
  Real keep_scale;          ///< 1 / (1 - rounded rate)
};

/// Elements first, first + 1, ... of a stream: where the decisions are read from.
struct DropoutDraws {
  const random::Stream& stream;
  std::uint64_t first;
  DropoutRate rate;
};

/// kept[i] = whether element i stays; y[i] = keep_scale x[i] or 0. y may be x.
void dropout(const DropoutDraws& draws, const Real* x, Real* y, std::uint8_t* kept, std::size_t n);
/// y[i] = a[i] + keep_scale x[i] or a[i]. y may be a or x.
void add_dropout(const DropoutDraws& draws, const Real* a, const Real* x, Real* y, std::uint8_t* kept, std::size_t n);
void dropout_backward(const std::uint8_t* kept, Real keep_scale, const Real* dy, Real* dx, std::size_t n);

/// Gives the elements that are dropped a minus sign. For values that are not negative, this keeps both the value and
/// the decision in one number.
void mark_dropped(const DropoutDraws& draws, Real* x, std::size_t n);
/// y[i] = keep_scale x[i], or 0 where x[i] is marked.
void drop_marked(const Real* x, Real keep_scale, Real* y, std::size_t n);

}  // namespace surd::kernels
