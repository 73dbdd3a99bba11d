#pragma once

#include "autograd/base/random.hpp"
#include "autograd/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

/// Tensors for tests.
namespace surd::test {

inline Tensor tensor_of(const Shape& shape, const std::vector<double>& values) {
  expect(values.size() == element_count(shape), "tensor_of", "{} values for {}", values.size(), shape);
  Tensor tensor(shape);
  for (std::size_t i = 0; i < values.size(); ++i) tensor.data()[i] = static_cast<Real>(values[i]);
  return tensor;
}

/// Standard normal.
inline Tensor random_tensor(const Shape& shape, std::uint64_t seed = 0) {
  const random::Stream stream(seed, "test", "tensor");
  Tensor tensor(shape);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.data()[i] = static_cast<Real>(stream.normal(i));
  return tensor;
}

/// Uniform in (0.5, 2).
inline Tensor positive_tensor(const Shape& shape, std::uint64_t seed = 0) {
  const random::Stream stream(seed, "test", "positive");
  Tensor tensor(shape);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.data()[i] = static_cast<Real>(0.5 + 1.5 * stream.uniform(i));
  return tensor;
}

inline std::vector<double> values_of(const Tensor& tensor) { return {tensor.data(), tensor.data() + tensor.size()}; }

/// Infinite where the shapes differ or a difference is NaN.
inline double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = a.shape() == b.shape() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::fabs(static_cast<double>(a.data()[i]) - static_cast<double>(b.data()[i]));
    largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(largest, difference);
  }
  return largest;
}

}  // namespace surd::test
