#include "autograd/tape.hpp"

#include "autograd/ops.hpp"
#include "tests/tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

namespace surd {
namespace {

using test::tensor_of;
using test::values_of;

TEST_CASE("a variable used twice gets both gradients") {
  Tape tape;
  const Variable x = tape.input(tensor_of({3}, {1, -2, 3}), true);
  tape.backward(sum(multiply(x, x)));
  CHECK(values_of(x.gradient()) == std::vector<double>{2, -4, 6});
}

TEST_CASE("a variable used by several ops gets the sum of their gradients") {
  Tape tape;
  const Variable x = tape.input(tensor_of({2}, {1, 2}), true);
  tape.backward(sum(add(add(scale(x, 2), multiply(x, x)), subtract(scale(x, 10), x))));
  CHECK(values_of(x.gradient()) == std::vector<double>{2 + 2 + 9, 2 + 4 + 9});
}

TEST_CASE("attention(x, x, x) adds the gradients of queries, keys and values") {
  const Tensor x = test::random_tensor({2, 3, 4});
  const AttentionArguments options{2, Real(0.5)};
  const Tensor cotangent = test::random_tensor({2, 3, 4}, 1);

  Tape shared;
  const Variable one = shared.input(x, true);
  shared.backward(attention(one, one, one, options), cotangent);

  Tape separate;
  const Variable q = separate.input(x, true), k = separate.input(x, true), v = separate.input(x, true);
  separate.backward(attention(q, k, v, options), cotangent);
  const Tensor total = q.gradient() + k.gradient() + v.gradient();
  CHECK(test::largest_difference(one.gradient(), total) < 1e-5);
}

TEST_CASE("a value that the root does not depend on has no gradient") {
  Tape tape;
  const Variable x = tape.input(tensor_of({1}, {2}), true), unused = tape.input(tensor_of({1}, {3}), true);
  const Variable constant = tape.input(tensor_of({1}, {4}));
  const Variable root = multiply(x, constant);
  exp(root);  // recorded after the root, and not part of it
  CHECK_FALSE(x.has_gradient());
  tape.backward(root);
  CHECK(values_of(x.gradient()) == std::vector<double>{4});
  CHECK_FALSE(unused.has_gradient());
  CHECK_FALSE(constant.has_gradient());
  CHECK_FALSE(root.has_gradient());
  CHECK_FALSE(Variable().has_gradient());
  CHECK_THROWS_WITH_AS(unused.gradient(),
                       "gradient: this variable has no gradient; only inputs that ask for one keep it", Error);
}

TEST_CASE("the cotangent of backward is the factor on each element") {
  Tape tape;
  const Variable x = tape.input(tensor_of({3}, {1, 2, 3}), true);
  tape.backward(multiply(x, x), tensor_of({3}, {1, 10, 0}));
  CHECK(values_of(x.gradient()) == std::vector<double>{2, 40, 0});
}

#ifdef __SSE__
TEST_CASE("gradients too small for a normal number are zeros, values are not") {
  const Real smallest = std::numeric_limits<Real>::min();
  Tape tape;
  const Variable x = tape.input(tensor_of({1}, {static_cast<double>(smallest)}), true);
  const Variable y = scale(x, 0.5);
  CHECK(y.value().data()[0] > 0);
  tape.backward(y, full({1}, smallest));
  CHECK(x.gradient().data()[0] == 0);
}
#endif

TEST_CASE("parameters collect gradients over passes until they are cleared") {
  ParameterSet parameters;
  Parameter& w = parameters.add("w", tensor_of({2}, {3, 4}));
  CHECK(w.gradient.empty);
  for (const double expected : {6, 12, 18}) {
    Tape tape;
    tape.backward(sum(multiply(tape.parameter(w), tape.parameter(w))));
    CHECK_FALSE(w.gradient.empty);
    CHECK(w.gradient.sum(0) == expected);
  }
  parameters.clear_gradients();
  CHECK(w.gradient.empty);
  w.gradient.sum.fill(std::numeric_limits<Real>::quiet_NaN());  // an empty sum holds garbage
  Tape tape;
  tape.backward(sum(multiply(tape.parameter(w), tape.parameter(w))));
  CHECK(values_of(w.gradient.sum) == std::vector<double>{6, 8});
}

TEST_CASE("every way of adding to a parameter overwrites the garbage of an empty sum") {
  // Each op adds a parameter's gradient by itself.
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  ParameterSet parameters;
  Parameter& weight = parameters.add("weight", test::random_tensor({4, 4}, 1));
  Parameter& bias = parameters.add("bias", test::random_tensor({4}, 2));
  Parameter& gain = parameters.add("gain", test::random_tensor({4}, 3));
  Parameter& table = parameters.add("table", test::random_tensor({5, 4}, 4));
  Parameter& positions = parameters.add("positions", test::random_tensor({6, 4}, 5));
  Parameter& factor = parameters.add("factor", test::random_tensor({1}, 6));
  const auto run = [&] {
    Tape tape;
    Variable x =
        embedding_with_positions(tape.parameter(table), {1, 1, 3}, 1, 3, 2, {}, {tape.parameter(positions), 1});
    x = linear(x, tape.parameter(weight), tape.parameter(bias), Activation::gelu);
    x = layer_norm(x, tape.parameter(gain), tape.parameter(bias), Real(0.1));
    x = add_bias(rms_norm(x, tape.parameter(gain), Real(0.1)), tape.parameter(bias));
    x = add(x, scale_by(embedding(tape.parameter(table), {0, 4, 4}, {1, 3}), tape.parameter(factor)));
    x = matmul(reshape(x, {3, 4}), tape.parameter(weight));
    tape.backward(projection_cross_entropy(x, tape.parameter(table), {}, 1, {0, 2, 4}, {0, -1, 3}));
  };
  for (Parameter& parameter : parameters) parameter.gradient.sum.fill(nan);
  run();
  const auto after_garbage = [&] {
    std::vector<Tensor> gradients;
    for (Parameter& parameter : parameters) gradients.push_back(parameter.gradient.sum);
    return gradients;
  }();
  parameters.clear_gradients();
  for (Parameter& parameter : parameters) parameter.gradient.sum.fill(0);
  run();
  for (Parameter& parameter : parameters) {
    CAPTURE(parameter.name);
    CHECK(all_finite(after_garbage[parameter.index]));
    CHECK(test::largest_difference(after_garbage[parameter.index], parameter.gradient.sum) == 0);
  }
  run();  // and adds the second time
  for (Parameter& parameter : parameters) {
    CAPTURE(parameter.name);
    CHECK(test::largest_difference(2 * after_garbage[parameter.index], parameter.gradient.sum) < 1e-4);
  }
}

TEST_CASE("a layer of no rows adds 0 to the gradients of its parameters, whatever their garbage") {
  ParameterSet parameters;
  Parameter& weight = parameters.add("weight", test::random_tensor({4, 4}, 1));
  Parameter& bias = parameters.add("bias", test::random_tensor({4}, 2));
  for (Parameter& parameter : parameters) parameter.gradient.sum.fill(std::numeric_limits<Real>::quiet_NaN());
  Tape tape;
  Variable x = linear(tape.input(zeros({0, 4})), tape.parameter(weight), tape.parameter(bias), Activation::relu);
  x = rms_norm(layer_norm(x, tape.parameter(bias), tape.parameter(bias), 1), tape.parameter(bias), 1);
  tape.backward(sum(add_bias(matmul(x, tape.parameter(weight)), tape.parameter(bias))));
  for (Parameter& parameter : parameters) {
    CAPTURE(parameter.name);
    CHECK(test::largest_difference(parameter.gradient.sum, zeros(parameter.value.shape())) == 0);
  }
}

TEST_CASE("a replica adds gradients to its own buffers") {
  ParameterSet parameters;
  Parameter& a = parameters.add("a", tensor_of({2}, {1, 2}));
  Parameter& b = parameters.add("b", tensor_of({2}, {3, 4}));
  Parameter& untouched = parameters.add("c", tensor_of({2}, {5, 6}));
  std::vector<GradientSum> first = parameters.make_gradients(), second = parameters.make_gradients();
  const auto run = [&](std::vector<GradientSum>* gradients, Real factor) {
    TapeArguments options;
    options.gradients = gradients;
    Tape tape(options);
    tape.backward(scale(sum(multiply(tape.parameter(a), tape.parameter(b))), factor));
  };
  run(&first, 1);
  run(&second, 10);
  CHECK(a.gradient.empty);
  CHECK(values_of(first[0].sum) == std::vector<double>{3, 4});
  CHECK(values_of(second[1].sum) == std::vector<double>{10, 20});
  CHECK(first[2].empty);
  for (std::vector<GradientSum>* gradients : {&first, &second})
    for (Parameter& parameter : parameters) parameter.gradient.take((*gradients)[parameter.index]);
  CHECK(values_of(a.gradient.sum) == std::vector<double>{33, 44});
  CHECK(values_of(b.gradient.sum) == std::vector<double>{11, 22});
  CHECK(untouched.gradient.empty);
  CHECK((first[0].empty && second[0].empty));
  run(&first, 1);  // the buffers are usable again
  CHECK(values_of(first[0].sum) == std::vector<double>{3, 4});
}

TEST_CASE("parameters are found by name") {
  ParameterSet parameters;
  parameters.add("encoder.weight", zeros({2, 3}));
  parameters.add("encoder.bias", zeros({2}));
  CHECK(&parameters.find("encoder.bias") == &parameters[1]);
  CHECK(parameters[1].index == 1);
  CHECK(parameters.element_count() == 8);
  CHECK_THROWS_WITH_AS(parameters.find("encoder.wieght"),
                       "ParameterSet: there is no 'encoder.wieght'; did you mean 'encoder.weight'?", Error);
  CHECK_THROWS_WITH_AS(parameters.find("x"), "ParameterSet: there is no 'x'", Error);
  CHECK_THROWS_WITH_AS(parameters.add("encoder.bias", zeros({1})), "ParameterSet: 'encoder.bias' exists already",
                       Error);
}

class Recorder : public Observer {
 public:
  void see(const Event& event) override {
    auto& seen = event.kind == Event::Kind::gradient ? gradients : values;
    seen.emplace_back(event.path, event.what, event.tensor.size());
  }
  using Seen = std::tuple<std::string, std::string, std::size_t>;
  std::vector<Seen> values, gradients;
};

TEST_CASE("an observer sees values as they are recorded and gradients as they are consumed, with paths") {
  Recorder recorder;
  TapeArguments options;
  options.observer = &recorder;
  Tape tape(options);
  const std::string outer = "encoder", inner = "encoder.0.attention";
  ParameterSet parameters;
  Parameter& gain = parameters.add("encoder.gain", full({1}, 2));
  {
    const Tape::Region region(tape, outer);
    Variable x = tape.input(test::random_tensor({1, 2, 4}));
    x = scale_by(x, tape.parameter(gain));
    {
      const Tape::Region nested(tape, inner);
      x = attention(x, x, x, {1, 1});
    }
    x = relu(x);
    tape.backward(sum(x));
  }
  using Seen = std::vector<Recorder::Seen>;
  CHECK(recorder.values == Seen{{"encoder", "input", 8},
                                {"encoder.gain", "parameter", 1},
                                {"encoder", "scale_by", 8},
                                {"encoder.0.attention", "factor", 1},
                                {"encoder.0.attention", "scores", 4},
                                {"encoder.0.attention", "weights", 4},
                                {"encoder.0.attention", "attention", 8},
                                {"encoder", "activation", 8},
                                {"encoder", "sum", 1},
                                {"encoder.0.attention", "scores_gradient", 4},
                                {"encoder.0.attention", "query_gradient", 8}});
  CHECK(recorder.gradients == Seen{{"encoder", "sum", 1},
                                   {"encoder", "activation", 8},
                                   {"encoder.0.attention", "attention", 8},
                                   {"encoder", "scale_by", 8}});
}

TEST_CASE("an event says what it is of, on which side of the model, in backward too") {
  class Kinds : public Observer {
   public:
    void see(const Event& event) override {
      constexpr const char* kinds[] = {"leaf", "result", "quantity", "gradient"};
      constexpr const char* sides[] = {"none", "source", "target"};
      seen.push_back(fmt::format("{} {} {} {}", kinds[static_cast<std::size_t>(event.kind)],
                                 sides[static_cast<std::size_t>(event.side)], event.path, event.what));
    }
    std::vector<std::string> seen;
  };
  Kinds kinds;
  TapeArguments options;
  options.observer = &kinds;
  Tape tape(options);
  CHECK(tape.observed());
  const std::string path = "embedding";
  ParameterSet parameters;
  Parameter& table = parameters.add("table", full({3, 2}, 1));
  Variable x;
  {
    const Tape::Region region(tape, path);
    const Tape::OnSide side(tape, ModelSide::target);
    {
      const Tape::OnSide nested(tape, ModelSide::source);
      x = embedding_with_positions(tape.parameter(table), {1, 2}, 1, 2, 1, {}, {});
    }
    x = relu(x);
  }
  tape.backward(sum(x));
  CHECK(kinds.seen == std::vector<std::string>{"leaf source table parameter", "quantity source embedding tokens",
                                               "result source embedding embedding_with_positions",
                                               "result target embedding activation", "result none  sum",
                                               "gradient none  sum", "gradient target embedding activation",
                                               "gradient source embedding embedding_with_positions",
                                               "quantity source table gradient_from_lookups"});
}

TEST_CASE("first_non_finite names the path and the op") {
  Tape tape;
  const std::string path = "decoder.1.feed_forward";
  const Variable x = tape.input(tensor_of({2}, {1, 1000}));
  CHECK(tape.first_non_finite() == "");
  {
    const Tape::Region region(tape, path);
    exp(scale(x, 1));
    log(scale(x, -1));
  }
  CHECK(tape.first_non_finite() == "decoder.1.feed_forward: exp");
  tape.clear();
  CHECK(tape.first_non_finite() == "");
  log(tape.input(tensor_of({1}, {-1})));
  CHECK(tape.first_non_finite() == "log");
  tape.clear();
  ParameterSet parameters;
  Parameter& w = parameters.add("w", tensor_of({1}, {std::numeric_limits<double>::infinity()}));
  tape.parameter(w);
  CHECK(tape.first_non_finite() == "w: parameter");
}

TEST_CASE("streams of a tape depend on its seed and step") {
  TapeArguments options;
  options.seed = 5;
  options.step = 9;
  Tape tape(options);
  CHECK(tape.stream("dropout", "a").bits(3) == random::Stream(5, "dropout", "a", 9).bits(3));
}

TEST_CASE("random masks belong to rows of the full batch") {
  // Two tapes on halves of a batch drop what one tape drops.
  const Tensor x = full({4, 3, 8}, 1);
  const random::Stream stream(1, "dropout", "x");
  AttentionArguments options{2, 1};
  options.dropout = 0.5;
  options.stream = stream;
  const auto run = [&](std::size_t first, std::size_t last) {
    TapeArguments tape_options;
    tape_options.first_row = first;
    Tape tape(tape_options);
    const Variable part = slice(tape.constant(x), 0, first, last);
    return std::pair<Tensor, Tensor>(dropout(part, 0.5, stream).value(), attention(part, part, part, options).value());
  };
  const auto whole = run(0, 4), head = run(0, 1), tail = run(1, 4);
  for (const bool use_attention : {false, true}) {
    const auto pick = [&](const std::pair<Tensor, Tensor>& p) { return values_of(use_attention ? p.second : p.first); };
    std::vector<double> joined = pick(head);
    for (const double value : pick(tail)) joined.push_back(value);
    CHECK(joined == pick(whole));
    CHECK(*std::min_element(joined.begin(), joined.end()) != *std::max_element(joined.begin(), joined.end()));
  }
}

TEST_CASE("dropout keeps the mean and is off outside training") {
  TapeArguments options;
  Tape tape(options);
  const Variable x = tape.input(full({1000, 100}, 1));
  const Variable y = dropout(x, 0.25, tape.stream("dropout", "x"));
  const std::vector<double> values = values_of(y.value());
  const auto dropped = std::count(values.begin(), values.end(), 0);
  const auto kept = std::count(values.begin(), values.end(), static_cast<double>(1 / Real(0.75)));
  CHECK(dropped + kept == 100000);
  CHECK(std::fabs(static_cast<double>(dropped) / 1e5 - 0.25) < 4 * std::sqrt(0.25 * 0.75 / 1e5));
  CHECK(dropout(x, 0, tape.stream("dropout", "x")).index() == x.index());
  options.training = false;
  tape.reset(options);
  const Variable z = tape.input(full({3}, 1));
  CHECK(dropout(z, 0.9, tape.stream("dropout", "x")).index() == z.index());
}

}  // namespace
}  // namespace surd
