#include "autograd/ops.hpp"
#include "tests/tensors.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

// What each op computes, against a plain loop or by hand: a gradient check passes for the wrong function as well.

namespace surd {
namespace {

using test::random_tensor;
using test::tensor_of;
using test::values_of;
using Values = std::vector<double>;

constexpr double tolerance = 100 * static_cast<double>(std::numeric_limits<Real>::epsilon());
constexpr std::int32_t padding = -1;

/// The number of the document that position t of row b belongs to.
std::ptrdiff_t document_of(const AttentionArguments& options, std::size_t b, std::size_t t) {
  if (options.documents.empty()) return 0;
  const std::vector<std::size_t>& begins = options.documents[b];
  return std::upper_bound(begins.begin(), begins.end(), t) - begins.begin();
}

/// attention() from its formula, one query at a time.
Tensor naive_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionArguments& options) {
  const std::size_t batch = q.shape()[0], queries = q.shape()[1], keys = k.shape()[1], heads = options.heads;
  const std::size_t shared_by = options.key_value_heads == 0 ? 1 : heads / options.key_value_heads;
  const std::size_t dk = q.shape()[2] / heads, dv = v.shape()[2] / (heads / shared_by);
  Tensor o = zeros({batch, queries, heads * dv});
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t key_head = h / shared_by;
      for (std::size_t t = 0; t < queries; ++t) {
        std::vector<std::size_t> visible;
        for (std::size_t j = 0; j < keys; ++j) {
          const bool real = options.key_lengths.empty() || j < options.key_lengths[b];
          // The last query sees the last key, the one before it sees all but that, ...
          const bool past = !options.causal || queries - 1 - t <= keys - 1 - j;
          if (real && past && document_of(options, b, t) == document_of(options, b, j)) visible.push_back(j);
        }
        double total = 0;
        std::vector<double> weights;
        for (const std::size_t j : visible) {
          double score = 0;
          for (std::size_t i = 0; i < dk; ++i)
            score += static_cast<double>(q(b, t, h * dk + i)) * static_cast<double>(k(b, j, key_head * dk + i));
          score *= static_cast<double>(options.factor);
          if (!options.distance_slopes.empty())
            score -= options.distance_slopes[h] * std::fabs(static_cast<double>(j) - static_cast<double>(t));
          weights.push_back(std::exp(score));
          total += weights.back();
        }
        for (std::size_t n = 0; n < visible.size(); ++n)
          for (std::size_t i = 0; i < dv; ++i)
            o(b, t, h * dv + i) +=
                static_cast<Real>(weights[n] / total * static_cast<double>(v(b, visible[n], key_head * dv + i)));
      }
    }
  }
  return o;
}

TEST_CASE("attention follows its formula") {
  struct Case {
    std::size_t batch, queries, keys, heads, dk, dv;
    std::vector<std::size_t> lengths;
    std::vector<std::vector<std::size_t>> documents = {};
    std::size_t shared_by = 1;  // heads that share keys and values
  };
  for (const Case& c : std::vector<Case>{{1, 1, 1, 1, 1, 1, {}},
                                         {2, 5, 5, 2, 3, 4, {}},
                                         {2, 3, 7, 1, 5, 2, {7, 4}},
                                         {3, 2, 9, 3, 2, 3, {1, 0, 9}},
                                         {1, 17, 33, 2, 8, 8, {30}},
                                         {1, 7, 7, 2, 3, 2, {}, {{0}}},
                                         {2, 7, 7, 2, 3, 2, {}, {{0, 3, 4}, {0, 1, 2, 3, 4, 5, 6}}},
                                         {2, 40, 40, 1, 4, 4, {}, {{0, 20}, {0, 7, 39}}},
                                         {2, 5, 6, 9, 8, 8, {}},  // more heads than are computed at once
                                         {2, 5, 6, 4, 3, 2, {}, {}, 2},
                                         {2, 34, 34, 4, 3, 2, {}, {}, 4}}) {
    const Tensor q = random_tensor({c.batch, c.queries, c.heads * c.dk}, 1);
    const Tensor k = random_tensor({c.batch, c.keys, c.heads / c.shared_by * c.dk}, 2);
    const Tensor v = random_tensor({c.batch, c.keys, c.heads / c.shared_by * c.dv}, 3);
    for (const bool causal : {false, true}) {
      for (const SubtractMax subtract_max : {SubtractMax::yes, SubtractMax::no}) {
        for (const bool sloping : {false, true}) {
          AttentionArguments options{c.heads, Real(0.4), causal, c.lengths, subtract_max};
          options.documents = c.documents;
          options.key_value_heads = c.heads / c.shared_by;
          for (std::size_t h = 0; sloping && h < c.heads; ++h)
            options.distance_slopes.push_back(0.3 / static_cast<double>(h + 1));
          Tape tape;
          const Variable o = attention(tape.input(q), tape.input(k), tape.input(v), options);
          CHECK(test::largest_difference(o.value(), naive_attention(q, k, v, options)) < tolerance);
        }
      }
    }
  }
}

