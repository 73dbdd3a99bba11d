#include "autograd/ops.hpp"
#include "autograd/tape.hpp"
#include "tests/tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace surd {
namespace {

static_assert(std::is_trivially_copyable_v<Variable>);

/// What a backward function saved; counts how many are alive.
struct Saved {
  explicit Saved(int& live) : live_(&live) { ++*live_; }
  Saved(Saved&& other) noexcept : live_(other.live_) { other.live_ = nullptr; }
  ~Saved() {
    if (live_ != nullptr) --*live_;
  }
  int* live_;
};

/// x -> x, remembering a Saved.
Variable pass_through(Variable x, int& live, std::vector<int>* seen = nullptr) {
  return x.tape().record("pass_through", Tensor(x.value()), {x}, [=, &live, saved = Saved(live)](BackwardPass& pass) {
    if (seen != nullptr) seen->push_back(live);
    pass.accumulate(x, pass.take_gradient());
  });
}

TEST_CASE("a chain of 300,000 nodes passes backward, and clears") {
  constexpr std::size_t length = 300000;
  int live = 0;
  Tape tape;
  for (int round = 0; round < 2; ++round) {
    const Variable x = tape.input(full({1}, 2), true);
    Variable y = x;
    for (std::size_t i = 0; i < length; ++i) y = pass_through(y, live);
    CHECK(live == length);
    CHECK(tape.size() == length + 1);
    if (round == 0) {
      tape.backward(y);
      CHECK(live == 0);
      CHECK(x.gradient()(0) == 1);
    }
    tape.clear();
    CHECK(live == 0);
    CHECK(tape.size() == 0);
  }
  {
    Tape other;
    Variable y = other.input(full({1}, 2), true);
    for (std::size_t i = 0; i < length; ++i) y = pass_through(y, live);
  }
  CHECK(live == 0);
}

TEST_CASE("what a node saved is released as backward passes it") {
  int live = 0;
  std::vector<int> seen;
  Tape tape;
  Variable y = tape.input(full({1}, 2), true);
  for (int i = 0; i < 5; ++i) y = pass_through(y, live, &seen);
  tape.backward(y);
  CHECK(seen == std::vector<int>{5, 4, 3, 2, 1});
}

TEST_CASE("values are released as backward passes them") {
  // Forward holds 20 values of 100 kB. Backward makes 20 gradients, and needs room for two or three at a time.
  constexpr std::size_t elements = 100000 / sizeof(Real), length = 20;
  class Peak : public Observer {
   public:
    void see(const Event& event) override {
      if (event.kind == Event::Kind::gradient) bytes = std::max(bytes, pool::statistics().bytes_held);
    }
    std::size_t bytes = 0;
  };
  pool::trim();
  Peak peak;
  TapeArguments options;
  options.observer = &peak;
  Tape tape(options);
  const Tensor factor = full({elements}, Real(1.5));
  const Variable c = tape.constant(factor);
  const std::size_t empty = pool::statistics().bytes_held;
  Variable y = tape.input(full({elements}, 1), true);
  for (std::size_t i = 0; i < length; ++i) y = multiply(y, c);
  const std::size_t forward = pool::statistics().bytes_held;
  CHECK(forward - empty > length * 100000);
  tape.backward(y, full({elements}, 1));
  CHECK(peak.bytes < forward + 4 * 100000);
}

TEST_CASE("where no backward pass is to come, a tape forgets the values between what goes in and what is kept") {
  constexpr std::size_t elements = 100000 / sizeof(Real), length = 20;
  for (const bool record : {false, true}) {
    CAPTURE(record);
    pool::trim();
    Tape tape(record ? TapeArguments() : TapeArguments::inference());
    const Variable x = tape.input(full({elements}, 1), true);
    const std::size_t empty = pool::statistics().bytes_held, begin = tape.size();
    Variable y = x, first;
    for (std::size_t i = 0; i < length; ++i) {
      y = add(y, x);
      if (i == 0) first = y;
      tape.forget(begin, y);
    }
    CHECK(x.value()(0) == 1);
    CHECK(y.value()(0) == length + 1);
    CHECK((pool::statistics().bytes_held - empty < 4 * 100000) == !record);
    if (record) {
      CHECK(first.value()(0) == 2);
      tape.backward(sum(y));
      CHECK(x.gradient()(0) == length + 1);
    } else {
      CHECK_THROWS_WITH_AS(first.value(), doctest::Contains("told to forget it"), Error);
      CHECK_THROWS_AS(add(first, y), Error);
    }
  }
}

TEST_CASE("what only an observer is shown is not made where there is none") {
  constexpr std::size_t tokens = 100, d = 1000;
  class Peak : public Observer {
   public:
    void see(const Event& event) override {
      inner += event.what == "tokens";
      bytes = std::max(bytes, pool::statistics().bytes_held);
    }
    int inner = 0;
    std::size_t bytes = 0;
  };
  const Tensor table = full({1, d}, 1), positions = full({tokens, d}, 1);
  const auto pass = [&](Observer* observer) {
    TapeArguments options;
    options.observer = observer;
    Tape tape(options);
    embedding_with_positions(tape.constant(table), std::vector<std::int32_t>(tokens), 1, tokens, 2, {},
                             {tape.constant(positions)});
  };
  pool::trim();
  const pool::Statistics empty = pool::statistics();
  pass(nullptr);
  CHECK(pool::statistics().system_requests - empty.system_requests == 1);  // the result alone
  pool::trim();
  Peak peak;
  pass(&peak);
  // The result and the tokens; the positions' memory is free again.
  CHECK((peak.bytes - empty.bytes_held) / (tokens * d * sizeof(Real)) == 2);
  CHECK(peak.inner == 1);
}

TEST_CASE("no-gradient mode keeps no closures") {
  int live = 0;
  TapeArguments options;
  options.record = false;
  Tape tape(options);
  ParameterSet parameters;
  Parameter& w = parameters.add("w", full({2}, 3));
  const Variable x = tape.input(full({2}, 2), true);
  const Variable y = pass_through(multiply(x, tape.parameter(w)), live);
  CHECK(live == 0);
  CHECK_FALSE(tape.needs_gradient({x, y}));
  CHECK_THROWS_WITH_AS(tape.backward(sum(y)), "backward: the tape was not recording", Error);
  CHECK(w.gradient.empty);
}

TEST_CASE("an op on constants keeps no closure") {
  int live = 0;
  Tape tape;
  const Variable y = pass_through(tape.input(full({1}, 2)), live);
  CHECK(live == 0);
  CHECK_THROWS_WITH_AS(tape.backward(y),
                       "backward: the root must be the result of an op on something that needs a gradient", Error);
}

TEST_CASE("no-gradient mode computes the same values") {
  const Tensor x = test::random_tensor({2, 3, 4}, 1), table = test::positive_tensor({5, 4}, 2),
               gain = test::random_tensor({4}, 3);
  const random::Stream stream(1, "dropout", "x");
  AttentionArguments options{2, Real(0.5), true, {3, 1}};
  options.dropout = 0.3;
  options.stream = stream;
  const CrossEntropyArguments loss{Real(0.1), -1, 3};
  const std::vector<std::int32_t> targets = {0, -1, 4, 4, 1, 2};
  using F = std::function<Variable(Variable x, Variable table, Variable gain)>;
  const std::vector<F> ops = {
      [&](Variable v, Variable w, Variable) {
        return matmul(reshape(v, {6, 4}), transpose(w, {1, 0}));
      },
      [&](Variable v, Variable, Variable) {
        return batched_matmul(v, transpose(v, {0, 2, 1}));
      },
      [&](Variable v, Variable w, Variable) { return linear(v, w, {}, Activation::gelu); },
      [&](Variable v, Variable, Variable) { return tanh(sigmoid(relu(v))); },
      [&](Variable v, Variable w, Variable) { return add(multiply(v, v), subtract(scale(v, 2), v)), log(exp(w)); },
      [&](Variable v, Variable, Variable g) { return scale_by(add_bias(v, g), slice(g, 0, 0, 1)); },
      [&](Variable v, Variable, Variable) { return dropout(v, 0.4, stream); },
      [&](Variable v, Variable, Variable) {
        return concat({sum(v), mean(v)}, 0);
      },
      [&](Variable, Variable w, Variable) {
        return embedding(w, {0, 4}, {2});
      },
      [&](Variable, Variable w, Variable) {
        return embedding_with_positions(w, {0, 4}, 1, 2, 3, {}, {w, 1});
      },
      [&](Variable v, Variable, Variable) { return softmax(v, SubtractMax::no); },
      [&](Variable v, Variable, Variable) { return softmax(log_softmax(v), SubtractMax::yes); },
      [&](Variable v, Variable, Variable g) { return layer_norm(rms_norm(v, g, Real(0.1)), g, g, Real(0.1)); },
      [&](Variable v, Variable, Variable) { return attention(v, v, v, options); },
      [&](Variable v, Variable w, Variable) { return cross_entropy(linear(v, w), targets, loss); },
      [&](Variable v, Variable w, Variable) { return projection_cross_entropy(v, w, {}, 2, targets, loss); },
  };
  const auto run = [&](const F& f, bool record) {
    TapeArguments tape_options;
    tape_options.record = record;
    Tape tape(tape_options);
    return Tensor(f(tape.input(x, true), tape.input(table, true), tape.input(gain, true)).value());
  };
  for (std::size_t i = 0; i < ops.size(); ++i) {
    CAPTURE(i);
    // Losses sum in one order with a gradient and in another without.
    const double tolerance = i + 2 >= ops.size() ? 1e-6 : 0;
    CHECK(test::largest_difference(run(ops[i], true), run(ops[i], false)) <= tolerance);
  }
}

TEST_CASE("a tape is used again after reset") {
  Tape tape;
  for (const double value : {1, 2, 3}) {
    const Variable x = tape.input(full({2}, static_cast<Real>(value)), true);
    tape.backward(sum(multiply(x, x)));
    CHECK(x.gradient()(1) == 2 * value);
    tape.reset({});
  }
}

TEST_CASE("a backward function may not read a gradient that it has given away") {
  for (const bool twice : {false, true}) {
    Tape tape;
    const Variable x = tape.input(full({1}, 2), true);
    const Variable y = tape.record("greedy", full({1}, 4), {x}, [=](BackwardPass& pass) {
      pass.accumulate(x, pass.take_gradient());
      if (twice)
        pass.take_gradient();
      else
        pass.gradient();
    });
    CHECK_THROWS_WITH_AS(tape.backward(y), "greedy: its backward function reads the gradient it has given away", Error);
  }
}

}  // namespace
}  // namespace surd
