#include "autograd/kernels/elementwise.hpp"

#include "autograd/ops.hpp"

namespace surd {
namespace {

void expect_same_shape(const char* op, Variable a, Variable b) {
  expect(a.shape() == b.shape(), a, op, "takes two values of one shape; got {} and {}", a.shape(), b.shape());
}

}  // namespace

Variable add(Variable a, Variable b) {
  expect_same_shape("add", a, b);
  Tensor y = empty_like(a.value());
  kernels::add(a.value().data(), b.value().data(), y.data(), y.size());
  return a.tape().record("add", std::move(y), {a, b}, [=](BackwardPass& pass) {
    if (pass.needs(a)) pass.accumulate(a, Tensor(pass.gradient()));
    if (pass.needs(b)) pass.accumulate(b, pass.take_gradient());
  });
}

Variable subtract(Variable a, Variable b) {
  expect_same_shape("subtract", a, b);
  Tensor y = empty_like(a.value());
  kernels::subtract(a.value().data(), b.value().data(), y.data(), y.size());
  return a.tape().record("subtract", std::move(y), {a, b}, [=](BackwardPass& pass) {
    if (pass.needs(a)) pass.accumulate(a, Tensor(pass.gradient()));
    Tensor db = pass.take_gradient();
    kernels::scale(-1, db.data(), db.data(), db.size());
    pass.accumulate(b, std::move(db));
  });
}

// d(ab) = b da + a db
Variable multiply(Variable a, Variable b) {
  expect_same_shape("multiply", a, b);
  Tensor y = empty_like(a.value());
  kernels::multiply(a.value().data(), b.value().data(), y.data(), y.size());
  return a.tape().record("multiply", std::move(y), {a, b}, [=](BackwardPass& pass) {
    const auto contribute = [&pass](Variable to, Variable other) {
      if (!pass.needs(to)) return;
      Tensor contribution = empty_like(pass.gradient());
      kernels::multiply(pass.gradient().data(), other.value().data(), contribution.data(), contribution.size());
      pass.accumulate(to, std::move(contribution));
    };
    contribute(a, b);
    contribute(b, a);
  });
}

Variable soft_cap(Variable x, Real cap) {
  expect(cap > 0, x, "soft_cap", "the cap must be greater than 0; got {}", cap);
  Tensor y = empty_like(x.value());
  kernels::soft_cap(cap, x.value().data(), y.data(), y.size());
  return x.tape().record("soft_cap", std::move(y), {x}, [=](BackwardPass& pass) {
    Tensor dx = pass.take_gradient();
    kernels::soft_cap_backward(cap, pass.value().data(), dx.data(), dx.data(), dx.size());
    pass.accumulate(x, std::move(dx));
  });
}

Variable scale(Variable x, Real factor) {
  Tensor y = empty_like(x.value());
  kernels::scale(factor, x.value().data(), y.data(), y.size());
  return x.tape().record("scale", std::move(y), {x}, [=](BackwardPass& pass) {
    Tensor dx = pass.take_gradient();
    kernels::scale(factor, dx.data(), dx.data(), dx.size());
    pass.accumulate(x, std::move(dx));
  });
}

// y = s x;  dx = s dy,  ds = sum(x dy)
Variable scale_by(Variable x, Variable factor) {
  expect(factor.shape() == Shape{1}, x, "scale_by", "takes a factor [1]; got {}", factor.shape());
  Tensor y = empty_like(x.value());
  kernels::scale(factor.value().data()[0], x.value().data(), y.data(), y.size());
  return x.tape().record("scale_by", std::move(y), {x, factor}, [=](BackwardPass& pass) {
    Tensor dx = pass.take_gradient();
    if (pass.needs(factor)) pass.accumulate(factor, full({1}, kernels::dot(x.value().data(), dx.data(), dx.size())));
    kernels::scale(factor.value().data()[0], dx.data(), dx.data(), dx.size());
    pass.accumulate(x, std::move(dx));
  });
}

Variable add_bias(Variable x, Variable bias) {
  expect(x.dimension() >= 1 && bias.shape() == Shape{x.shape().back()}, x, "add_bias",
         "takes x [..., n] and bias [n]; got {} and {}", x.shape(), bias.shape());
  const std::size_t rows = row_count(x.value()), n = row_length(x.value());
  Tensor y = empty_like(x.value());
  kernels::add_bias(x.value().data(), bias.value().data(), y.data(), rows, n);
  return x.tape().record("add_bias", std::move(y), {x, bias}, [=](BackwardPass& pass) {
    if (Real* const db = pass.cleared_slot(bias)) kernels::sum_rows(pass.gradient().data(), db, rows, n);
    if (pass.needs(x)) pass.accumulate(x, pass.take_gradient());
  });
}

// dx = y dy
Variable exp(Variable x) {
  Tensor y = empty_like(x.value());
  kernels::exp(x.value().data(), y.data(), y.size());
  return x.tape().record("exp", std::move(y), {x}, [=](BackwardPass& pass) {
    Tensor dx = pass.take_gradient();
    kernels::multiply(dx.data(), pass.value().data(), dx.data(), dx.size());
    pass.accumulate(x, std::move(dx));
  });
}

// dx = dy / x
Variable log(Variable x) {
  Tensor y = empty_like(x.value());
  kernels::log(x.value().data(), y.data(), y.size());
  return x.tape().record("log", std::move(y), {x}, [=](BackwardPass& pass) {
    Tensor dx = pass.take_gradient();
    kernels::divide(dx.data(), x.value().data(), dx.data(), dx.size());
    pass.accumulate(x, std::move(dx));
  });
}

}  // namespace surd
