#include "autograd/ops.hpp"
#include "tests/gradient_checks.hpp"
#include "tests/tensors.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

// Every op outside attention, embeddings and losses against central differences: a line an op, the shapes of its
// inputs after it. Each shape is tried with three random inputs and cotangents.

namespace surd {
namespace {

using V = const std::vector<Variable>&;
using Shapes = std::vector<Shape>;
using Draw = Tensor (*)(const Shape&, std::uint64_t);

void check(const std::string& op, const std::function<Variable(V)>& f, const std::vector<Shapes>& cases,
           Draw draw = test::random_tensor) {
  CHECK(cases.size() >= 5);
  for (const Shapes& shapes : cases) {
    test::check_gradients(
        fmt::format("{} {}", op, shapes), [&](Tape&, V v) { return f(v); },
        [&](std::uint64_t seed) {
          std::vector<Tensor> inputs;
          for (const Shape& shape : shapes) inputs.push_back(draw(shape, 100 * seed + inputs.size()));
          return inputs;
        });
  }
}

const std::vector<Shapes> one = {{{1}}, {{7}}, {{3, 1}}, {{1, 5, 9}}, {{2, 3, 1, 17}}, {{33}}};
const std::vector<Shapes> pairs = {
    {{1}, {1}}, {{7}, {7}}, {{3, 1}, {3, 1}}, {{1, 5, 9}, {1, 5, 9}}, {{2, 3, 1, 17}, {2, 3, 1, 17}}};

const random::Stream fixed(7, "dropout", "test");

TEST_CASE("gradients of matrix products") {
  check("matmul", [](V v) { return matmul(v[0], v[1]); },
        {{{1, 1}, {1, 1}}, {{1, 3}, {3, 1}}, {{2, 3}, {3, 4}}, {{5, 1}, {1, 7}}, {{7, 9}, {9, 5}}, {{3, 17}, {17, 2}}});
  check("matmul(x, x)", [](V v) { return matmul(v[0], v[0]); }, {{{1, 1}}, {{2, 2}}, {{3, 3}}, {{5, 5}}, {{9, 9}}});
  check("batched_matmul", [](V v) { return batched_matmul(v[0], v[1]); },
        {{{1, 1, 1}, {1, 1, 1}},
         {{2, 3, 1}, {2, 1, 4}},
         {{3, 1, 5}, {3, 5, 1}},
         {{1, 7, 3}, {1, 3, 2}},
         {{4, 3, 5}, {4, 5, 9}}});
}

TEST_CASE("gradients of linear") {
  const std::vector<Shapes> cases = {{{1, 1}, {1, 1}, {1}},      {{3, 5}, {7, 5}, {7}},    {{9}, {2, 9}, {2}},
                                     {{2, 1, 3}, {17, 3}, {17}}, {{2, 3, 4}, {1, 4}, {1}}, {{5, 1}, {3, 1}, {3}}};
  check(
      "linear without bias", [](V v) { return linear(v[0], v[1]); }, cases);
  check(
      "linear", [](V v) { return linear(v[0], v[1], v[2]); }, cases);
  check(
      "linear relu", [](V v) { return linear(v[0], v[1], v[2], Activation::relu); }, cases);
  check(
      "linear gelu", [](V v) { return linear(v[0], v[1], v[2], Activation::gelu); }, cases);
  check(
      "linear gelu_tanh", [](V v) { return linear(v[0], v[1], v[2], Activation::gelu_tanh); }, cases);
  check(
      "linear tanh", [](V v) { return linear(v[0], v[1], v[2], Activation::tanh); }, cases);
  check(
      "linear sigmoid", [](V v) { return linear(v[0], v[1], v[2], Activation::sigmoid); }, cases);
  check(
      "linear gelu without bias", [](V v) { return linear(v[0], v[1], {}, Activation::gelu); }, cases);
  check("linear(x, x)", [](V v) { return linear(v[0], v[0]); }, {{{1, 1}}, {{1, 4}}, {{3, 1}}, {{3, 5}}, {{9, 3}}});
}

TEST_CASE("gradients of activations") {
  check(
      "relu", [](V v) { return relu(v[0]); }, one);
  check(
      "gelu", [](V v) { return gelu(v[0]); }, one);
  check(
      "gelu_tanh", [](V v) { return gelu_tanh(v[0]); }, one);
  check(
      "tanh", [](V v) { return tanh(v[0]); }, one);
  check(
      "soft_cap", [](V v) { return soft_cap(v[0], Real(0.8)); }, one);
  check(
      "sigmoid", [](V v) { return sigmoid(v[0]); }, one);
  check(
      "activate none", [](V v) { return scale(activate(v[0], Activation::none), 3); }, one);
  check(
      "gelu, wide", [](V v) { return gelu(scale(v[0], 4)); }, one);
}

TEST_CASE("gradients of elementwise ops") {
  check(
      "add", [](V v) { return add(v[0], v[1]); }, pairs);
  check(
      "add(x, x)", [](V v) { return add(v[0], v[0]); }, one);
  check(
      "subtract", [](V v) { return subtract(v[0], v[1]); }, pairs);
  check(
      "subtract(x, 2x)", [](V v) { return subtract(v[0], scale(v[0], 2)); }, one);
  check(
      "multiply", [](V v) { return multiply(v[0], v[1]); }, pairs);
  check(
      "multiply(x, x)", [](V v) { return multiply(v[0], v[0]); }, one);
  check(
      "scale", [](V v) { return scale(v[0], Real(-2.5)); }, one);
  check(
      "scale by 0", [](V v) { return scale(v[0], 0); }, one);
  check("scale_by", [](V v) { return scale_by(v[0], v[1]); },
        {{{1}, {1}}, {{7}, {1}}, {{3, 1}, {1}}, {{1, 5, 9}, {1}}, {{2, 3, 17}, {1}}});
  check("scale_by(x, x)", [](V v) { return scale_by(v[0], v[0]); }, {{{1}}, {{1}}, {{1}}, {{1}}, {{1}}});
  check("add_bias", [](V v) { return add_bias(v[0], v[1]); },
        {{{1}, {1}}, {{5}, {5}}, {{3, 1}, {1}}, {{1, 9}, {9}}, {{2, 3, 17}, {17}}});
  check(
      "exp", [](V v) { return exp(v[0]); }, one);
  check(
      "log", [](V v) { return log(v[0]); }, one, test::positive_tensor);
  check(
      "dropout", [](V v) { return dropout(v[0], 0.3, fixed); }, one);
  check(
      "dropout, high rate", [](V v) { return dropout(v[0], 0.9, random::Stream(7, "dropout", "test", 1)); }, one);
}

TEST_CASE("gradients of reductions") {
  check(
      "sum", [](V v) { return sum(v[0]); }, one);
  check(
      "mean", [](V v) { return mean(v[0]); }, one);
  check(
      "sum of squares", [](V v) { return sum(multiply(v[0], v[0])); }, one);
}

TEST_CASE("gradients of shape ops") {
  // Squared, because the gradient of a pure copy is the same for every input.
  const auto squared = [](Variable x) { return multiply(x, x); };
  check(
      "reshape", [&](V v) { return squared(reshape(v[0], {v[0].value().size()})); }, one);
  check("reshape [2, 3, 4] to [4, 6]",
        [&](V v) {
          return squared(reshape(v[0], {4, 6}));
        },
        {{{2, 3, 4}}, {{24}}, {{1, 24}}, {{24, 1}}, {{2, 2, 2, 3}}});
  check("transpose 10",
        [&](V v) {
          return squared(transpose(v[0], {1, 0}));
        },
        {{{1, 1}}, {{1, 5}}, {{5, 1}}, {{3, 4}}, {{9, 17}}});
  check("transpose 0213",
        [&](V v) {
          return squared(transpose(v[0], {0, 2, 1, 3}));
        },
        {{{1, 1, 1, 1}}, {{2, 3, 1, 5}}, {{1, 5, 3, 1}}, {{2, 3, 4, 5}}, {{3, 1, 7, 2}}});
  check("transpose 201",
        [&](V v) {
          return squared(transpose(v[0], {2, 0, 1}));
        },
        {{{1, 1, 1}}, {{2, 3, 4}}, {{5, 1, 3}}, {{1, 7, 2}}, {{3, 5, 1}}});
  check("slice of axis 1", [&](V v) { return squared(slice(v[0], 1, 1, 3)); },
        {{{1, 3}}, {{5, 4}}, {{2, 3, 1}}, {{3, 5, 7}}, {{1, 9, 2, 3}}});
  check(
      "slice of the last axis", [&](V v) { return squared(slice(v[0], v[0].dimension() - 1, 0, 1)); }, one);
  check(
      "empty slice beside x",
      [&](V v) {
        return concat({slice(v[0], 0, 1, 1), squared(v[0])}, 0);
      },
      one);
  check("concat along axis 0",
        [&](V v) {
          return squared(concat({v[0], v[1]}, 0));
        },
        {{{1}, {1}}, {{3}, {5}}, {{1, 4}, {2, 4}}, {{3, 1}, {1, 1}}, {{2, 3, 5}, {1, 3, 5}}});
  check("concat along axis 1",
        [&](V v) {
          return squared(concat({v[0], v[1], v[0]}, 1));
        },
        {{{1, 1}, {1, 1}}, {{3, 2}, {3, 5}}, {{1, 7}, {1, 1}}, {{2, 3, 5}, {2, 1, 5}}, {{3, 2, 1}, {3, 4, 1}}});
}

TEST_CASE("gradients of softmax and norms") {
  const std::vector<Shapes> with_gain = {{{1, 2}, {2}},      {{5}, {5}},       {{3, 9}, {9}},
                                         {{2, 1, 17}, {17}}, {{2, 3, 4}, {4}}, {{4, 1}, {1}}};
  const std::vector<Shapes> with_gain_and_bias = {{{1, 2}, {2}, {2}},       {{5}, {5}, {5}},       {{3, 9}, {9}, {9}},
                                                  {{2, 1, 17}, {17}, {17}}, {{2, 3, 4}, {4}, {4}}, {{4, 1}, {1}, {1}}};
  check(
      "softmax", [](V v) { return softmax(v[0], SubtractMax::yes); }, one);
  check(
      "softmax without the max", [](V v) { return softmax(v[0], SubtractMax::no); }, one);
  check(
      "log_softmax", [](V v) { return log_softmax(v[0]); }, one);
  check(
      "layer_norm", [](V v) { return layer_norm(v[0], v[1], v[2], Real(1e-5)); }, with_gain_and_bias);
  check(
      "layer_norm, large epsilon", [](V v) { return layer_norm(v[0], v[1], v[2], Real(0.5)); }, with_gain_and_bias);
  check(
      "layer_norm, one vector as gain and bias", [](V v) { return layer_norm(v[0], v[1], v[1], Real(0.1)); },
      with_gain);
  check(
      "layer_norm without bias", [](V v) { return layer_norm(v[0], v[1], {}, Real(0.1)); }, with_gain);
  check(
      "layer_norm without gain", [](V v) { return layer_norm(v[0], {}, v[1], Real(0.1)); }, with_gain);
  check(
      "layer_norm without both", [](V v) { return layer_norm(v[0], {}, {}, Real(0.1)); }, one);
  check("layer_norm(x, x, x)", [](V v) { return layer_norm(v[0], v[0], v[0], Real(0.1)); },
        {{{1}}, {{2}}, {{5}}, {{17}}, {{33}}});
  check(
      "rms_norm", [](V v) { return rms_norm(v[0], v[1], Real(1e-5)); }, with_gain);
  check(
      "rms_norm without gain", [](V v) { return rms_norm(v[0], {}, Real(0.1)); }, one);
  check("rms_norm(x, x)", [](V v) { return rms_norm(v[0], v[0], Real(0.1)); }, {{{1}}, {{2}}, {{5}}, {{17}}, {{33}}});
}

TEST_CASE("gradients where only some inputs need them") {
  // Leaves that are constants take the other branches of backward.
  const auto kept = [](const Shape& shape) { return test::random_tensor(shape, 5); };
  const Tensor x = kept({3, 4}), square = kept({4, 4}), vector = kept({4}), factor = kept({1}), stack = kept({2, 4, 4});
  const auto half = [&](const char* name, const Shape& shape, const std::function<Variable(Tape&, Variable)>& f) {
    test::check_gradients(
        name, [&](Tape& tape, V v) { return f(tape, v[0]); }, std::vector<Tensor>{kept(shape)});
  };
  half("matmul(c, x)", {4, 5}, [&](Tape& t, Variable v) { return matmul(t.constant(x), v); });
  half("matmul(x, c)", {5, 3}, [&](Tape& t, Variable v) { return matmul(v, t.constant(x)); });
  half("batched_matmul(c, x)", {2, 4, 3}, [&](Tape& t, Variable v) { return batched_matmul(t.constant(stack), v); });
  half("batched_matmul(x, c)", {2, 3, 4}, [&](Tape& t, Variable v) { return batched_matmul(v, t.constant(stack)); });
  half("linear(x, c, c)", {3, 4},
       [&](Tape& t, Variable v) { return linear(v, t.constant(square), t.constant(vector)); });
  half("linear(c, x, c)", {4, 4}, [&](Tape& t, Variable v) { return linear(t.constant(x), v, t.constant(vector)); });
  half("linear(c, c, x)", {4},
       [&](Tape& t, Variable v) { return linear(t.constant(x), t.constant(square), v, Activation::gelu); });
  half("add(c, x)", {3, 4}, [&](Tape& t, Variable v) { return add(t.constant(x), v); });
  half("add(x, c)", {3, 4}, [&](Tape& t, Variable v) { return add(v, t.constant(x)); });
  half("subtract(c, x)", {3, 4}, [&](Tape& t, Variable v) { return subtract(t.constant(x), v); });
  half("subtract(x, c)", {3, 4}, [&](Tape& t, Variable v) { return subtract(v, t.constant(x)); });
  half("multiply(c, x)", {3, 4}, [&](Tape& t, Variable v) { return multiply(t.constant(x), v); });
  half("multiply(x, c)", {3, 4}, [&](Tape& t, Variable v) { return multiply(v, t.constant(x)); });
  half("scale_by(x, c)", {3, 4}, [&](Tape& t, Variable v) { return scale_by(v, t.constant(factor)); });
  half("scale_by(c, x)", {1}, [&](Tape& t, Variable v) { return scale_by(t.constant(x), v); });
  half("add_bias(x, c)", {3, 4}, [&](Tape& t, Variable v) { return add_bias(v, t.constant(vector)); });
  half("add_bias(c, x)", {4}, [&](Tape& t, Variable v) { return add_bias(t.constant(x), v); });
  half("concat(c, x)", {2, 4}, [&](Tape& t, Variable v) { return concat({t.constant(x), v}, 0); });
  half("layer_norm(x, c, c)", {3, 4},
       [&](Tape& t, Variable v) { return layer_norm(v, t.constant(vector), t.constant(vector), Real(0.1)); });
  half("layer_norm(c, x, c)", {4},
       [&](Tape& t, Variable v) { return layer_norm(t.constant(x), v, t.constant(vector), Real(0.1)); });
  half("layer_norm(c, c, x)", {4},
       [&](Tape& t, Variable v) { return layer_norm(t.constant(x), t.constant(vector), v, Real(0.1)); });
  half("rms_norm(x, c)", {3, 4}, [&](Tape& t, Variable v) { return rms_norm(v, t.constant(vector), Real(0.1)); });
  half("rms_norm(c, x)", {4}, [&](Tape& t, Variable v) { return rms_norm(t.constant(x), v, Real(0.1)); });
}

}  // namespace
}  // namespace surd
