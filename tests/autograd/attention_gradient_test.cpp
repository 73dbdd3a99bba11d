#include "autograd/ops.hpp"
#include "tests/gradient_checks.hpp"
#include "tests/tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace surd {
namespace {

using V = const std::vector<Variable>&;
using Lengths = std::vector<std::size_t>;

struct Case {
  std::size_t batch, queries, keys, heads, key_width, value_width;
  Lengths key_lengths = {};
};

std::vector<Tensor> inputs_of(const Case& c, std::uint64_t seed) {
  return {test::random_tensor({c.batch, c.queries, c.heads * c.key_width}, 10 * seed),
          test::random_tensor({c.batch, c.keys, c.heads * c.key_width}, 10 * seed + 1),
          test::random_tensor({c.batch, c.keys, c.heads * c.value_width}, 10 * seed + 2)};
}

std::string text(const char* name, const Case& c) {
  return fmt::format("{}: B {} Tq {} Tk {} H {} d_k {} d_v {} lengths {}", name, c.batch, c.queries, c.keys, c.heads,
                     c.key_width, c.value_width, c.key_lengths);
}

/// `change` turns the plain options of a case into those of the kind of attention under test.
void check(const char* name, const std::function<void(AttentionArguments&)>& change, const std::vector<Case>& cases) {
  CHECK(cases.size() >= 5);
  for (const Case& c : cases) {
    AttentionArguments options{c.heads, Real(1 / std::sqrt(static_cast<double>(c.key_width)))};
    options.key_lengths = c.key_lengths;
    change(options);
    test::check_gradients(
        text(name, c), [&](Tape&, V v) { return attention(v[0], v[1], v[2], options); },
        [&](std::uint64_t seed) { return inputs_of(c, seed); });
  }
}

const std::vector<Case> square = {
    {1, 1, 1, 1, 1, 1}, {2, 3, 3, 1, 5, 5}, {1, 5, 5, 2, 3, 3}, {2, 4, 4, 3, 1, 2},
    {3, 1, 1, 2, 4, 1}, {1, 9, 9, 1, 2, 3}, {1, 3, 3, 3, 2, 32}};  // two heads, and then the third
const std::vector<Case> cross = {
    {1, 1, 3, 1, 1, 1}, {2, 3, 5, 1, 5, 4}, {1, 2, 9, 2, 3, 3}, {2, 4, 7, 3, 1, 2}, {3, 1, 17, 2, 4, 1}};
const std::vector<Case> tall = {
    {1, 3, 1, 1, 1, 1}, {2, 5, 2, 1, 3, 4}, {1, 9, 4, 2, 3, 3}, {2, 7, 3, 3, 1, 2}, {1, 17, 5, 2, 2, 1}};
const std::vector<Case> padded = {{2, 3, 3, 1, 2, 2, {3, 1}}, {2, 4, 5, 2, 3, 1, {2, 5}}, {3, 2, 4, 2, 1, 3, {4, 0, 2}},
                                  {1, 3, 3, 1, 4, 4, {0}},    {2, 1, 9, 3, 2, 2, {9, 7}}, {2, 5, 5, 1, 3, 3, {5, 2}}};

// Too many queries or keys, or too wide, to be a short head (kernels::are_short_heads).
const std::vector<Case> not_short = {{1, 3, 35, 1, 2, 2, {}},
                                     {1, 34, 2, 2, 1, 2, {}},
                                     {1, 2, 3, 1, 65, 2, {2}},
                                     {1, 3, 3, 1, 2, 66},
                                     {2, 3, 33, 1, 2, 2, {33, 9}}};

TEST_CASE("gradients of attention") {
  const auto plain = [](AttentionArguments&) {};
  check("long or wide", plain, not_short);
  check("self", plain, square);
  check("fewer queries than keys", plain, cross);
  check("more queries than keys", plain, tall);
  check("key padding", plain, padded);
  check(
      "room behind the keys", [](AttentionArguments& options) { options.keys = 2; }, cross);
}

TEST_CASE("gradients of causal attention") {
  const auto causal = [](AttentionArguments& o) { o.causal = true; };
  check("causal", causal, square);
  check("causal, Tq < Tk", causal, cross);
  check("causal with key padding", causal, padded);
}

TEST_CASE("gradients of attention among the documents of a row") {
  for (const bool causal : {false, true})
    for (const double dropout : {0.0, 0.4}) {
      for (const std::size_t length : {7, 19}) {  // and scores of one register a row, or of two
        AttentionArguments options{2, Real(0.7), causal};
        options.documents = {{0, 3, 4}, {0, length - 1}};
        options.dropout = dropout;
        options.stream = random::Stream(3, "dropout", "attention");
        test::check_gradients(
            fmt::format("documents of {} positions, causal {}, dropout {}", length, causal, dropout),
            [&](Tape&, V v) { return attention(v[0], v[1], v[2], options); },
            [&](std::uint64_t seed) {
              return inputs_of({2, length, length, 2, 3, 2}, seed);
            });
      }
    }
}

TEST_CASE("what a document gets, and gives, does not depend on what else its row holds") {
  const std::size_t heads = 4, width = 12, length = 41;
  const std::vector<std::size_t> begins = {0, 4, 5, 25};
  AttentionArguments options{heads, Real(0.6), true};
  options.key_value_heads = 2;
  options.distance_slopes = {0.5, 0.25, 0.1, 0};
  const Tensor table = test::random_tensor({5, heads}, 4), q = test::random_tensor({1, length, width}, 1),
               k = test::random_tensor({1, length, width / 2}, 2), v = test::random_tensor({1, length, width / 2}, 3);
  const auto bucketed = [&](AttentionArguments arguments, Variable bias, std::size_t positions) {
    arguments.distance_bias = bias;
    for (std::size_t i = 0; i < 2 * positions - 1; ++i) {  // by how far the key is behind the query, at most 4
      const std::size_t behind = i < positions ? positions - 1 - i : 0;
      arguments.buckets.push_back(std::min<std::size_t>(behind, 4));
    }
    return arguments;
  };
  const double rounding = 100 * static_cast<double>(std::numeric_limits<Real>::epsilon());
  Tape together;
  std::vector<Variable> whole = {together.input(q, true), together.input(k, true), together.input(v, true),
                                 together.input(table, true)};
  AttentionArguments packed = bucketed(options, whole[3], length);
  packed.documents = {begins};
  const Variable o = attention(whole[0], whole[1], whole[2], packed);
  const auto value = Tensor(o.value());  // backward lets it go
  together.backward(sum(multiply(o, o)));
  Tensor table_gradient = zeros(table.shape());
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t begin = begins[i], end = i + 1 < begins.size() ? begins[i + 1] : length;
    const auto part = [&](const Tensor& x) {
      Tape tape;
      return Tensor(slice(tape.input(x), 1, begin, end).value());
    };
    Tape alone;
    const std::vector<Variable> own = {alone.input(part(q), true), alone.input(part(k), true),
                                       alone.input(part(v), true), alone.input(table, true)};
    const Variable of_own = attention(own[0], own[1], own[2], bucketed(options, own[3], end - begin));
    CHECK(test::largest_difference(part(value), of_own.value()) < rounding);
    alone.backward(sum(multiply(of_own, of_own)));
    for (std::size_t input = 0; input < 3; ++input)
      CHECK(test::largest_difference(part(whole[input].gradient()), own[input].gradient()) < rounding);
    for (std::size_t j = 0; j < table.size(); ++j) table_gradient.data()[j] += own[3].gradient().data()[j];
  }
  CHECK(test::largest_difference(whole[3].gradient(), table_gradient) < rounding);
}

