#include "autograd/ops.hpp"
#include "tests/tensors.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

// Misuse of every op: the message names the op, the rule and the shapes.

namespace surd {
namespace {

struct Fixture {
  Tape tape;
  Variable of(const Shape& shape) { return tape.input(test::random_tensor(shape), true); }
};

#define CHECK_ERROR(expression, message) CHECK_THROWS_WITH_AS(expression, message, Error)

TEST_CASE_FIXTURE(Fixture, "errors of matrix products") {
  CHECK_ERROR(matmul(of({2, 3}), of({4, 5})), "matmul: takes [m, k] and [k, n]; got [2, 3] and [4, 5]");
  CHECK_ERROR(matmul(of({2}), of({2, 2})), "matmul: takes [m, k] and [k, n]; got [2] and [2, 2]");
  CHECK_ERROR(batched_matmul(of({1, 2, 3}), of({2, 3, 4})),
              "batched_matmul: takes [B, m, k] and [B, k, n]; got [1, 2, 3] and [2, 3, 4]");
  CHECK_ERROR(linear(of({2, 3}), of({4, 5})), "linear: takes x [..., in] and weight [out, in]; got [2, 3] and [4, 5]");
  CHECK_ERROR(linear(of({2, 3}), of({4, 3}), of({3})), "linear: takes a bias [out] = [4]; got [3]");
}

TEST_CASE_FIXTURE(Fixture, "an op within a module says in which") {
  const std::string path = "decoder.0.output";
  const Tape::Region region(tape, path);
  CHECK_ERROR(linear(of({2, 3}), of({4, 5})),
              "decoder.0.output: linear: takes x [..., in] and weight [out, in]; got [2, 3] and [4, 5]");
}

TEST_CASE_FIXTURE(Fixture, "errors of elementwise ops") {
  CHECK_ERROR(add(of({2, 3}), of({3})), "add: takes two values of one shape; got [2, 3] and [3]");
  CHECK_ERROR(subtract(of({1}), of({1, 1})), "subtract: takes two values of one shape; got [1] and [1, 1]");
  CHECK_ERROR(multiply(of({2}), of({3})), "multiply: takes two values of one shape; got [2] and [3]");
  CHECK_ERROR(scale_by(of({2}), of({2})), "scale_by: takes a factor [1]; got [2]");
  CHECK_ERROR(add_bias(of({2, 3}), of({2})), "add_bias: takes x [..., n] and bias [n]; got [2, 3] and [2]");
  CHECK_ERROR(add_bias(of({}), of({1})), "add_bias: takes x [..., n] and bias [n]; got [] and [1]");
  const random::Stream stream(0, "dropout", "x");
  CHECK_ERROR(dropout(of({2}), 1, stream), "dropout: the rate must be in [0, 1); got 1");
  CHECK_ERROR(dropout(of({2}), -0.1, stream), "dropout: the rate must be in [0, 1); got -0.1");
  CHECK_ERROR(dropout(of({2}), std::numeric_limits<double>::quiet_NaN(), stream),
              "dropout: the rate must be in [0, 1); got nan");
  CHECK_ERROR(dropout(of({}), 0.5, stream), "dropout: takes [B, ...]; got []");
}

TEST_CASE_FIXTURE(Fixture, "errors of reductions and shape ops") {
  CHECK_ERROR(mean(of({0, 3})), "mean: takes at least one element; got [0, 3]");
  CHECK_ERROR(reshape(of({2, 3}), {4}), "reshape: cannot make [4] of [2, 3]");
  CHECK_ERROR(transpose(of({2, 3}), {0, 0}),
              "transpose: the axes must be a permutation of the 2 axes of [2, 3]; got [0, 0]");
  CHECK_ERROR(transpose(of({2, 3}), {0, 2}),
              "transpose: the axes must be a permutation of the 2 axes of [2, 3]; got [0, 2]");
  CHECK_ERROR(transpose(of({2, 3}), {0}), "transpose: the axes must be a permutation of the 2 axes of [2, 3]; got [0]");
  CHECK_ERROR(slice(of({2, 3}), 1, 2, 4), "slice: [2, 4) of axis 1 does not lie in [2, 3]");
  CHECK_ERROR(slice(of({2, 3}), 1, 2, 1), "slice: [2, 1) of axis 1 does not lie in [2, 3]");
  CHECK_ERROR(slice(of({2, 3}), 2, 0, 1), "slice: [0, 1) of axis 2 does not lie in [2, 3]");
  CHECK_ERROR(concat({}, 0), "concat: takes at least one part");
  CHECK_ERROR(concat({of({2})}, 1), "concat: axis 1 does not exist in [2]");
  CHECK_ERROR(concat({of({2, 3}), of({2, 4})}, 0),
              "concat: the parts must agree in all axes but 0; got [2, 3] and [2, 4]");
  CHECK_ERROR(concat({of({2, 3}), of({2})}, 0), "concat: the parts must agree in all axes but 0; got [2, 3] and [2]");
}

TEST_CASE_FIXTURE(Fixture, "errors of embeddings") {
  CHECK_ERROR(embedding(of({5}), {0}, {1}), "embedding: takes a weight [V, d]; got [5]");
  CHECK_ERROR(embedding(of({5, 2}), {0, 1}, {3}), "embedding: 2 ids for 3 places");
  CHECK_ERROR(embedding(of({5, 2}), {0, 5}, {2}), "embedding: id 5 is not in [0, 5)");
  CHECK_ERROR(embedding(of({5, 2}), {-1}, {1}), "embedding: id -1 is not in [0, 5)");
  CHECK_ERROR(embedding_with_positions(of({5, 2}), {0, 1}, 1, 3, 1, {}, {}),
              "embedding_with_positions: 2 ids for 3 places");
  CHECK_ERROR(embedding_with_positions(of({5, 2}), {0, 1}, 1, 2, 1, {}, {of({3, 2}), 2}),
              "embedding_with_positions: takes positions [P, 2] with P at least 4; got [3, 2]");
  CHECK_ERROR(embedding_with_positions(of({5, 2}), {0, 1}, 1, 2, 1, {}, {of({4, 3}), 2}),
              "embedding_with_positions: takes positions [P, 2] with P at least 4; got [4, 3]");
  CHECK_ERROR(embedding_with_positions(of({5, 2}), {0, 1}, 1, 2, 1, of({2}), {}),
              "embedding_with_positions: takes a learned factor [1]; got [2]");
  CHECK_ERROR(embedding_with_positions(of({5, 2}), {0, 1}, 1, 2, 1, {}, {of({4, 2}), 0, {0}}),
              "embedding_with_positions: 1 places for 2 ids");
  CHECK_ERROR(embedding_with_positions(of({5, 2}), {0, 1}, 1, 2, 1, {}, {of({4, 2}), 0, {0, 4}}),
              "embedding_with_positions: takes positions [P, 2] with P at least 5; got [4, 2]");
  CHECK_ERROR(embedding_with_positions(of({5, 2}), {0, 1}, 1, 2, 1, {}, {of({4, 2}), 0, {-1, 0}}),
              "embedding_with_positions: takes no place below 0");
}

TEST_CASE_FIXTURE(Fixture, "errors of softmax and norms") {
  CHECK_ERROR(softmax(of({}), SubtractMax::yes), "softmax: takes [..., n]; got []");
  CHECK_ERROR(log_softmax(of({})), "log_softmax: takes [..., n]; got []");
  CHECK_ERROR(layer_norm(of({}), of({1}), of({1}), 1), "layer_norm: takes [..., n]; got []");
  CHECK_ERROR(layer_norm(of({2, 3}), of({2}), of({3}), 1), "layer_norm: takes a gain [n] = [3]; got [2]");
  CHECK_ERROR(layer_norm(of({2, 3}), of({3}), of({1, 3}), 1), "layer_norm: takes a bias [n] = [3]; got [1, 3]");
  CHECK_ERROR(rms_norm(of({}), {}, 1), "rms_norm: takes [..., n]; got []");
  CHECK_ERROR(rms_norm(of({2, 3}), of({4}), 1), "rms_norm: takes a gain [n] = [3]; got [4]");
}

TEST_CASE_FIXTURE(Fixture, "errors of documents in attention") {
  const Variable x = of({2, 3, 4}), longer = of({2, 4, 4});
  const auto with = [&](std::vector<std::vector<std::size_t>> documents, std::vector<std::size_t> key_lengths = {}) {
    AttentionArguments options{2, 1};
    options.documents = std::move(documents);
    options.key_lengths = std::move(key_lengths);
    return options;
  };
  const std::string takes =
      "attention: documents take as many queries as keys, their begins in each of 2 rows, and no key lengths; got q ";
  CHECK_ERROR(attention(x, x, x, with({{0}})), (takes + "[2, 3, 4], k [2, 3, 4], 1 rows, 0 key lengths").c_str());
  CHECK_ERROR(attention(x, longer, longer, with({{0}, {0}})),
              (takes + "[2, 3, 4], k [2, 4, 4], 2 rows, 0 key lengths").c_str());
  CHECK_ERROR(attention(x, x, x, with({{0}, {0}}, {3, 3})),
              (takes + "[2, 3, 4], k [2, 3, 4], 2 rows, 2 key lengths").c_str());
  for (const std::vector<std::size_t>& begins :
       {std::vector<std::size_t>{1}, std::vector<std::size_t>{0, 3}, std::vector<std::size_t>{0, 1, 1}})
    CHECK_ERROR(attention(x, x, x, with({{0}, begins})),
                fmt::format("attention: documents begin at 0 and then ever later among 3 positions; got {}",
                            fmt::join(begins, ", "))
                    .c_str());
  CHECK_ERROR(attention(x, x, x, with({{0}, {}})),
              "attention: documents begin at 0 and then ever later among 3 positions; got ");
}

TEST_CASE_FIXTURE(Fixture, "errors of ragged rows in attention") {
  const Variable x = of({1, 3, 4});
  const auto rows = [](std::vector<std::size_t> lengths) { return std::make_shared<const RaggedRows>(lengths, 3); };
  AttentionArguments options{2, 1};
  options.query_rows = rows({1, 2});
  CHECK_ERROR(attention(x, x, x, options), "attention: takes ragged rows of queries and as many of keys");
  options.key_rows = rows({3});
  CHECK_ERROR(attention(x, x, x, options), "attention: takes ragged rows of queries and as many of keys");
  options.key_rows = rows({1, 1});
  CHECK_ERROR(attention(x, x, x, options),
              "attention: rows of 3 queries and 2 keys are not those of q [1, 3, 4] and k [1, 3, 4]");
  options.key_rows = rows({2, 1});
  options.causal = true;
  CHECK_ERROR(attention(x, x, x, options),
              "attention: causal attention takes at most as many queries as keys; got 2 and 1 in row 1");
  options.causal = false;
  options.key_lengths = {2, 1};
  CHECK_ERROR(attention(x, x, x, options),
              "attention: ragged rows have no documents, key lengths or room behind the keys");
}

TEST_CASE_FIXTURE(Fixture, "errors of attention") {
  const std::string takes = "attention: takes q [B, Tq, H d_k], k [B, Tk, H d_k], v [B, Tk, H d_v]; got ";
  const AttentionArguments one{1, 1};
  CHECK_ERROR(attention(of({2, 3}), of({2, 3}), of({2, 3}), one), (takes + "[2, 3], [2, 3], [2, 3]").c_str());
  CHECK_ERROR(attention(of({1, 2, 3}), of({2, 2, 3}), of({2, 2, 3}), one),
              (takes + "[1, 2, 3], [2, 2, 3], [2, 2, 3]").c_str());
  CHECK_ERROR(attention(of({1, 2, 3}), of({1, 2, 4}), of({1, 2, 3}), one),
              (takes + "[1, 2, 3], [1, 2, 4], [1, 2, 3]").c_str());
  CHECK_ERROR(attention(of({1, 2, 3}), of({1, 4, 3}), of({1, 2, 3}), one),
              (takes + "[1, 2, 3], [1, 4, 3], [1, 2, 3]").c_str());
  const Variable x = of({1, 2, 4}), short_x = of({1, 1, 4});
  AttentionArguments options{3, 1};
  CHECK_ERROR(attention(x, x, x, options),
              "attention: 3 heads do not divide the widths of q [1, 2, 4] and v [1, 2, 4]");
  options.heads = 0;
  CHECK_ERROR(attention(x, x, x, options),
              "attention: 0 heads do not divide the widths of q [1, 2, 4] and v [1, 2, 4]");
  options.heads = 2;
  options.causal = true;
  CHECK_ERROR(attention(x, short_x, short_x, options),
              "attention: causal attention takes at most as many queries as keys; got q [1, 2, 4], k [1, 1, 4]");
  options.key_lengths = {1, 2};
  CHECK_ERROR(attention(x, x, x, options), "attention: 2 key lengths for a batch of 1");
  options.key_lengths = {3};
  CHECK_ERROR(attention(x, x, x, options), "attention: key length 3 exceeds the 2 keys");
  options.keys = 3;
  CHECK_ERROR(attention(x, x, x, options), "attention: 3 keys do not lie in k [1, 2, 4]");
  options.keys = 0;
  options.key_lengths = {};
  options.buckets = {0, 1, 0};
  CHECK_ERROR(attention(x, x, x, options), "attention: 3 buckets and no distance bias");
  options.distance_bias = of({2, 3});
  CHECK_ERROR(attention(x, x, x, options), "attention: takes a distance bias [D, 2]; got [2, 3]");
  options.distance_bias = of({2, 2});
  options.buckets = {0, 1};
  CHECK_ERROR(attention(x, x, x, options), "attention: takes 3 buckets; got 2");
  options.buckets = {0, 1, 2};
  CHECK_ERROR(attention(x, x, x, options), "attention: bucket 2 is no row of the distance bias [2, 2]");
  options.buckets = {0, 1, 1};
  options.dropout = 1;
  CHECK_ERROR(attention(x, x, x, options), "attention: the dropout rate must be in [0, 1); got 1");
}

TEST_CASE_FIXTURE(Fixture, "errors of losses") {
  const CrossEntropyArguments options{0, -1, 1};
  CHECK_ERROR(cross_entropy(of({}), {0}, options), "cross_entropy: takes logits [..., V]; got []");
  CHECK_ERROR(cross_entropy(of({2, 3}), {0}, options), "cross_entropy: 1 targets for 2 rows");
  CHECK_ERROR(cross_entropy(of({2, 3}), {0, 3}, options), "cross_entropy: target 3 is not in [0, 3)");
  CHECK_ERROR(cross_entropy(of({2, 3}), {-2, 0}, options), "cross_entropy: target -2 is not in [0, 3)");
  CHECK_ERROR(cross_entropy(of({1, 3}), {0}, {1, -1, 1}), "cross_entropy: label smoothing must be in [0, 1); got 1");
  CHECK_ERROR(cross_entropy(of({1, 3}), {0}, {0, -1, 0}), "cross_entropy: the divisor must be positive; got 0");
  CHECK_ERROR(projection_cross_entropy(of({2, 3}), of({5, 4}), {}, 1, {0, 1}, options),
              "projection_cross_entropy: takes x [..., d] and weight [V, d]; got [2, 3] and [5, 4]");
  CHECK_ERROR(projection_cross_entropy(of({2, 3}), of({5, 3}), of({3}), 1, {0, 1}, options),
              "projection_cross_entropy: takes a bias [V] = [5]; got [3]");
  CHECK_ERROR(projection_cross_entropy(of({2, 3}), of({5, 3}), {}, 1, {0, 5}, options),
              "projection_cross_entropy: target 5 is not in [0, 5)");
  CHECK_ERROR(projection_cross_entropy(of({2, 3}), of({5, 3}), {}, 1, {0}, options),
              "projection_cross_entropy: 1 targets for 2 rows");
}

TEST_CASE_FIXTURE(Fixture, "errors of the tape") {
  Tape other;
  const Variable here = of({2, 2}), there = other.input(test::random_tensor({2, 2}), true);
  CHECK_ERROR(add(here, there), "tape: the inputs of an op must be on one tape");
  CHECK_ERROR(concat({here, there}, 0), "tape: the inputs of an op must be on one tape");
  CHECK_ERROR(linear(here, here, other.input(zeros({2}))), "tape: the inputs of an op must be on one tape");
  CHECK_ERROR(tape.backward(here), "backward: the root must be a single number; got [2, 2]");
  CHECK_ERROR(tape.backward(here, zeros({4})), "backward: the cotangent must have the root's shape [2, 2]; got [4]");
  CHECK_ERROR(tape.backward(sum(there)), "backward: the root is not on this tape");
  CHECK_ERROR(tape.backward(Variable()), "backward: the root is not on this tape");
  CHECK_ERROR(add(here, Variable()), "variable: it is absent: default-constructed, on no tape");
  CHECK_ERROR(linear(Variable(), here), "variable: it is absent: default-constructed, on no tape");
}

const char* const gone = "variable: its value is gone: the tape was cleared, run backward, or told to forget it";

TEST_CASE_FIXTURE(Fixture, "a spent tape says so") {
  const Variable x = of({2}), loss = sum(multiply(x, x));
  tape.backward(loss);
  CHECK_ERROR(tape.backward(loss), "backward: the tape was run backward before; clear() it and record another pass");
  CHECK_ERROR(loss.value(), gone);
  CHECK_ERROR(relu(x), gone);
  CHECK_ERROR(tape.backward(sum(of({2}))),
              "backward: the tape was run backward before; clear() it and record another pass");
  CHECK(x.has_gradient());
  tape.clear();
  CHECK_FALSE(x.has_gradient());
  CHECK_ERROR(x.value(), gone);
  const Variable again = of({2});
  tape.backward(sum(again));
  CHECK(again.gradient()(0) == 1);
}

TEST_CASE_FIXTURE(Fixture, "a gradient of the wrong shape is refused in the name of the op") {
  const Variable x = of({2, 3});
  const Variable y = tape.record("my_op", zeros({1}), {x}, [=](BackwardPass& pass) { pass.accumulate(x, zeros({3})); });
  CHECK_ERROR(tape.backward(y), "my_op: the gradient of a [2, 3] value has shape [3]");
}

}  // namespace
}  // namespace surd
