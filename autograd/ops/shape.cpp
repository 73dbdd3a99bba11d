#include "autograd/kernels/elementwise.hpp"
#include "autograd/ops.hpp"

#include <xtensor/xmanipulation.hpp>

#include <algorithm>

namespace surd {
namespace {

/// y = factor sum(x);  dx = factor dy everywhere
Variable scaled_sum(const char* op, Variable x, Real factor) {
  Tensor y = full({1}, factor * kernels::sum(x.value().data(), x.value().size()));
  return x.tape().record(op, std::move(y), {x}, [=](BackwardPass& pass) {
    pass.accumulate(x, full(x.shape(), factor * pass.gradient().data()[0]));
  });
}

/// Elements from one index of `axis` to the next, and the number of blocks before it.
struct AxisLayout {
  std::size_t outer = 1, inner = 1;
  AxisLayout(const Shape& shape, std::size_t axis) {
    for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  }
};

Tensor transposed(const Tensor& x, const std::vector<std::size_t>& axes) { return Tensor(xt::transpose(x, axes)); }

}  // namespace

Variable sum(Variable x) { return scaled_sum("sum", x, 1); }

Variable mean(Variable x) {
  expect(x.value().size() > 0, x, "mean", "takes at least one element; got {}", x.shape());
  return scaled_sum("mean", x, 1 / static_cast<Real>(x.value().size()));
}

Variable reshape(Variable x, const Shape& shape) {
  expect(element_count(shape) == x.value().size(), x, "reshape", "cannot make {} of {}", shape, x.shape());
  Tensor y = x.value();
  y.reshape(shape);
  return x.tape().record("reshape", std::move(y), {x}, [=](BackwardPass& pass) {
    Tensor dx = pass.take_gradient();
    dx.reshape(x.shape());
    pass.accumulate(x, std::move(dx));
  });
}

// The backward of a permutation is its inverse.
Variable transpose(Variable x, const std::vector<std::size_t>& axes) {
  std::vector<std::size_t> inverse(axes.size(), axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < axes.size()) inverse[axes[i]] = i;
  expect(axes.size() == x.dimension() && std::count(inverse.begin(), inverse.end(), axes.size()) == 0, x, "transpose",
         "the axes must be a permutation of the {} axes of {}; got {}", x.dimension(), x.shape(), axes);
  return x.tape().record("transpose", transposed(x.value(), axes), {x},
                         [=](BackwardPass& pass) { pass.accumulate(x, transposed(pass.gradient(), inverse)); });
}

// The backward of a slice writes into zeros.
Variable slice(Variable x, std::size_t axis, std::size_t begin, std::size_t end) {
  expect(axis < x.dimension() && begin <= end && end <= x.shape()[axis], x, "slice",
         "[{}, {}) of axis {} does not lie in {}", begin, end, axis, x.shape());
  const AxisLayout layout(x.shape(), axis);
  const std::size_t full_run = x.shape()[axis] * layout.inner, run = (end - begin) * layout.inner;
  Shape shape = x.shape();
  shape[axis] = end - begin;
  Tensor y(shape);
  for (std::size_t o = 0; o < layout.outer; ++o)
    std::copy_n(x.value().data() + o * full_run + begin * layout.inner, run, y.data() + o * run);
  return x.tape().record("slice", std::move(y), {x}, [=](BackwardPass& pass) {
    Tensor dx = zeros(x.shape());
    for (std::size_t o = 0; o < layout.outer; ++o)
      std::copy_n(pass.gradient().data() + o * run, run, dx.data() + o * full_run + begin * layout.inner);
    pass.accumulate(x, std::move(dx));
  });
}

// The backward of a concatenation slices.
Variable concat(const std::vector<Variable>& parts, std::size_t axis) {
  expect(!parts.empty(), "concat", "takes at least one part");
  Shape shape = parts.front().shape();
  expect(axis < shape.size(), parts.front(), "concat", "axis {} does not exist in {}", axis, shape);
  shape[axis] = 0;
  for (const Variable& part : parts) {
    Shape expected = shape;
    if (part.dimension() == shape.size()) expected[axis] = part.shape()[axis];
    expect(part.shape() == expected, part, "concat", "the parts must agree in all axes but {}; got {} and {}", axis,
           parts.front().shape(), part.shape());
    shape[axis] += part.shape()[axis];
  }
  const AxisLayout layout(shape, axis);
  const std::size_t full_run = shape[axis] * layout.inner;
  Tensor y(shape);
  std::size_t offset = 0;
  for (const Variable& part : parts) {
    const std::size_t run = part.shape()[axis] * layout.inner;
    for (std::size_t o = 0; o < layout.outer; ++o)
      std::copy_n(part.value().data() + o * run, run, y.data() + o * full_run + offset);
    offset += run;
  }
  return parts.front().tape().record("concat", std::move(y), parts, [=](BackwardPass& pass) {
    std::size_t begin = 0;
    for (const Variable& part : parts) {
      const std::size_t run = part.shape()[axis] * layout.inner;
      Tensor dx = empty_like(part.value());
      for (std::size_t o = 0; o < layout.outer; ++o)
        std::copy_n(pass.gradient().data() + o * full_run + begin, run, dx.data() + o * run);
      pass.accumulate(part, std::move(dx));
      begin += run;
    }
  });
}

}  // namespace surd
