#include "layers/alibi.hpp"
#include "layers/gated.hpp"
#include "layers/multi_query.hpp"
#include "layers/relative_bias.hpp"
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
  const MultiQueryAttention layer(bench.scope / "attention", bench.place(16, 4), {});
  CHECK(bench.parameters.find("attention.query.weight").value.shape() == Shape{16, 16});
  CHECK(bench.parameters.find("attention.key.weight").value.shape() == Shape{4, 16});
  CHECK(bench.parameters.find("attention.value.weight").value.shape() == Shape{4, 16});
  Bench other;
  MultiQueryOptions options;
  options.key_value_heads = 3;
  CHECK(message_of([&] { MultiQueryAttention(other.scope / "attention", other.place(16, 4), options); }) ==
        "model.attention.key_value_heads: must divide model.heads = 4; got 3");
}

TEST_CASE("rotary attention whose heads share keys and values is that of copies of these") {
  RotaryOptions options;
  Bench all, few;
  const RotaryAttention copied(all.scope / "attention", all.place(16, 4), options);
  options.key_value_heads = 2;
  const RotaryAttention shared(few.scope / "attention", few.place(16, 4), options);
  test::perturb(few.parameters);
  for (Parameter& parameter : all.parameters) {
    const Tensor& value = few.parameters.find(parameter.name).value;
    const bool is_shared = value.size() < parameter.value.size();
    CHECK(is_shared == (test::contains(parameter.name, ".key.") || test::contains(parameter.name, ".value.")));
    const std::size_t head = is_shared ? value.size() / 2 : value.size();
    for (std::size_t i = 0; i < parameter.value.size(); ++i)
      parameter.value.data()[i] = value.data()[is_shared ? i / (2 * head) * head + i % head : i];
  }
  Tape tape;
  const Variable x = tape.input(random_tensor({2, 5, 16}, 1));
  AttentionMask causal;
  causal.causal = true;
  CHECK(largest_difference(shared(x, x, causal).value(), copied(x, x, causal).value()) < rounding);
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
  CHECK(message_of([&] { RotaryAttention(bench.scope / "attention", bench.place(6, 2), {}); }) ==
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
  const RotaryAttention layer(bench.scope / "attention", bench.place(8, 2), {});
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
  const AlibiAttention layer(bench.scope / "attention", bench.place(16, 4), options);
  const MultiHeadAttention without(plain.scope / "attention", plain.place(16, 4), {});
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

// The paper's own code, of 6 heads: those of 4, and every other one of 8.
TEST_CASE("alibi's slopes for a number of heads that is no power of two") {
  Bench bench, plain;
  const AlibiAttention layer(bench.scope / "attention", bench.place(12, 6), {});
  const MultiHeadAttention without(plain.scope / "attention", plain.place(12, 6), {});
  const Tensor x = random_tensor({1, 2, 12}, 2);
  const Tensor scores = scores_of(layer, x, x), before = scores_of(without, x, x);
  const std::vector<double> slopes = {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125};
  for (std::size_t h = 0; h < 6; ++h)
    CHECK(static_cast<double>(before(0, h, 0, 1) - scores(0, h, 0, 1)) == doctest::Approx(slopes[h]).epsilon(1e-4));
}

TEST_CASE("a slope of 0 is multi_head") {
  Bench bench, plain;
  AlibiOptions options;
  options.slope = 0;
  const AlibiAttention layer(bench.scope / "attention", bench.place(16, 4), options);
  const MultiHeadAttention without(plain.scope / "attention", plain.place(16, 4), {});
  const Tensor x = random_tensor({2, 5, 16}, 2);
  CHECK(largest_difference(scores_of(layer, x, x), scores_of(without, x, x)) == 0);
}

// What T5's own code gives for 32 buckets up to a distance of 128, where the bucket changes.
TEST_CASE("distances of T5 fall into T5's buckets") {
  const auto both = [](std::ptrdiff_t distance) { return distance_bucket(distance, true, 32, 128); };
  const auto back = [](std::ptrdiff_t distance) { return distance_bucket(distance, false, 32, 128); };
  for (std::ptrdiff_t near = 0; near < 8; ++near) CHECK(both(-near) == static_cast<std::size_t>(near));
  const std::vector<std::ptrdiff_t> starts = {8, 12, 16, 23, 32, 46, 64, 91};  // of buckets 8 to 15
  for (std::size_t i = 0; i < starts.size(); ++i) {
    CHECK(both(-starts[i]) == 8 + i);
    CHECK(both(-starts[i] + 1) == 7 + i);
    CHECK(both(starts[i]) == 24 + i);
  }
  CHECK(both(-1000) == 15);
  CHECK(both(1) == 17);
  CHECK(both(1000) == 31);
  for (std::ptrdiff_t near = 0; near < 16; ++near) CHECK(back(-near) == static_cast<std::size_t>(near));
  const std::vector<std::ptrdiff_t> causal = {16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
  for (std::size_t i = 0; i < causal.size(); ++i) {
    CHECK(back(-causal[i]) == 16 + i);
    CHECK(back(-causal[i] + 1) == 15 + i);
  }
  CHECK(back(-1000) == 31);
  CHECK(back(5) == 0);  // hidden
}

TEST_CASE("relative_bias adds the number of the head and of the distance's bucket, the same in all blocks of a stack") {
  Bench bench, plain;
  RelativeBiasOptions options;
  options.buckets = 8, options.max_distance = 20;
  const RelativeBiasAttention layer(bench.scope / "0" / "attention", bench.place(16, 4), options);
  CHECK_FALSE(bench.has("0.attention.distance_bias.weight"));
  const std::size_t count = bench.parameters.size();
  const RelativeBiasAttention second(bench.scope / "1" / "attention", bench.place(16, 4), options);
  CHECK(bench.parameters.size() == 2 * count - 1);
  const Tensor& table = bench.parameters.find("distance_bias.weight").value;
  CHECK(table.shape() == Shape{8, 4});

  const MultiHeadAttention without(plain.scope / "0" / "attention", plain.place(16, 4), {});
  const Tensor queries = random_tensor({2, 3, 16}, 1), x = random_tensor({2, 30, 16}, 2);
  const auto scores = [&](const Attention& attention, std::size_t first) {
    test::Recorder recorder;
    TapeArguments arguments;
    arguments.observer = &recorder;
    Tape tape(arguments);
    attention.attend(tape.input(queries), attention.remember(tape.input(x), 0), {}, first);
    return recorder.only("0.attention: scores");
  };
  for (const std::size_t first : {0, 7}) {
    const Tensor with = scores(layer, first), before = scores(without, first);
    for (std::size_t h = 0; h < 4; ++h)
      for (std::size_t t = 0; t < 3; ++t)
        for (std::size_t j = 0; j < 30; ++j) {
          const auto distance = static_cast<std::ptrdiff_t>(j) - static_cast<std::ptrdiff_t>(first + t);
          const auto expected = static_cast<double>(table(distance_bucket(distance, true, 8, 20), h));
          CHECK(static_cast<double>(with(1, h, t, j) - before(1, h, t, j)) == doctest::Approx(expected).epsilon(1e-4));
        }
  }
}

TEST_CASE("positions do not enter where a sequence attends to another") {
  const Tensor queries = random_tensor({2, 3, 16}, 1), x = random_tensor({2, 5, 16}, 2);
  Bench plain;
  const MultiHeadAttention without(plain.scope / "attention", plain.place(16, 4), {});
  const Tensor expected = scores_of(without, queries, x);
  const auto of = [&](const char* name) {
    Bench bench;
    AttentionChoice choice(attentions(), name);
    const auto layer = choice.make(bench.scope / "attention", bench.place(16, 4, AttentionRole::cross));
    CHECK(bench.parameters.size() == plain.parameters.size());
    return scores_of(*layer, queries, x, 2);
  };
  for (const char* name : {"rotary", "alibi", "relative_bias"}) {
    CAPTURE(name);
    CHECK(largest_difference(of(name), expected) == 0);
  }
}

}  // namespace
}  // namespace surd