TEST_CASE("an observer is shown the scores and weights of every head, however many are computed at once") {
  struct Seen : Observer {
    void see(const Event& event) override {
      if (event.kind == Event::Kind::quantity) values[std::string(event.what)] = event.tensor;
    }
    double operator()(const char* what, std::size_t h, std::size_t t, std::size_t j) const {
      return static_cast<double>(values.at(what)(0, h, t, j));
    }
    std::map<std::string, Tensor> values;
  };
  const std::size_t heads = 9, width = 8, length = 45;
  const std::vector<std::size_t> begins = {0, 3, 43, length};  // the second document is too long for short heads
  const Tensor q = random_tensor({1, length, heads * width}, 1), k = random_tensor({1, length, heads * width}, 2);
  const auto dot = [&](const Tensor& a, std::size_t t, const Tensor& b, std::size_t j, std::size_t h) {
    double sum = 0;
    for (std::size_t i = h * width; i < (h + 1) * width; ++i)
      sum += static_cast<double>(a(0, t, i)) * static_cast<double>(b(0, j, i));
    return sum;
  };
  for (const double cap : {0.0, 0.8}) {
    AttentionArguments options{heads, Real(0.4)};
    options.documents = {{0, 3, 43}};
    options.score_cap = static_cast<Real>(cap);
    Seen seen;
    TapeArguments arguments;
    arguments.observer = &seen;
    Tape tape(arguments);
    const Variable o = attention(tape.input(q, true), tape.constant(k), tape.constant(k), options);
    const Tensor d_o = random_tensor(o.shape(), 3);
    tape.backward(sum(multiply(o, tape.constant(d_o))));
    double worst = 0;
    for (std::size_t document = 0; document + 1 < begins.size(); ++document)
      for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t t = begins[document]; t < begins[document + 1]; ++t) {
          std::vector<double> scores;
          double total = 0, inner = 0;
          for (std::size_t j = begins[document]; j < begins[document + 1]; ++j) {
            const double score = 0.4 * dot(q, t, k, j, h);
            scores.push_back(cap > 0 ? cap * std::tanh(score / cap) : score);
            total += std::exp(scores.back());
            inner += std::exp(scores.back()) * dot(d_o, t, k, j, h);
          }
          for (std::size_t i = 0; i < scores.size(); ++i) {
            const std::size_t j = begins[document] + i;
            const double weight = std::exp(scores[i]) / total, share = cap > 0 ? scores[i] / cap : 0;
            const double gradient = weight * (dot(d_o, t, k, j, h) - inner / total) * (1 - share * share);
            worst = std::max({worst, std::fabs(seen("scores", h, t, j) - scores[i]),
                              std::fabs(seen("weights", h, t, j) - weight),
                              std::fabs(seen("scores_gradient", h, t, j) - gradient)});
          }
        }
    CHECK(worst < tolerance);
  }
}

TEST_CASE("a query that may see no key gets zeros, and gives no gradient") {
  Tape tape;
  const Variable q = tape.input(random_tensor({2, 3, 4}, 1), true), k = tape.input(random_tensor({2, 5, 4}, 2), true);
  const AttentionArguments options{2, 1, false, {0, 5}};
  const Variable o = attention(q, k, k, options);
  CHECK(values_of(slice(o, 0, 0, 1).value()) == Values(12, 0));
  tape.backward(sum(multiply(o, o)));
  CHECK(all_finite(q.gradient()));
  CHECK(std::all_of(q.gradient().data(), q.gradient().data() + 12, [](Real g) { return g == 0; }));
  CHECK(std::all_of(k.gradient().data(), k.gradient().data() + 20, [](Real g) { return g == 0; }));
}