/// Rows of these lengths, padded to 6.
std::shared_ptr<const RaggedRows> ragged(const Lengths& lengths) {
  return std::make_shared<const RaggedRows>(lengths, 6);
}

TEST_CASE("gradients of attention over ragged rows") {
  for (const bool causal : {false, true})
    for (const double dropout : {0.0, 0.4}) {
      AttentionArguments options{2, Real(0.7), causal};
      options.query_rows = ragged({2, 1, 4});
      options.key_rows = ragged({5, 1, 6});
      options.dropout = dropout;
      options.stream = random::Stream(3, "dropout", "attention");
      test::check_gradients(
          fmt::format("ragged rows, causal {}, dropout {}", causal, dropout),
          [&](Tape&, V v) { return attention(v[0], v[1], v[2], options); },
          [&](std::uint64_t seed) {
            return inputs_of({1, 7, 12, 2, 3, 2}, seed);
          });
    }
}

TEST_CASE("what a ragged row gets is what it gets alone") {
  const Lengths query_lengths = {2, 1, 4}, key_lengths = {5, 3, 6};
  AttentionArguments together{2, Real(0.6)};
  together.distance_slopes = {0.5, 0.1};
  together.query_rows = ragged(query_lengths);
  together.key_rows = ragged(key_lengths);
  const Tensor q = test::random_tensor({1, 7, 6}, 1), k = test::random_tensor({1, 14, 6}, 2),
               v = test::random_tensor({1, 14, 6}, 3);
  Tape tape;
  const auto part = [&](const Tensor& x, std::size_t begin, std::size_t count) {
    return slice(tape.input(x), 1, begin, begin + count);
  };
  const Tensor all = attention(tape.input(q), tape.input(k), tape.input(v), together).value();
  for (std::size_t b = 0; b < query_lengths.size(); ++b) {
    const std::size_t query = together.query_rows->begin(b), key = together.key_rows->begin(b);
    const AttentionArguments alone = [&] {
      AttentionArguments arguments{2, Real(0.6)};
      arguments.distance_slopes = together.distance_slopes;
      return arguments;
    }();
    const Variable own =
        attention(part(q, query, query_lengths[b]), part(k, key, key_lengths[b]), part(v, key, key_lengths[b]), alone);
    CHECK(test::largest_difference(part(all, query, query_lengths[b]).value(), own.value()) <
          100 * static_cast<double>(std::numeric_limits<Real>::epsilon()));
  }
}

