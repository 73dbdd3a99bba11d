#include "tests/golden/golden.hpp"
#include "tests/train/toy.hpp"
#include "train/optimizers/adam.hpp"
#include "train/replicas.hpp"
#include "train/schedule.hpp"
#include "train/train.hpp"

#include "train/probe/statistics.hpp"

#include <doctest/doctest.h>

// 100 updates of training against PyTorch: Adam, warm-up and 1/sqrt decay, clipping by the global norm.

namespace surd {
namespace {

using test::Golden;
using test::golden_tolerance;

constexpr std::size_t updates = 100;
constexpr double clip_norm = 1, peak_rate = 1e-3;
constexpr std::size_t warmup = 20;

AdamOptions adam_options() {
  AdamOptions options;
  options.learning_rate = peak_rate;
  return options;
}

double deviation(double actual, Real expected) { return std::fabs(actual / static_cast<double>(expected) - 1); }

/// Expected losses, norms and rates by update.
struct Trace {
  const Tensor &loss, &gradient_norm, &rate;
  Trace(const Golden& golden, const std::string& name)
      : loss(golden.tensor(name + ".loss")),
        gradient_norm(golden.tensor(name + ".gradient_norm")),
        rate(golden.tensor(name + ".rate")) {
    CHECK(loss.size() == updates);
  }
  /// Updates whose gradients PyTorch clipped.
  std::size_t clipped() const {
    return static_cast<std::size_t>(
        std::count_if(gradient_norm.begin(), gradient_norm.end(), [](Real value) { return value > clip_norm; }));
  }
  /// Checks update number `update`, counted from 1.
  void check(std::uint64_t update, double actual_loss, double actual_norm, double actual_rate) const {
    CAPTURE(update);
    const std::size_t i = update - 1;
    CHECK(deviation(actual_loss, loss[i]) <= golden_tolerance);
    CHECK(deviation(actual_norm, gradient_norm[i]) <= 10 * golden_tolerance);
    CHECK(deviation(actual_rate, rate[i]) <= 1e-6);
  }
};

TEST_CASE("100 updates over three batches in turn follow PyTorch") {
  for (const std::string& variant : test::golden_variants) {
    CAPTURE(variant);
    Golden golden(variant);
    const Trace trace(golden, "trace");
    CHECK(trace.clipped() > 50);
    std::vector<Batch> batches;
    for (std::size_t i = 0; i < 3; ++i) batches.push_back(golden.batch(i));
    Replicas replicas(*golden.model, golden.parameters, 1);
    Adam optimizer(golden.parameters, adam_options());
    const InverseSqrtSchedule schedule(updates, {warmup});
    for (std::uint64_t update = 1; update <= updates; ++update) {
      const Batch& batch = batches[(update - 1) % batches.size()];
      golden.parameters.clear_gradients();
      const double loss =
          replicas.accumulate(batch, {Real(0.1), static_cast<Real>(batch.target_tokens()), 0, update, nullptr});
      double squares = 0;
      for (const Parameter& parameter : golden.parameters) {
        const double part = norm(parameter.gradient.sum);
        squares += part * part;
      }
      const double total = std::sqrt(squares);
      optimizer.step(schedule.factor(update), std::min(1.0, clip_norm / (total + 1e-6)));
      trace.check(update, loss, total, peak_rate * schedule.factor(update));
    }
    for (const Parameter& parameter : golden.parameters) {
      // What Adam makes of a key bias's gradient, rounding alone, is noise; see golden_test.cpp.
      if (parameter.name.find(".key.bias") != std::string::npos) continue;
      CAPTURE(parameter.name);
      const Tensor& expected = golden.tensor("final." + parameter.name);
      double sum = 0;
      for (const Real value : parameter.value) sum += static_cast<double>(value);
      const double expected_norm = static_cast<double>(expected[1]), expected_sum = static_cast<double>(expected[0]);
      CHECK(deviation(norm(parameter.value), expected[1]) <= golden_tolerance);
      CHECK(std::fabs(sum - expected_sum) <= golden_tolerance * expected_norm * std::sqrt(parameter.value.size()));
    }
  }
}

/// Compares each update of train() as it happens.
class Comparison : public TrainListener {
 public:
  explicit Comparison(const Trace& trace) : trace_(trace) {}
  void updated(const UpdateRecord& record) override {
    trace_.check(record.update, record.loss, record.gradient_norm, record.learning_rate);
    ++seen;
  }
  std::size_t seen = 0;

 private:
  const Trace& trace_;
};

TEST_CASE("train() on all pairs as one batch follows PyTorch") {
  for (const std::string& variant : test::golden_variants) {
    CAPTURE(variant);
    Golden golden(variant);
    std::vector<SentencePair> pairs;
    for (std::size_t i = 0; i < 3; ++i) {
      const Batch batch = golden.batch(i);
      for (std::size_t b = 0; b < batch.size; ++b) {
        const TokenId* source = batch.source.data() + b * batch.source_length;
        const TokenId* target = batch.target_output.data() + b * batch.target_length;
        pairs.push_back({{source, source + batch.source_lengths[b]}, {target, target + batch.target_lengths[b] - 1}});
      }
    }
    Adam optimizer(golden.parameters, adam_options());
    InverseSqrtSchedule schedule(updates, {warmup});
    TrainOptions options;
    options.updates = updates;
    options.batching.batch_size = pairs.size();
    options.clip_norm = clip_norm;
    options.label_smoothing = 0.1;
    options.evaluate_every = updates;
    options.evaluate_sequences = 0;
    const Trace trace(golden, "whole");
    CHECK(trace.clipped() > 10);  // clipping begins and ends within the trace
    CHECK(trace.clipped() < 50);
    Comparison comparison(trace);
    const TrainState end =
        train({*golden.model, golden.parameters, optimizer, schedule, pairs, pairs, test::no_words, 0}, options, {},
              comparison);
    CHECK(end.finished);
    CHECK(comparison.seen == updates);
  }
}

}  // namespace
}  // namespace surd
