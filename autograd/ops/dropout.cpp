#include "autograd/kernels/dropout.hpp"

#include "autograd/ops.hpp"

#include <algorithm>

namespace surd {
namespace {

/// One byte an element: whether it stayed.
using Kept = xt::uvector<std::uint8_t, PoolAllocator<std::uint8_t>>;

/// Calls f(draws, begin, count) for the parts of x that draw one after the other; all draw from where they would stand
/// in the whole padded batch.
template <class F>
void by_draws(const char* op, Variable x, const kernels::DropoutRate& rate, const random::Stream& stream, F f) {
  expect(x.dimension() >= 1, x, op, "takes [B, ...]; got {}", x.shape());
  const std::uint64_t first_row = x.tape().options().first_row;
  const std::size_t size = x.value().size();
  const RaggedRows* const rows = x.tape().ragged_rows(x.value());
  const std::size_t count = rows != nullptr ? rows->count() : x.shape()[0];
  const std::size_t d = row_length(x.value());
  const std::size_t row = rows != nullptr ? rows->longest() * d : size / std::max<std::size_t>(count, 1);
  if (count * row == size) return f(kernels::DropoutDraws{stream, first_row * row, rate}, 0, size);
  for (std::size_t b = 0; b < count; ++b)
    f(kernels::DropoutDraws{stream, (first_row + b) * row, rate}, rows->begin(b) * d, rows->length(b) * d);
}

void expect_rate(const char* op, double rate) {
  expect(rate >= 0 && rate < 1, op, "the rate must be in [0, 1); got {}", rate);
}

}  // namespace

// y = x kept / (1 - rate);  dx = dy kept / (1 - rate)
Variable dropout(Variable x, double rate, const random::Stream& stream) {
  expect_rate("dropout", rate);
  if (!x.tape().options().training || rate == 0) return x;
  const kernels::DropoutRate rounded(rate);
  Tensor y = empty_like(x.value());
  Kept kept(y.size());
  by_draws("dropout", x, rounded, stream, [&](const kernels::DropoutDraws& draws, std::size_t at, std::size_t n) {
    kernels::dropout(draws, x.value().data() + at, y.data() + at, kept.data() + at, n);
  });
  const Real keep_scale = rounded.keep_scale;
  return x.tape().record("dropout", std::move(y), {x}, [=, kept = std::move(kept)](BackwardPass& pass) {
    Tensor dx = pass.take_gradient();
    kernels::dropout_backward(kept.data(), keep_scale, dx.data(), dx.data(), dx.size());
    pass.accumulate(x, std::move(dx));
  });
}

// y = a + x kept / (1 - rate);  da = dy,  dx = dy kept / (1 - rate)
Variable add_dropout(Variable a, Variable x, double rate, const random::Stream& stream) {
  expect_rate("add_dropout", rate);
  if (!x.tape().options().training || rate == 0) return add(a, x);
  expect(a.shape() == x.shape(), a, "add_dropout", "takes two values of one shape; got {} and {}", a.shape(),
         x.shape());
  const kernels::DropoutRate rounded(rate);
  Tensor y = empty_like(x.value());
  Kept kept(y.size());
  by_draws("add_dropout", x, rounded, stream, [&](const kernels::DropoutDraws& draws, std::size_t at, std::size_t n) {
    kernels::add_dropout(draws, a.value().data() + at, x.value().data() + at, y.data() + at, kept.data() + at, n);
  });
  const Real keep_scale = rounded.keep_scale;
  return x.tape().record("add_dropout", std::move(y), {a, x}, [=, kept = std::move(kept)](BackwardPass& pass) {
    if (pass.needs(x)) {
      Tensor dx = empty_like(pass.gradient());
      kernels::dropout_backward(kept.data(), keep_scale, pass.gradient().data(), dx.data(), dx.size());
      pass.accumulate(x, std::move(dx));
    }
    if (pass.needs(a)) pass.accumulate(a, pass.take_gradient());
  });
}

}  // namespace surd