TEST_CASE("padding keys and future keys have no influence at all") {
  const auto run = [](const Tensor& k, bool causal) {
    Tape tape;
    const Tensor q = random_tensor({1, 3, 4}, 1);
    const AttentionArguments options{2, 1, causal, {2}};
    return Tensor(attention(tape.constant(q), tape.constant(k), tape.constant(k), options).value());
  };
  Tensor k = random_tensor({1, 3, 4}, 2);
  const Tensor before = run(k, false), causal_before = run(k, true);
  for (std::size_t i = 8; i < 12; ++i) k.data()[i] = 1000;  // key 2 is padding
  CHECK(test::largest_difference(run(k, false), before) == 0);
  for (std::size_t i = 4; i < 8; ++i) k.data()[i] = 50;  // key 1 is in the future of query 0
  const Tensor after = run(k, true);
  for (std::size_t i = 0; i < 4; ++i) CHECK(after.data()[i] == causal_before.data()[i]);
  CHECK(after.data()[4] != causal_before.data()[4]);
}

TEST_CASE("room behind the keys is not read") {
  Tape tape;
  const Variable q = tape.input(random_tensor({2, 3, 4}, 1));
  const Tensor k = random_tensor({2, 5, 4}, 2);
  Tensor room(Shape{2, 8, 4});
  room.fill(std::numeric_limits<Real>::quiet_NaN());
  for (std::size_t b = 0; b < 2; ++b) std::copy_n(k.data() + b * 20, 20, room.data() + b * 32);
  for (const bool causal : {false, true}) {
    AttentionArguments options{2, 1, causal, {5, 4}};
    const Tensor expected = attention(q, tape.constant(k), tape.constant(k), options).value();
    options.keys = 5;
    CHECK(values_of(attention(q, tape.constant(room), tape.constant(room), options).value()) == values_of(expected));
  }
}

TEST_CASE("attention over no keys, no queries, no rows and no columns") {
  Tape tape;
  const auto of = [&](std::size_t batch, std::size_t length) {
    return tape.input(random_tensor({batch, length, 4}), true);
  };
  const AttentionArguments options{2, 1};
  const Variable no_keys = attention(of(2, 70), of(2, 0), of(2, 0), options);
  CHECK(values_of(no_keys.value()) == Values(560, 0));
  const Variable no_queries = attention(of(2, 0), of(2, 3), of(2, 3), options);
  CHECK(no_queries.shape() == Shape{2, 0, 4});
  const Variable no_rows = attention(of(0, 2), of(0, 3), of(0, 3), options);
  CHECK(no_rows.shape() == Shape{0, 2, 4});
  const Variable narrow = tape.input(Tensor(Shape{2, 3, 0}), true);
  const Variable no_columns = attention(narrow, narrow, narrow, options);
  CHECK(no_columns.shape() == Shape{2, 3, 0});
  tape.backward(add(add(sum(no_keys), sum(no_columns)), add(sum(no_queries), sum(no_rows))));
}

TEST_CASE("matrix products by hand") {
  Tape tape;
  const Variable a = tape.input(tensor_of({2, 3}, {1, 2, 3, 4, 5, 6})), b = tape.input(tensor_of({3, 1}, {1, 0, -1}));
  CHECK(values_of(matmul(a, b).value()) == Values{-2, -2});
  CHECK(
      values_of(batched_matmul(reshape(a, {2, 1, 3}), tape.input(tensor_of({2, 3, 1}, {1, 1, 1, 2, 0, 0}))).value()) ==
      Values{6, 8});
  const Variable w = tape.input(tensor_of({2, 3}, {1, 0, 0, 0, -1, 1})), bias = tape.input(tensor_of({2}, {10, -2}));
  CHECK(values_of(linear(a, w).value()) == Values{1, 1, 4, 1});
  CHECK(values_of(linear(a, w, bias).value()) == Values{11, -1, 14, -1});
  CHECK(values_of(linear(a, w, bias, Activation::relu).value()) == Values{11, 0, 14, 0});
  CHECK(linear(reshape(a, {1, 2, 1, 3}), w).shape() == Shape{1, 2, 1, 2});
  CHECK(linear(reshape(slice(a, 0, 0, 1), {3}), w).shape() == Shape{2});
}

TEST_CASE("linear of rows without elements is its bias") {
  Tape tape;
  const Variable x = tape.input(zeros({3, 0}), true), w = tape.input(zeros({2, 0}), true);
  const Variable bias = tape.input(tensor_of({2}, {5, 7}), true);
  const Variable y = linear(x, w, bias);
  CHECK(values_of(y.value()) == Values{5, 7, 5, 7, 5, 7});
  tape.backward(sum(y));
  CHECK(values_of(bias.gradient()) == Values{3, 3});
}

