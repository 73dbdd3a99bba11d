#include "layers/alibi.hpp"
#include "layers/gated.hpp"
#include "layers/multi_query.hpp"
#include "layers/rotary.hpp"
#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

// The layers beyond Vaswani et al.: what their formulas say, in numbers.

namespace surd {
namespace {

using test::Bench;
using test::largest_difference;
using test::message_of;
using test::random_tensor;
using test::relative_difference;
using test::rounding;

Tensor scores_of(const Attention& layer, const Tensor& queries, const Tensor& x, std::size_t first_position = 0) {
  test::Recorder recorder;
  TapeArguments options;
  options.observer = &recorder;
  Tape tape(options);
  layer.attend(tape.input(queries), layer.remember(tape.input(x), 0), {}, first_position);
  return recorder.only("attention: scores");
}

TEST_CASE("silu(x) is x sigmoid(x), and goes to 0 and to x") {
  Tape tape;
  const Variable x = tape.input(test::tensor_of({5}, {-1000, -1, 0, 2, 1000}));
  const Tensor y = silu(x).value();
  CHECK(largest_difference(y, multiply(x, sigmoid(x)).value()) < 1e-6);
  CHECK(y[0] == 0);
  CHECK(y[4] == 1000);
  CHECK(static_cast<double>(y[3]) == doctest::Approx(1.7615941559557649));
}

TEST_CASE("a gated feed-forward is W2 (activation(W x) * V x)") {
  for (const Activation gate : {Activation::sigmoid, Activation::silu, Activation::gelu, Activation::relu}) {
    Bench bench;
    const GatedFeedForward layer(bench.scope / "f", 4, {6, gate});
    Tape tape;
    const Variable x = tape.input(random_tensor({2, 3, 4}, 1));
    const auto map = [&](Variable v, const char* name) {
      return linear(v, tape.parameter(bench.parameters.find(fmt::format("f.{}.weight", name))));
    };
    const Variable hidden = multiply(activate(map(x, "gate"), gate), map(x, "inner"));
    CHECK(relative_difference(layer(x).value(), map(hidden, "outer").value()) < rounding);
  }
}

TEST_CASE("heads that share keys and values attend as heads with copies of them do") {
  const std::size_t batch = 2, queries = 3, keys = 4, width = 2;
  Tape tape;
  const Variable q = tape.input(random_tensor({batch, queries, 4 * width}, 1));
  for (const std::size_t shared : {1, 2, 4}) {
    const Variable k = tape.input(random_tensor({batch, keys, shared * width}, 2));
    const Variable v = tape.input(random_tensor({batch, keys, shared * width}, 3));
    const auto copies = [&](Variable x) {
      std::vector<Variable> heads;
      for (std::size_t h = 0; h < 4; ++h) {
        const std::size_t begin = h / (4 / shared) * width;
        heads.push_back(slice(x, 2, begin, begin + width));
      }
      return concat(heads, 2);
    };
    AttentionArguments options{4, Real(0.5)};
    const Tensor expected = attention(q, copies(k), copies(v), options).value();
    options.key_value_heads = shared;
    CHECK(largest_difference(attention(q, k, v, options).value(), expected) < rounding);
  }
  AttentionArguments options{4, 1};
  options.key_value_heads = 3;
  const Variable three = tape.input(random_tensor({batch, keys, 3 * width}));
  CHECK(message_of([&] { attention(q, three, three, options); }) ==
        "attention: 3 heads of k and v do not divide 4 heads of q");
  options.key_value_heads = 1;
  CHECK(message_of([&] { attention(q, three, three, options); }) ==
        "attention: takes q [B, Tq, H d_k], k [B, Tk, 1 d_k], v [B, Tk, 1 d_v]; got [2, 3, 8], [2, 4, 6], [2, 4, 6]");
  options = {4, 1};
  options.distance_slopes = {1, 2};
  CHECK(message_of([&] { attention(q, q, q, options); }) == "attention: 2 distance slopes for 4 heads");
}

TEST_CASE("multi_query has one head of keys and values, and says so where they do not divide") {
  Bench bench;
  const MultiQueryAttention layer(bench.scope / "attention", 16, 4, {});
  CHECK(bench.parameters.find("attention.query.weight").value.shape() == Shape{16, 16});
  CHECK(bench.parameters.find("attention.key.weight").value.shape() == Shape{4, 16});
  CHECK(bench.parameters.find("attention.value.weight").value.shape() == Shape{4, 16});
  Bench other;
  MultiQueryOptions options;
  options.key_value_heads = 3;
  CHECK(message_of([&] { MultiQueryAttention(other.scope / "attention", 16, 4, options); }) ==
        "model.attention.key_value_heads: must divide model.heads = 4; got 3");
}

TEST_CASE("rotary turns pair i at position p by p base^(-2i / d_k) and keeps lengths") {
  Tape tape;
  const Tensor x = random_tensor({1, 2, 8}, 1);  // two heads of two pairs
  const Tensor y = rotary(tape.input(x), 2, 5, 100).value();
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t pair = 0; pair < 4; ++pair) {
      const double angle = static_cast<double>(5 + t) * (pair % 2 == 0 ? 1 : 0.1);
      const auto a = static_cast<double>(x(0, t, 2 * pair)), b = static_cast<double>(x(0, t, 2 * pair + 1));
      CHECK(static_cast<double>(y(0, t, 2 * pair)) ==
            doctest::Approx(std::cos(angle) * a - std::sin(angle) * b).epsilon(1e-5));
      CHECK(static_cast<double>(y(0, t, 2 * pair + 1)) ==
            doctest::Approx(std::sin(angle) * a + std::cos(angle) * b).epsilon(1e-5));
    }
  CHECK(message_of([&] { rotary(tape.input(x), 3, 0, 100); }) ==
        "rotary: 3 heads do not divide x [1, 2, 8] into an even width");
  Bench bench;
  CHECK(message_of([&] { RotaryAttention(bench.scope / "attention", 6, 2, {}); }) ==
        "model.heads: must divide model.d_model = 6 into heads of an even width, of which rotary attention turns "
        "pairs; got 2 of width 3");
}

/// The same row at every position.
Tensor repeated(const Tensor& row, std::size_t length) {
  Tensor x(Shape{1, length, row.size()});
  for (std::size_t t = 0; t < length; ++t) std::copy_n(row.data(), row.size(), x.data() + t * row.size());
  return x;
}

TEST_CASE("rotary scores of equal tokens depend on their distance, and on nothing else") {
  Bench bench;
  const RotaryAttention layer(bench.scope / "attention", 8, 2, {});
  const Tensor x = repeated(random_tensor({8}, 1), 6);
  const Tensor scores = scores_of(layer, x, x);
  double change = 0;
  for (std::size_t h = 0; h < 2; ++h)
    for (std::size_t t = 0; t + 1 < 6; ++t)
      for (std::size_t j = 0; j + 1 < 6; ++j) {
        CHECK(static_cast<double>(scores(0, h, t, j)) ==
              doctest::Approx(static_cast<double>(scores(0, h, t + 1, j + 1))).epsilon(1e-4));
        change = std::max(change, std::fabs(static_cast<double>(scores(0, h, t, j) - scores(0, h, t, j + 1))));
      }
  CHECK(change > 1e-2);
}

TEST_CASE("alibi scores lose 2^(-8h/H) a position of distance") {
  Bench bench, plain;
  AlibiOptions options;
  options.slope = 2;
  const AlibiAttention layer(bench.scope / "attention", 16, 4, options);
  const MultiHeadAttention without(plain.scope / "attention", 16, 4, {});
  const Tensor queries = random_tensor({2, 3, 16}, 1), x = random_tensor({2, 5, 16}, 2);
  for (const std::size_t first : {0, 2}) {
    Tensor difference = scores_of(without, queries, x);
    const Tensor scores = scores_of(layer, queries, x, first);
    for (std::size_t i = 0; i < difference.size(); ++i) difference.data()[i] -= scores.data()[i];
    for (std::size_t b = 0; b < 2; ++b)
      for (std::size_t h = 0; h < 4; ++h)
        for (std::size_t t = 0; t < 3; ++t)
          for (std::size_t j = 0; j < 5; ++j) {
            const double distance = std::fabs(static_cast<double>(first + t) - static_cast<double>(j));
            const double expected = 2 * std::pow(0.25, static_cast<double>(h + 1)) * distance;
            CHECK(std::fabs(static_cast<double>(difference(b, h, t, j)) - expected) < 1e-5);
          }
  }
}

TEST_CASE("a slope of 0 is multi_head") {
  Bench bench, plain;
  AlibiOptions options;
  options.slope = 0;
  const AlibiAttention layer(bench.scope / "attention", 16, 4, options);
  const MultiHeadAttention without(plain.scope / "attention", 16, 4, {});
  const Tensor x = random_tensor({2, 5, 16}, 2);
  CHECK(largest_difference(scores_of(layer, x, x), scores_of(without, x, x)) == 0);
}

}  // namespace
}  // namespace surd
