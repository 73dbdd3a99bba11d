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
  options.query_key_norm = true;
  Bench bench;
  const MultiHeadAttention layer(bench.scope / "attention", d, 4, options);
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

TEST_CASE("subtract_max is off when it is off: exp overflows") {
  MultiHeadOptions options;
  options.scale = Scale::constant(sizeof(Real) == 4 ? 1e3 : 1e4);
  for (const bool subtract : {true, false}) {
    options.subtract_max = subtract;
    Bench bench;
    const MultiHeadAttention layer(bench.scope / "attention", d, 4, options);
    Tape tape;
    const Variable x = tape.input(test::random_tensor({1, 3, d}, 1));
    CHECK(all_finite(layer(x, x, {}).value()) == subtract);
  }
}

}  // namespace
}  // namespace surd
