#include "autograd/blas.hpp"
#include "autograd/kernels/elementwise.hpp"
#include "autograd/ops.hpp"

#include <algorithm>

namespace surd {

std::vector<std::string> names_of(Activation) {
  return {"none", "relu", "gelu", "gelu_tanh", "tanh", "sigmoid", "silu"};
}

namespace {

using blas::no;
using blas::yes;
constexpr std::size_t rows_at_once = 16;

void forward(Activation activation, const Real* x, Real* y, std::size_t n) {
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: return kernels::relu(x, y, n);
    case Activation::gelu: return kernels::gelu(x, y, n);
    case Activation::gelu_tanh: return kernels::gelu_tanh(x, y, n);
    case Activation::tanh: return kernels::tanh(x, y, n);
    case Activation::sigmoid: return kernels::sigmoid(x, y, n);
    case Activation::silu: return kernels::silu(x, y, n);
  }
}

/// Whether the derivative is taken at the activation's input; the others have one that follows from their result.
bool saves_input(Activation activation) {
  return activation == Activation::gelu || activation == Activation::gelu_tanh || activation == Activation::silu;
}

/// `saved` is the activation's input or result, as saves_input() says.
void backward(Activation activation, const Real* saved, const Real* dy, Real* dx, std::size_t n) {
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: return kernels::relu_backward(saved, dy, dx, n);
    case Activation::gelu: return kernels::gelu_backward(saved, dy, dx, n);
    case Activation::gelu_tanh: return kernels::gelu_tanh_backward(saved, dy, dx, n);
    case Activation::tanh: return kernels::tanh_backward(saved, dy, dx, n);
    case Activation::sigmoid: return kernels::sigmoid_backward(saved, dy, dx, n);
    case Activation::silu: return kernels::silu_backward(saved, dy, dx, n);
  }
}

}  // namespace

// y = f(z), z = x W^T + b;  dz = dy f'(z),  dx = dz W,  dW = dz^T x,  db = sum over rows of dz
Variable linear(Variable x, Variable weight, Variable bias, Activation activation) {
  expect(x.dimension() >= 1 && weight.dimension() == 2 && x.shape().back() == weight.shape()[1], "linear",
         "takes x [..., in] and weight [out, in]; got {} and {}", x.shape(), weight.shape());
  const std::size_t rows = row_count(x.value()), in = weight.shape()[1], out = weight.shape()[0];
  expect(!bias || bias.shape() == Shape{out}, "linear", "takes a bias [out] = [{}]; got {}", out,
         bias ? bias.shape() : Shape{});
  Tensor y(with_last_axis(x.shape(), out));
  const bool relu = activation == Activation::relu;
  blas::linear(rows, out, in, x.value().data(), weight.value().data(), bias ? bias.value().data() : nullptr, relu,
               y.data());

  Tensor before(Shape{0});  // the activation's input
  if (saves_input(activation) && x.tape().needs_gradient({x, weight, bias})) before = y;
  if (!relu) forward(activation, y.data(), y.data(), y.size());

  return x.tape().record("linear", std::move(y), {x, weight, bias},
                         [=, before = std::move(before)](BackwardPass& pass) {
                           Tensor dz = pass.take_gradient();
                           const Real* saved = saves_input(activation) ? before.data() : pass.value().data();
                           Real* const db = pass.cleared_slot(bias);
                           // By rows that stay in the cache between the two.
                           for (std::size_t r = 0; r < rows; r += rows_at_once) {
                             const std::size_t count = std::min(rows_at_once, rows - r);
                             Real* part = dz.data() + r * out;
                             backward(activation, saved + r * out, part, part, count * out);
                             if (db != nullptr) kernels::sum_rows(part, db, count, out);
                           }
                           if (pass.needs(weight)) {
                             const auto dw = pass.slot(weight);
                             blas::gemm(yes, no, out, in, rows, 1, dz.data(), x.value().data(), dw.beta, dw.data);
                           }
                           if (pass.needs(x)) {
                             const auto dx = pass.slot(x);
                             blas::gemm(no, no, rows, in, out, 1, dz.data(), weight.value().data(), dx.beta, dx.data);
                           }
                         });
}

Variable activate(Variable x, Activation activation) {
  if (activation == Activation::none) return x;
  Tensor y = empty_like(x.value());
  forward(activation, x.value().data(), y.data(), y.size());
  return x.tape().record("activation", std::move(y), {x}, [=](BackwardPass& pass) {
    Tensor dx = pass.take_gradient();
    const Tensor& saved = saves_input(activation) ? x.value() : pass.value();
    backward(activation, saved.data(), dx.data(), dx.data(), dx.size());
    pass.accumulate(x, std::move(dx));
  });
}

Variable relu(Variable x) { return activate(x, Activation::relu); }
Variable gelu(Variable x) { return activate(x, Activation::gelu); }
Variable gelu_tanh(Variable x) { return activate(x, Activation::gelu_tanh); }
Variable tanh(Variable x) { return activate(x, Activation::tanh); }
Variable sigmoid(Variable x) { return activate(x, Activation::sigmoid); }
Variable silu(Variable x) { return activate(x, Activation::silu); }

}  // namespace surd
