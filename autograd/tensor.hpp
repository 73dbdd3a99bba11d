#pragma once

#include "autograd/base/error.hpp"
#include "autograd/pool.hpp"

#include <xtensor/xarray.hpp>

#include <cstddef>

static_assert(__cplusplus < 202002L, "xtensor 0.24 reads out of bounds as C++20; compile this as C++17");

namespace surd {

/// The one arithmetic type of a build: float, or double in the second build (target names end in _f64).
#ifdef SURD_DOUBLE
using Real = double;
#else
using Real = float;
#endif

using Shape = xt::svector<std::size_t, 4>;

/// Dense row-major array over the pool. `Tensor(shape)` leaves the elements uninitialised; take zeros() for zeros.
using Tensor = xt::xarray_container<xt::uvector<Real, PoolAllocator<Real>>, xt::layout_type::row_major, Shape>;

Tensor zeros(const Shape& shape);
Tensor full(const Shape& shape, Real value);
inline Tensor empty_like(const Tensor& tensor) { return Tensor(tensor.shape()); }

/// Product of the axes; 1 for a scalar.
std::size_t element_count(const Shape& shape);

/// Length of the last axis, and the number of rows of that length. Precondition: at least one axis.
inline std::size_t row_length(const Tensor& tensor) { return tensor.shape().back(); }
inline std::size_t row_count(const Tensor& tensor) {
  std::size_t count = 1;  // not size / length: a row may be empty
  for (std::size_t i = 0; i + 1 < tensor.dimension(); ++i) count *= tensor.shape()[i];
  return count;
}

/// `shape` with its last axis replaced.
Shape with_last_axis(Shape shape, std::size_t length);

/// Whether every element is finite (neither NaN nor infinite).
bool all_finite(const Tensor& tensor);

}  // namespace surd
