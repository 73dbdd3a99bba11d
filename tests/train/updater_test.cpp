#include "train/updater.hpp"

#include "tests/train/toy.hpp"
#include "train/probe/statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>

namespace surd {
namespace {

using test::gradients_of;
using test::message_of;
using test::same_bits;

constexpr std::size_t different_tokens = 5;

Batch batch_of_seven() { return make_batch(test::copy_pairs(7, 1, 6, different_tokens), {0, 1, 2, 3, 4, 5, 6}); }

/// A training on no pairs, with three replicas, whose updates are asked for one by one.
struct LargeTraining {
  explicit LargeTraining(const OptimizerRegistry& table, const char* name)
      : optimizer(OptimizerChoice(table, name).make(toy.parameters)) {
    REQUIRE(toy.parameters.element_count() >= Replicas::least_shared);
    options.replicas = 3;
    options.clip_norm = 0.5;
  }

  test::Toy toy{Vocabulary::specials + different_tokens, test::large_toy_options()};
  std::unique_ptr<Optimizer> optimizer;
  ConstantSchedule schedule{0, {}};
  std::vector<SentencePair> none;
  TrainOptions options;
  Training training{toy.transformer, toy.parameters, *optimizer, schedule, none, none, test::no_words, 7};
  TrainListener listener;
};

TEST_CASE("an update by several threads has the bits of one after the other") {
  const Batch batch = batch_of_seven();
  for (const char* name : {"sgd", "adam", "adamw", "adafactor", "lion"}) {
    CAPTURE(name);
    LargeTraining shared(optimizers(), name), alone(optimizers(), name);
    Updater updater(shared.training, shared.options);
    Replicas replicas(alone.toy.transformer, alone.toy.parameters, 3);
    for (std::uint64_t update = 1; update <= 3; ++update) {
      const UpdateRecord record = updater.update({batch}, update, 0, shared.listener);
      alone.toy.parameters.clear_gradients();
      replicas.accumulate(batch, {Real(0), static_cast<Real>(batch.target_tokens()), 7, update});
      double sum = 0;
      for (const Tensor& gradient : gradients_of(alone.toy.parameters))
        sum += squares(gradient.data(), gradient.size());
      CHECK(record.gradient_norm == std::sqrt(sum));
      REQUIRE(record.gradient_norm > 0.5);
      alone.optimizer->step(1, 0.5 / (record.gradient_norm + 1e-6));
      CHECK(same_bits(test::values_of(shared.toy.parameters), test::values_of(alone.toy.parameters)));
      CHECK(same_bits(*shared.optimizer, *alone.optimizer));
      CHECK(shared.optimizer->updates() == update);
    }
  }
}

/// Makes every parameter but the first infinite.
class Overflowing : public Optimizer {
 public:
  using Options = OptimizerOptions;
  Overflowing(ParameterSet& parameters, const Options& options) : Optimizer(parameters, options, 0) {}

 protected:
  void update(Parameter& parameter, const Step&) override {
    if (parameter.index > 0) parameter.value.data()[0] = std::numeric_limits<Real>::infinity();
  }
};

TEST_CASE("of all parameters that overflow the first is named, whichever thread saw it") {
  OptimizerRegistry table("optimizer");
  table.add<Overflowing>("overflowing", "for this test");
  const Batch batch = batch_of_seven();
  for (int i = 0; i < 10; ++i) {
    LargeTraining shared(table, "overflowing");
    Updater updater(shared.training, shared.options);
    CHECK(message_of([&] { updater.update({batch}, 1, 0, shared.listener); }) ==
          "diverged at update 1: " + shared.toy.parameters[1].name + " is not finite");
  }
}

}  // namespace
}  // namespace surd