TEST_CASE("gradients of attention with other factors") {
  check(
      "factor 1", [](AttentionArguments& o) { o.factor = 1; }, square);
  check(
      "factor 0", [](AttentionArguments& o) { o.factor = 0; }, square);
  check(
      "factor -2, without the max",
      [](AttentionArguments& o) {
        o.factor = -2;
        o.subtract_max = SubtractMax::no;
      },
      cross);
}

TEST_CASE("gradients of attention with capped scores") {
  const auto capped = [](AttentionArguments& o) {
    o.factor = 1;
    o.score_cap = Real(0.8);
  };
  check("capped", capped, cross);
  check("capped, long or wide", capped, not_short);
  check(
      "capped, padded, causal, with slopes and dropout",
      [&](AttentionArguments& o) {
        capped(o);
        o.causal = true;
        o.distance_slopes.assign(o.heads, 0.3);
        o.dropout = 0.4;
        o.stream = random::Stream(3, "dropout", "attention");
      },
      padded);
}

TEST_CASE("gradients of attention with dropout on the weights") {
  const auto dropout = [](AttentionArguments& o) {
    o.dropout = 0.4;
    o.stream = random::Stream(3, "dropout", "attention");
  };
  check("dropout", dropout, square);
  check("dropout, long or wide", dropout, not_short);
  check(
      "dropout, padded and causal",
      [&](AttentionArguments& o) {
        dropout(o);
        o.causal = true;
      },
      padded);
}

TEST_CASE("gradients of a bias by distance, of heads that are computed at once and one after the other") {
  const Case c{2, 3, 4, 3, 2, 32};
  AttentionArguments options{c.heads, Real(0.5)};
  options.buckets = {0, 1, 2, 2, 1, 0};
  test::check_gradients(
      "attention with a bias",
      [&](Tape&, V v) {
        options.distance_bias = v[3];
        return attention(v[0], v[1], v[2], options);
      },
      [&](std::uint64_t seed) {
        std::vector<Tensor> inputs = inputs_of(c, seed);
        inputs.push_back(test::random_tensor({3, c.heads}, 10 * seed + 3));
        return inputs;
      });
}

TEST_CASE("gradients of attention of x with itself") {
  for (const Shape& shape : {Shape{1, 1, 2}, Shape{2, 3, 4}, Shape{1, 5, 6}, Shape{3, 2, 2}, Shape{2, 9, 2}}) {
    AttentionArguments options{2, Real(0.7)};
    options.causal = true;
    test::check_gradients("attention(x, x, x)", [&](Tape&, V v) { return attention(v[0], v[0], v[0], options); },
                          {test::random_tensor(shape, 3)});
  }
}

TEST_CASE("gradients of attention where only one input needs them") {
  const Case c{2, 3, 4, 2, 3, 2, {4, 2}};
  AttentionArguments options{c.heads, Real(0.5)};
  options.key_lengths = c.key_lengths;
  const std::vector<Tensor> all = inputs_of(c, 1);
  for (std::size_t needed = 0; needed < 3; ++needed) {
    test::check_gradients(fmt::format("attention, input {}", needed),
                          [&](Tape& tape, V v) {
                            std::vector<Variable> x;
                            for (std::size_t i = 0; i < 3; ++i) x.push_back(i == needed ? v[0] : tape.constant(all[i]));
                            return attention(x[0], x[1], x[2], options);
                          },
                          {all[needed]});
  }
}

}  // namespace
}  // namespace surd