TEST_CASE("fused activations equal separate ones") {
  Tape tape;
  const Variable x = tape.input(random_tensor({5, 7}, 1)), w = tape.input(random_tensor({9, 7}, 2));
  const Variable b = tape.input(random_tensor({9}, 3)), z = linear(x, w, b);
  CHECK(test::largest_difference(linear(x, w, b, Activation::relu).value(), relu(z).value()) == 0);
  CHECK(test::largest_difference(linear(x, w, b, Activation::gelu).value(), gelu(z).value()) == 0);
  CHECK(test::largest_difference(linear(x, w, b, Activation::tanh).value(), tanh(z).value()) == 0);
  CHECK(test::largest_difference(linear(x, w, b, Activation::sigmoid).value(), sigmoid(z).value()) == 0);
  CHECK(activate(z, Activation::none).index() == z.index());
}

TEST_CASE("elementwise ops by hand") {
  Tape tape;
  const Variable x = tape.input(tensor_of({2, 2}, {1, -2, 3, 0})), y = tape.input(tensor_of({2, 2}, {2, 2, -1, 5}));
  CHECK(values_of(add(x, y).value()) == Values{3, 0, 2, 5});
  CHECK(values_of(subtract(x, y).value()) == Values{-1, -4, 4, -5});
  CHECK(values_of(multiply(x, y).value()) == Values{2, -4, -3, 0});
  CHECK(values_of(scale(x, Real(-0.5)).value()) == Values{-0.5, 1, -1.5, 0});
  CHECK(values_of(scale_by(x, tape.input(tensor_of({1}, {3}))).value()) == Values{3, -6, 9, 0});
  CHECK(values_of(add_bias(x, tape.input(tensor_of({2}, {10, 20}))).value()) == Values{11, 18, 13, 20});
  CHECK(values_of(relu(x).value()) == Values{1, 0, 3, 0});
  CHECK(values_of(sum(x).value()) == Values{2});
  CHECK(values_of(mean(x).value()) == Values{0.5});
  CHECK(sum(x).shape() == Shape{1});
  CHECK(values_of(sum(tape.input(zeros({0, 3}))).value()) == Values{0});
}

TEST_CASE("shape ops move every element to its place") {
  Tape tape;
  Tensor numbers(Shape{2, 3, 4});
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers.data()[i] = static_cast<Real>(i);
  const Variable x = tape.input(numbers);
  const Tensor turned = transpose(x, {2, 0, 1}).value();
  CHECK(turned.shape() == Shape{4, 2, 3});
  bool right = true;
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t l = 0; l < 4; ++l) right = right && turned(l, i, j) == numbers(i, j, l);
  CHECK(right);
  CHECK(values_of(slice(x, 1, 1, 2).value()) == Values{4, 5, 6, 7, 16, 17, 18, 19});
  CHECK(values_of(slice(x, 2, 3, 4).value()) == Values{3, 7, 11, 15, 19, 23});
  CHECK(slice(x, 0, 2, 2).shape() == Shape{0, 3, 4});
  const Variable joined = concat({slice(x, 2, 3, 4), slice(x, 2, 0, 2)}, 2);
  CHECK(joined.shape() == Shape{2, 3, 3});
  CHECK(values_of(slice(joined, 0, 1, 2).value()) == Values{15, 12, 13, 19, 16, 17, 23, 20, 21});
  CHECK(test::largest_difference(concat({slice(x, 0, 0, 1), slice(x, 0, 1, 2)}, 0).value(), numbers) == 0);
  CHECK(values_of(reshape(x, {6, 4}).value()) == values_of(numbers));
  CHECK(reshape(slice(reshape(x, {24}), 0, 3, 4), {}).shape() == Shape{});
}

TEST_CASE("embeddings by hand") {
  Tape tape;
  const Variable w = tape.input(tensor_of({3, 2}, {1, 2, 3, 4, 5, 6}));
  const Variable p = tape.input(tensor_of({4, 2}, {10, 10, 20, 20, 30, 30, 40, 40}));
  CHECK(values_of(embedding(w, {2, 0, 2}, {3}).value()) == Values{5, 6, 1, 2, 5, 6});
  CHECK(embedding(w, {2, 0}, {2, 1, 1}).shape() == Shape{2, 1, 1, 2});
  const Variable y = embedding_with_positions(w, {0, 1, 2, 2}, 2, 2, 2, {}, {p, 1});
  CHECK(y.shape() == Shape{2, 2, 2});
  CHECK(values_of(y.value()) == Values{22, 24, 36, 38, 30, 32, 40, 42});
  CHECK(values_of(embedding_with_positions(w, {1}, 1, 1, Real(0.5), {}, {{}, 7}).value()) == Values{1.5, 2});
  const Variable learned = tape.input(tensor_of({1}, {3}));
  CHECK(values_of(embedding_with_positions(w, {1}, 1, 1, Real(0.5), learned, {p, 1}).value()) == Values{24.5, 26});
  const Variable placed = embedding_with_positions(w, {0, 0, 1}, 1, 3, 1, {}, {p, 0, {2, 0, 3}});
  CHECK(values_of(placed.value()) == Values{31, 32, 11, 12, 43, 44});
}

