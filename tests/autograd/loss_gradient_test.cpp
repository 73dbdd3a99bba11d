#include "autograd/ops.hpp"
#include "tests/gradient_checks.hpp"
#include "tests/tensors.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace surd {
namespace {

using V = const std::vector<Variable>&;
using Ids = std::vector<std::int32_t>;

constexpr std::int32_t padding = -1;

struct Places {
  Shape shape;
  Ids ids;
};

TEST_CASE("gradients of embedding") {
  const std::vector<Places> cases = {{{1}, {0}},    {{3}, {2, 2, 2}},          {{2, 3}, {0, 4, 1, 4, 0, 3}},
                                     {{1, 1}, {4}}, {{2, 1, 2}, {1, 3, 1, 1}}, {{0}, {}}};
  for (const std::size_t width : {1, 3, 17}) {
    for (const Places& c : cases) {
      test::check_gradients(
          fmt::format("embedding {} of width {}", c.ids, width),
          [&](Tape&, V v) {
            const Variable y = embedding(v[0], c.ids, c.shape);
            return concat({reshape(multiply(y, y), {y.value().size()}), sum(v[0])}, 0);
          },
          [&](std::uint64_t seed) {
            return std::vector<Tensor>{test::random_tensor({5, width}, seed)};
          });
    }
  }
}

TEST_CASE("gradients of embedding_with_positions") {
  struct Case {
    std::size_t batch, length, width, first;
    Ids ids;
  };
  const std::vector<Case> cases = {{1, 1, 1, 0, {0}},
                                   {2, 3, 4, 0, {0, 1, 2, 2, 2, 4}},
                                   {3, 1, 5, 4, {4, 4, 4}},
                                   {1, 4, 17, 2, {3, 0, 3, 1}},
                                   {2, 2, 3, 1, {1, 1, 1, 1}}};
  for (const Case& c : cases) {
    const Tensor table = test::random_tensor({6, c.width}, 9);
    const auto run = [&](Variable weight, Variable positions, Variable learned = {}) {
      const Variable y =
          embedding_with_positions(weight, c.ids, c.batch, c.length, Real(2.5), learned, {positions, c.first});
      return multiply(y, y);
    };
    const auto inputs = [&](std::uint64_t seed) {
      return std::vector<Tensor>{test::random_tensor({5, c.width}, seed), test::random_tensor({6, c.width}, seed + 50)};
    };
    const auto weights = [&](std::uint64_t seed) { return std::vector<Tensor>{inputs(seed)[0]}; };
    test::check_gradients(
        "learned positions", [&](Tape&, V v) { return run(v[0], v[1]); }, inputs);
    test::check_gradients(
        "positions by places",
        [&](Tape&, V v) {
          Ids places;
          for (std::size_t i = 0; i < c.ids.size(); ++i) places.push_back(static_cast<std::int32_t>(i * i % 5));
          const Variable y = embedding_with_positions(v[0], c.ids, c.batch, c.length, Real(2.5), {}, {v[1], 0, places});
          return multiply(y, y);
        },
        inputs);
    test::check_gradients(
        "fixed positions", [&](Tape& t, V v) { return run(v[0], t.constant(table)); }, weights);
    test::check_gradients(
        "no positions", [&](Tape&, V v) { return run(v[0], {}); }, weights);
    test::check_gradients(
        "fixed weight", [&](Tape& t, V v) { return run(t.constant(table), v[0]); },
        [&](std::uint64_t seed) { return std::vector<Tensor>{inputs(seed)[1]}; });
    test::check_gradients(
        "learned factor", [&](Tape&, V v) { return run(v[0], v[1], v[2]); },
        [&](std::uint64_t seed) {
          std::vector<Tensor> all = inputs(seed);
          all.push_back(full({1}, Real(0.7)));
          return all;
        });
    test::check_gradients(
        "learned factor alone", [&](Tape& t, V v) { return run(t.constant(table), {}, v[0]); },
        [](std::uint64_t) { return std::vector<Tensor>{full({1}, Real(-1.5))}; });
  }
}

struct LossCase {
  Shape logits;
  Ids targets;
};
const std::vector<LossCase> losses = {{{1, 2}, {1}},
                                      {{3, 5}, {4, padding, 0}},
                                      {{2, 3, 17}, {16, 0, padding, padding, 3, 3}},
                                      {{1, 1, 9}, {8}},
                                      {{4, 7}, {padding, padding, padding, 6}},
                                      {{9}, {2}}};

TEST_CASE("gradients of cross_entropy") {
  for (const LossCase& c : losses) {
    for (const Real smoothing : {0.0, 0.1, 0.6}) {
      test::check_gradients(
          fmt::format("cross_entropy {} smoothing {}", c.logits, smoothing),
          [&](Tape&, V v) {
            return cross_entropy(v[0], c.targets, {smoothing, padding, 3});
          },
          [&](std::uint64_t seed) { return std::vector<Tensor>{test::random_tensor(c.logits, seed)}; });
    }
  }
}

TEST_CASE("gradients of projection_cross_entropy") {
  for (const LossCase& c : losses) {
    const std::size_t vocabulary = c.logits.back();
    for (const std::size_t width : {1, 6}) {
      test::check_gradients(
          fmt::format("projection_cross_entropy {} width {}", c.logits, width),
          [&](Tape&, V v) {
            return projection_cross_entropy(v[0], v[1], {}, Real(0.7), c.targets, {Real(0.1), padding, 2});
          },
          [&](std::uint64_t seed) {
            return std::vector<Tensor>{test::random_tensor(with_last_axis(c.logits, width), seed),
                                       test::random_tensor({vocabulary, width}, seed + 50)};
          });
    }
  }
  for (const LossCase& c : losses)
    test::check_gradients(
        fmt::format("projection_cross_entropy {} with a bias", c.logits),
        [&](Tape&, V v) {
          return projection_cross_entropy(v[0], v[1], v[2], Real(0.7), c.targets, {Real(0.1), padding, 2});
        },
        [&](std::uint64_t seed) {
          return std::vector<Tensor>{test::random_tensor(with_last_axis(c.logits, 3), seed),
                                     test::random_tensor({c.logits.back(), 3}, seed + 50),
                                     test::random_tensor({c.logits.back()}, seed + 70)};
        });
  // More rows than fit a tile of logits.
  Ids targets(600);
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = i % 7 == 3 ? padding : static_cast<std::int32_t>(i % 5);
  test::check_gradients(
      "projection_cross_entropy, three tiles",
      [&](Tape&, V v) {
        return projection_cross_entropy(v[0], v[1], v[2], 1, targets, {0, padding, 100});
      },
      {test::random_tensor({600, 3}, 1), test::random_tensor({5, 3}, 2), test::random_tensor({5}, 3)});
}

TEST_CASE("gradients of projection_cross_entropy of capped logits") {
  for (const LossCase& c : losses)
    test::check_gradients(
        fmt::format("projection_cross_entropy {} capped", c.logits),
        [&](Tape&, V v) {
          return projection_cross_entropy(v[0], v[1], v[2], Real(0.7), c.targets, {Real(0.1), padding, 2, Real(0.9)});
        },
        [&](std::uint64_t seed) {
          return std::vector<Tensor>{test::random_tensor(with_last_axis(c.logits, 3), seed),
                                     test::random_tensor({c.logits.back(), 3}, seed + 50),
                                     test::random_tensor({c.logits.back()}, seed + 70)};
        });
}

TEST_CASE("projection_cross_entropy equals scale, linear, soft_cap and cross_entropy") {
  for (const std::size_t rows : {1, 7, 255, 256, 257, 700}) {
    Ids targets(rows);
    for (std::size_t i = 0; i < rows; ++i) targets[i] = i % 3 == 1 ? padding : static_cast<std::int32_t>(i * 5 % 11);
    const Tensor x = test::random_tensor({rows, 4}, rows), w = test::random_tensor({11, 4}, rows + 1);
    const Real cap = rows % 2 == 1 ? Real(1.2) : Real(0);
    const CrossEntropyArguments options{Real(0.1), padding, 10, cap};
    Tape fused, plain;
    const Variable fx = fused.input(x, true), fw = fused.input(w, true);
    const Variable px = plain.input(x, true), pw = plain.input(w, true);
    const Variable fused_loss = projection_cross_entropy(fx, fw, {}, Real(1.5), targets, options);
    const Variable logits = scale(linear(px, pw), Real(1.5));
    const Variable plain_loss = cross_entropy(cap > 0 ? soft_cap(logits, cap) : logits, targets, options);
    CHECK(fused_loss.value()(0) == doctest::Approx(plain_loss.value()(0)).epsilon(1e-12));
    // Another factor on the loss, so that its own cotangent is not 1.
    fused.backward(scale(fused_loss, 3));
    plain.backward(scale(plain_loss, 3));
    CHECK(test::largest_difference(fx.gradient(), px.gradient()) < 1e-12);
    CHECK(test::largest_difference(fw.gradient(), pw.gradient()) < 1e-12);
  }
}

TEST_CASE("a loss of padding alone is 0 and has gradient 0") {
  const Ids targets = {padding, padding};
  Tape tape;
  const Variable x = tape.input(test::random_tensor({2, 3}), true), w = tape.input(test::random_tensor({5, 3}), true);
  const Variable fused = projection_cross_entropy(x, w, {}, 1, targets, {0, padding, 1});
  const Variable plain = cross_entropy(linear(x, w), targets, {0, padding, 1});
  CHECK(fused.value()(0) == 0);
  CHECK(plain.value()(0) == 0);
  tape.backward(add(fused, plain));
  CHECK(test::largest_difference(x.gradient(), zeros({2, 3})) == 0);
  CHECK(test::largest_difference(w.gradient(), zeros({5, 3})) == 0);
}

TEST_CASE("gradients of a parameter used twice") {
  // Tied embeddings: one matrix is looked up, and projected upon.
  ParameterSet parameters;
  Parameter& weight = parameters.add("weight", test::random_tensor({5, 4}, 1));
  Parameter& factor = parameters.add("factor", full({1}, Real(1.3)));
  const Ids source = {0, 3, 3, 1}, target = {3, 3, padding, 4};
  test::check_gradients(
      "tied, fused",
      [&](Tape& tape, V v) {
        const Variable x = add(reshape(embedding(tape.parameter(weight), source, {2, 2}), {4, 4}), v[0]);
        return projection_cross_entropy(scale_by(tanh(x), tape.parameter(factor)), tape.parameter(weight), {}, 1,
                                        target, {Real(0.1), padding, 3});
      },
      {test::random_tensor({4, 4}, 2)}, &parameters);
  test::check_gradients(
      "tied, unfused, one leaf",
      [&](Tape& tape, V v) {
        const Variable w = tape.parameter(weight);
        const Variable x = add(embedding_with_positions(w, source, 2, 2, 2, {}, {}), v[0]);
        return cross_entropy(linear(scale_by(tanh(x), tape.parameter(factor)), w), target, {Real(0.1), padding, 3});
      },
      {test::random_tensor({2, 2, 4}, 2)}, &parameters);
}

}  // namespace
}  // namespace surd
