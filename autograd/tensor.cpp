#include "autograd/tensor.hpp"

#include "autograd/kernels/simd.hpp"

#include <algorithm>

namespace surd {

Tensor zeros(const Shape& shape) { return full(shape, 0); }

Tensor full(const Shape& shape, Real value) {
  Tensor tensor(shape);
  std::fill_n(tensor.data(), tensor.size(), value);
  return tensor;
}

std::size_t element_count(const Shape& shape) {
  std::size_t count = 1;
  for (const std::size_t length : shape) count *= length;
  return count;
}

Shape with_last_axis(Shape shape, std::size_t length) {
  shape.back() = length;
  return shape;
}

bool all_finite(const Tensor& tensor) {
  // x - x is zero for finite x and NaN otherwise: one pass without a branch.
  return kernels::sum([](kernels::Batch u) { return u - u; }, tensor.size(), tensor.data()) == 0;
}

}  // namespace surd