TEST_CASE("cross_entropy by hand") {
  Tape tape;
  const Variable uniform = tape.input(zeros({3, 4}));
  const auto loss = [&](Variable logits, const std::vector<std::int32_t>& targets, double smoothing, double divisor) {
    return static_cast<double>(
        cross_entropy(logits, targets, {static_cast<Real>(smoothing), padding, static_cast<Real>(divisor)}).value()(0));
  };
  CHECK(loss(uniform, {0, 1, 2}, 0, 3) == doctest::Approx(std::log(4.0)).epsilon(tolerance));
  CHECK(loss(uniform, {0, padding, 2}, 0, 3) == doctest::Approx(std::log(4.0) * 2 / 3).epsilon(tolerance));
  CHECK(loss(uniform, {0, 1, 2}, 0.3, 1) == doctest::Approx(std::log(4.0) * 3).epsilon(tolerance));
  const Variable x = tape.input(tensor_of({1, 2}, {0, std::log(3.0)}));  // probabilities 1/4, 3/4
  CHECK(loss(x, {0}, 0, 1) == doctest::Approx(std::log(4.0)).epsilon(tolerance));
  CHECK(loss(x, {1}, 0, 1) == doctest::Approx(std::log(4.0 / 3)).epsilon(tolerance));
  CHECK(loss(x, {1}, 0.2, 1) == doctest::Approx(0.9 * std::log(4.0 / 3) + 0.1 * std::log(4.0)).epsilon(tolerance));
}

TEST_CASE("softmax and norms by hand") {
  Tape tape;
  const Variable x = tape.input(tensor_of({2, 2}, {0, std::log(3.0), 5, 5}));
  CHECK(test::largest_difference(softmax(x, SubtractMax::yes).value(), tensor_of({2, 2}, {0.25, 0.75, 0.5, 0.5})) <
        tolerance);
  CHECK(test::largest_difference(softmax(x, SubtractMax::no).value(), tensor_of({2, 2}, {0.25, 0.75, 0.5, 0.5})) <
        tolerance);
  CHECK(test::largest_difference(log_softmax(x).value(), log(softmax(x, SubtractMax::yes)).value()) < tolerance);
  const Variable y = tape.input(tensor_of({2, 2}, {1, 3, -4, 4})), gain = tape.input(tensor_of({2}, {2, 10}));
  const Variable bias = tape.input(tensor_of({2}, {0.5, 0}));
  CHECK(test::largest_difference(layer_norm(y, gain, bias, 0).value(), tensor_of({2, 2}, {-1.5, 10, -1.5, 10})) <
        tolerance);
  CHECK(test::largest_difference(layer_norm(y, gain, bias, 3).value(),
                                 tensor_of({2, 2}, {-0.5, 5, 0.5 - 8 / std::sqrt(19.0), 40 / std::sqrt(19.0)})) <
        tolerance);
  CHECK(test::largest_difference(layer_norm(y, {}, bias, 0).value(), tensor_of({2, 2}, {-0.5, 1, -0.5, 1})) <
        tolerance);
  CHECK(test::largest_difference(layer_norm(y, gain, {}, 0).value(), tensor_of({2, 2}, {-2, 10, -2, 10})) < tolerance);
  CHECK(test::largest_difference(layer_norm(y, {}, {}, 0).value(), tensor_of({2, 2}, {-1, 1, -1, 1})) < tolerance);
  CHECK(test::largest_difference(rms_norm(y, gain, 0).value(),
                                 tensor_of({2, 2}, {2 / std::sqrt(5.0), 30 / std::sqrt(5.0), -2, 10})) < tolerance);
  CHECK(test::largest_difference(rms_norm(y, {}, 9).value(),
                                 tensor_of({2, 2}, {1 / std::sqrt(14.0), 3 / std::sqrt(14.0), -0.8, 0.8})) < tolerance);
}

}  // namespace
}  // namespace surd
