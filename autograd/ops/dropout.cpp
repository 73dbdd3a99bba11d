#include "autograd/kernels/dropout.hpp"

#include "autograd/ops.hpp"

namespace surd {
namespace {

/// One byte an element: whether it stayed.
using Kept = xt::uvector<std::uint8_t, PoolAllocator<std::uint8_t>>;

kernels::DropoutDraws draws_for(const char* op, Variable x, double rate, const random::Stream& stream) {
  expect(x.dimension() >= 1, op, "takes [B, ...]; got {}", x.shape());
  const std::size_t row = x.shape()[0] == 0 ? 0 : x.value().size() / x.shape()[0];
  return {stream, x.tape().options().first_row * row, kernels::DropoutRate(rate)};
}

void expect_rate(const char* op, double rate) {
  expect(rate >= 0 && rate < 1, op, "the rate must be in [0, 1); got {}", rate);
}

}  // namespace

// y = x kept / (1 - rate);  dx = dy kept / (1 - rate)
Variable dropout(Variable x, double rate, const random::Stream& stream) {
  expect_rate("dropout", rate);
  if (!x.tape().options().training || rate == 0) return x;
  const auto draws = draws_for("dropout", x, rate, stream);
  Tensor y = empty_like(x.value());
  Kept kept(y.size());
  kernels::dropout(draws, x.value().data(), y.data(), kept.data(), y.size());
  const Real keep_scale = draws.rate.keep_scale;
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
  expect(a.shape() == x.shape(), "add_dropout", "takes two values of one shape; got {} and {}", a.shape(), x.shape());
  const auto draws = draws_for("add_dropout", x, rate, stream);
  Tensor y = empty_like(x.value());
  Kept kept(y.size());
  kernels::add_dropout(draws, a.value().data(), x.value().data(), y.data(), kept.data(), y.size());
  const Real keep_scale = draws.rate.keep_scale;
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
