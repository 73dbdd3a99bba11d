#include "autograd/blas.hpp"
#include "autograd/kernels/elementwise.hpp"
#include "autograd/ops.hpp"

#include <algorithm>
#include <iterator>

namespace surd {

namespace {

using blas::no;
using blas::yes;
constexpr std::size_t rows_at_once = 16;

struct Function {
  const char* name;
  void (*forward)(const Real* x, Real* y, std::size_t n);
  /// `saved` is the function's input, or else its result.
  void (*backward)(const Real* saved, const Real* dy, Real* dx, std::size_t n);
  bool saves_input;
};
/// In the order of the enumerators.
constexpr Function functions[] = {
    {"none", nullptr, nullptr, false},
    {"relu", kernels::relu, kernels::relu_backward, false},
    {"gelu", kernels::gelu, kernels::gelu_backward, true},
    {"gelu_tanh", kernels::gelu_tanh, kernels::gelu_tanh_backward, true},
    {"tanh", kernels::tanh, kernels::tanh_backward, false},
    {"sigmoid", kernels::sigmoid, kernels::sigmoid_backward, false},
    {"silu", kernels::silu, kernels::silu_backward, true},
};
static_assert(std::size(functions) == static_cast<std::size_t>(Activation::silu) + 1);

const Function& function_of(Activation activation) { return functions[static_cast<std::size_t>(activation)]; }

}  // namespace

std::vector<std::string> names_of(Activation) {
  std::vector<std::string> names;
  for (const Function& function : functions) names.emplace_back(function.name);
  return names;
}

// y = f(z), z = x W^T + b;  dz = dy f'(z),  dx = dz W,  dW = dz^T x,  db = sum over rows of dz
Variable linear(Variable x, Variable weight, Variable bias, Activation activation) {
  expect(x.dimension() >= 1 && weight.dimension() == 2 && x.shape().back() == weight.shape()[1], x, "linear",
         "takes x [..., in] and weight [out, in]; got {} and {}", x.shape(), weight.shape());
  const std::size_t rows = row_count(x.value()), in = weight.shape()[1], out = weight.shape()[0];
  expect(!bias || bias.shape() == Shape{out}, x, "linear", "takes a bias [out] = [{}]; got {}", out,
         bias ? bias.shape() : Shape{});
  Tensor y(with_last_axis(x.shape(), out));
  const bool relu = activation == Activation::relu;
  const Function& f = function_of(activation);
  blas::linear(rows, out, in, x.value().data(), weight.value().data(), bias ? bias.value().data() : nullptr, relu,
               y.data());

  Tensor before(Shape{0});  // the activation's input
  if (f.saves_input && x.tape().needs_gradient({x, weight, bias})) before = y;
  if (f.forward != nullptr && !relu) f.forward(y.data(), y.data(), y.size());

  return x.tape().record("linear", std::move(y), {x, weight, bias},
                         [=, &f, before = std::move(before)](BackwardPass& pass) {
                           Tensor dz = pass.take_gradient();
                           const Real* saved = f.saves_input ? before.data() : pass.value().data();
                           Real* const db = pass.cleared_slot(bias);
                           // By rows that stay in the cache between the two.
                           for (std::size_t r = 0; r < rows; r += rows_at_once) {
                             const std::size_t count = std::min(rows_at_once, rows - r);
                             Real* part = dz.data() + r * out;
                             if (f.backward != nullptr) f.backward(saved + r * out, part, part, count * out);
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
  const Function& f = function_of(activation);
  Tensor y = empty_like(x.value());
  f.forward(x.value().data(), y.data(), y.size());
  return x.tape().record("activation", std::move(y), {x}, [=, &f](BackwardPass& pass) {
    Tensor dx = pass.take_gradient();
    const Tensor& saved = f.saves_input ? x.value() : pass.value();
    f.backward(saved.data(), dx.data(), dx.data(), dx.size());
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
