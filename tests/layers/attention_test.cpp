#include "layers/attention.hpp"

#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace surd {
namespace {

using test::Bench;

constexpr std::size_t d = 16;

TEST_CASE("query_key_norm takes the length out of queries and of keys") {
  MultiHeadOptions options;
  options.scale = Scale::Rule::one;
  options.query_key_norm = QueryKeyNorm::rms_norm;
  Bench bench;
  const MultiHeadAttention layer(bench.scope / "attention", bench.place(d, 4), options);
  const auto scores = [&] {
    test::Recorder recorder;
    TapeArguments tape_options;
    tape_options.observer = &recorder;
    Tape tape(tape_options);
    const Variable x = tape.input(test::random_tensor({2, 3, d}, 1));
    layer(x, x, {});
    return recorder.only("attention: scores");
  };
  const Tensor before = scores();
  for (const Real score : before) CHECK(std::fabs(score) <= 4 * (1 + 1e-6));  // d_k cos(q, k)
  for (const char* name : {"attention.query.weight", "attention.key.weight"}) {
    for (Real& value : bench.parameters.find(name).value) value *= 16;
    CHECK(test::relative_difference(scores(), before) < 1e-3);  // epsilon counts a little
  }
  bench.parameters.find("attention.query_norm.weight").value.fill(2);
  bench.parameters.find("attention.key_norm.weight").value.fill(4);
  CHECK(test::relative_difference(scores(), before) == doctest::Approx(7).epsilon(1e-3));
}

TEST_CASE("queries and keys of norm 1 give cosines, whatever the length") {
  MultiHeadOptions options;
  options.scale = Scale::constant(10);
  options.query_key_norm = QueryKeyNorm::l2;
  options.query_key_norm_epsilon = 1e-12;
  Bench bench;
  const MultiHeadAttention layer(bench.scope / "attention", bench.place(d, 4), options);
  CHECK_FALSE(bench.has("attention.query_norm.weight"));
  bench.parameters.find("attention.key.weight").value = bench.parameters.find("attention.query.weight").value;
  test::Recorder recorder;
  TapeArguments tape_options;
  tape_options.observer = &recorder;
  Tape tape(tape_options);
  const Variable x = tape.input(test::random_tensor({2, 3, d}, 1));
  layer(x, x, {});
  const Tensor scores = recorder.only("attention: scores");
  for (std::size_t h = 0; h < 4; ++h)
    for (std::size_t t = 0; t < 3; ++t) {
      CHECK(static_cast<double>(scores(1, h, t, t)) == doctest::Approx(10));  // of a vector with itself
      CHECK(std::fabs(static_cast<double>(scores(1, h, t, (t + 1) % 3))) < 10);
    }
}

TEST_CASE("biases are of the projections that the option names") {
  const auto with = [](const char* text) {
    ProjectionBiases biases = true;
    return biases.parse(text) ? biases.text() : "not allowed";
  };
  CHECK(with("true") == "true");
  CHECK(with("false") == "false");
  CHECK(with("output  query value") == "query value output");
  CHECK(with("query key value output") == "true");
  for (const char* text : {"", "none", "query, value", "query query", "true false", "Query"})
    CHECK(with(text) == "not allowed");
  MultiHeadOptions options;
  REQUIRE(options.bias.parse("query value"));
  Bench bench;
  const MultiHeadAttention layer(bench.scope / "attention", bench.place(d, 4), options);
  CHECK(bench.has("attention.query.bias"));
  CHECK(bench.has("attention.value.bias"));
  CHECK_FALSE(bench.has("attention.key.bias"));
  CHECK_FALSE(bench.has("attention.output.bias"));
}

TEST_CASE("the bias of the keys changes nothing, and its gradient is rounding noise") {
  Bench bench;
  const MultiHeadAttention layer(bench.scope / "attention", bench.place(d, 4), {});
  test::perturb(bench.parameters);
  const auto result = [&] {
    Tape tape;
    const Variable x = tape.input(test::random_tensor({2, 3, d}, 1));
    return layer(x, x, {}).value();
  };
  const Tensor before = result();
  Parameter& bias = bench.parameters.find("attention.key.bias");
  for (Real& value : bias.value) value += 1;
  CHECK(test::relative_difference(result(), before) < 10 * test::rounding);
  Tape tape;
  const Variable x = tape.input(test::random_tensor({2, 3, d}, 1));
  const Variable y = layer(x, x, {});
  tape.backward(sum(multiply(y, y)));
  const Parameter& query = bench.parameters.find("attention.query.bias");
  const auto largest = [](const Tensor& tensor) {
    double most = 0;
    for (const Real value : tensor) most = std::max(most, std::fabs(static_cast<double>(value)));
    return most;
  };
  CHECK(largest(bias.gradient.sum) < 100 * test::rounding * largest(query.gradient.sum));
}

TEST_CASE("subtract_max is off when it is off: exp overflows") {
  MultiHeadOptions options;
  options.scale = Scale::constant(sizeof(Real) == 4 ? 1e3 : 1e4);
  for (const bool subtract : {true, false}) {
    options.subtract_max = subtract;
    Bench bench;
    const MultiHeadAttention layer(bench.scope / "attention", bench.place(d, 4), options);
    Tape tape;
    const Variable x = tape.input(test::random_tensor({1, 3, d}, 1));
    CHECK(all_finite(layer(x, x, {}).value()) == subtract);
  }
}

}  // namespace
}  // namespace surd
