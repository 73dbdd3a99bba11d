#include "train/train.hpp"

#include "tests/data/temporary_directory.hpp"
#include "tests/train/toy.hpp"
#include "train/checkpoint.hpp"
#include "train/probe.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace surd {
namespace {

using test::copy_pairs;
using test::same_bits;
using test::Toy;
using test::values_of;

constexpr std::size_t symbols = 5, vocabulary = Vocabulary::specials + symbols;

struct Killed {};

/// A run, its log and, where a folder is given, its checkpoints. Can be interrupted or killed after an update.
struct Run : TrainListener {
  explicit Run(const TrainOptions& of_run, const std::string& folder = "", double learning_rate = 0.01,
               const TransformerOptions& model = test::toy_options(0.1))
      : options(of_run),
        toy(vocabulary, model),
        optimizer(toy.parameters, adam(learning_rate)),
        schedule(of_run.updates, {3, 0.5, 1, 0.01}) {
    if (!folder.empty()) checkpoints.emplace(folder, 2);
  }
  static AdamOptions adam(double learning_rate) {
    AdamOptions result;
    result.learning_rate = learning_rate;
    return result;
  }

  void go(const TrainState& from = {}) {
    state = train({toy.transformer, toy.parameters, optimizer, schedule, train_pairs, valid_pairs, 5}, options, from,
                  *this);
  }
  /// Goes on from the folder's latest checkpoint, with `before` as the log so far.
  void resume(const std::vector<std::string>& before) {
    const auto saved =
        checkpoints->resume(toy.parameters, optimizer, schedule, [](const std::string&) { FAIL("damaged"); });
    if (!saved) return go();
    log.assign(before.begin(), before.begin() + std::stol(saved->log_position));
    go(saved->state);
  }

  Observer* observer(std::uint64_t update) override { return update % watch_every == 0 ? &probe : nullptr; }
  void updated(const UpdateRecord& r) override {
    if (r.update == kill_at) throw Killed();
    log.push_back(fmt::format("{} {} {} {} {} {} {}", r.update, r.epoch, r.loss, r.gradient_norm, r.learning_rate,
                              r.source_tokens, r.target_tokens));
    if (on_update) on_update(r);
  }
  void evaluated(std::uint64_t update, const Evaluation& e, bool best) override {
    log.push_back(fmt::format("{} {} {} {} {} {} {}", update, e.loss, e.token_accuracy, e.sequence_accuracy,
                              e.target_tokens, e.decoded, best));
    bests.push_back(best);
  }
  void checkpoint(const TrainState& at, bool best) override {
    saved_at.push_back(at.update);
    if (checkpoints) checkpoints->save(toy.parameters, optimizer, schedule, at, std::to_string(log.size()), best);
  }
  bool interrupted() override { return log.size() >= 1 && optimizer.updates() == interrupt_at; }

  TrainOptions options;
  Toy toy;
  Adam optimizer;
  PlateauSchedule schedule;
  std::vector<SentencePair> train_pairs = copy_pairs(11, 1, 4, symbols, 1),
                            valid_pairs = copy_pairs(6, 1, 4, symbols, 2);
  std::optional<Checkpoints> checkpoints;
  std::uint64_t kill_at = 0, interrupt_at = 0, watch_every = 1000000;
  std::function<void(const UpdateRecord&)> on_update;
  Probe probe;
  TrainState state;
  std::vector<std::string> log;
  std::vector<std::uint64_t> saved_at;
  std::vector<bool> bests;
};

void check_same(const Run& a, const Run& b) {
  CHECK(same_bits(values_of(a.toy.parameters), values_of(b.toy.parameters)));
  CHECK(same_bits(a.optimizer, b.optimizer));
  CHECK(a.schedule.state() == b.schedule.state());
  CHECK(a.log == b.log);
  CHECK(a.state.update == b.state.update);
  CHECK(a.state.epoch == b.state.epoch);
  CHECK(a.state.next_batch == b.state.next_batch);
  CHECK(a.state.target_tokens == b.state.target_tokens);
  CHECK(a.state.best == b.state.best);
  CHECK(a.state.best_update == b.state.best_update);
  CHECK(a.state.evaluations_without_improvement == b.state.evaluations_without_improvement);
  CHECK(a.state.finished == b.state.finished);
}

/// Three batches an epoch, two an update: epochs end within updates. Evaluations fall on every third.
TrainOptions tiny(std::size_t replicas = 1) {
  TrainOptions options;
  options.updates = 11;
  options.batching.batch_size = 4;
  options.accumulate = 2;
  options.label_smoothing = 0.1;
  options.evaluate_every = 3;
  options.evaluate_sequences = 4;
  options.checkpoint_every = 4;
  options.replicas = replicas;
  return options;
}

TEST_CASE("a tiny model learns to copy") {
  TrainOptions options;
  options.updates = 1200;
  options.batching.batch_size = 32;
  options.evaluate_every = 100;
  options.metric = Metric::sequence_accuracy;
  options.stop_at = 1;
  TransformerOptions model = test::toy_options();
  model.d_model = 32;
  model.heads = 4;
  model.feed_forward = test::feed_forward({64});
  Run run(options, "", 0.005, model);
  run.train_pairs = copy_pairs(600, 1, 3, symbols, 1);
  run.valid_pairs = copy_pairs(300, 1, 3, symbols, 2);
  run.options.evaluate_sequences = 300;
  run.go();
  CHECK(run.state.finished);
  CHECK(run.state.best == 1.0);
  CHECK(run.state.update < 1200);
  CHECK(run.state.best_update == run.state.update);
  CHECK(evaluate(run.toy.transformer, copy_pairs(100, 1, 3, symbols, 3), {}).sequence_accuracy >= 0.98);
}

TEST_CASE("two runs give the same bits and the same log") {
  for (const std::size_t replicas : {1, 2, 3}) {
    Run first(tiny(replicas)), second(tiny(replicas));
    first.go();
    second.go();
    check_same(first, second);
    CHECK(first.state.finished);
    CHECK(first.state.update == 11);
    CHECK(first.log.size() == 11 + 4);  // evaluations after 3, 6, 9 and the last
    CHECK(first.state.epoch == 7);      // 22 batches, 3 an epoch
    CHECK(first.state.next_batch == 1);
  }
}

TEST_CASE("another seed gives other batches") {
  Run first(tiny()), second(tiny());
  first.go();
  second.state = train({second.toy.transformer, second.toy.parameters, second.optimizer, second.schedule,
                        second.train_pairs, second.valid_pairs, 6},
                       second.options, {}, second);
  CHECK(first.log[0] != second.log[0]);
}

TEST_CASE("interrupted after any update and resumed, a run ends as one that never stopped") {
  for (const std::size_t replicas : {1, 2}) {
    Run whole(tiny(replicas));
    whole.go();
    for (std::uint64_t k = 1; k <= 11; ++k) {
      CAPTURE(replicas);
      CAPTURE(k);
      const test::TemporaryDirectory directory;
      Run first(tiny(replicas), directory.path()), second(tiny(replicas), directory.path());
      first.interrupt_at = k;
      first.go();
      CHECK(first.state.update == k);
      CHECK(first.state.finished == (k == 11));
      CHECK(first.saved_at.back() == k);
      second.resume(first.log);
      check_same(second, whole);
    }
  }
}

TEST_CASE("killed at any update and resumed from the latest checkpoint, a run ends as one that never stopped") {
  for (const std::size_t replicas : {1, 3}) {
    Run whole(tiny(replicas));
    whole.go();
    for (std::uint64_t k = 1; k <= 11; ++k) {
      CAPTURE(replicas);
      CAPTURE(k);
      const test::TemporaryDirectory directory;
      Run first(tiny(replicas), directory.path()), second(tiny(replicas), directory.path());
      first.kill_at = k;
      CHECK_THROWS_AS(first.go(), Killed);
      second.resume(first.log);
      check_same(second, whole);
    }
  }
}

TEST_CASE("resuming a finished run does nothing") {
  const test::TemporaryDirectory directory;
  Run first(tiny(), directory.path()), second(tiny(), directory.path());
  first.go();
  second.resume(first.log);
  check_same(first, second);
  CHECK(second.saved_at.empty());
}

TEST_CASE("checkpoints are written on time, at a new best and at the end") {
  TrainOptions options = tiny();
  options.evaluate_every = 100;
  Run run(options);
  run.go();
  CHECK(run.saved_at == std::vector<std::uint64_t>{4, 8, 11});
}

TEST_CASE("a run stops when it is out of patience") {
  TrainOptions options = tiny();
  options.updates = 1000;
  options.metric = Metric::token_accuracy;
  options.patience = 3;
  Run run(options, "", 1e-12);  // nothing changes
  run.go();
  CHECK(run.state.finished);
  CHECK(run.state.best_update == 3);
  CHECK(run.state.update == 12);
  CHECK(run.state.evaluations_without_improvement == 3);
  CHECK(run.saved_at == std::vector<std::uint64_t>{3, 4, 8, 12});
}

TEST_CASE("a new best gives patience back") {
  TrainOptions options = tiny();
  options.updates = 60;
  options.evaluate_every = 1;
  options.metric = Metric::token_accuracy;
  Run run(options);
  run.go();
  std::uint64_t without = 0, best_update = 0;
  bool recovered = false;
  for (std::size_t i = 0; i < run.bests.size(); ++i) {
    recovered = recovered || (run.bests[i] && without > 0);
    without = run.bests[i] ? 0 : without + 1;
    if (run.bests[i]) best_update = i + 1;
  }
  CHECK(recovered);
  CHECK(run.state.evaluations_without_improvement == without);
  CHECK(run.state.best_update == best_update);
}

TEST_CASE("every batch of every update draws dropout masks of its own") {
  TrainOptions options = tiny();
  options.updates = 4;
  options.accumulate = 3;
  Run run(options, "", 1e-30, test::toy_options(0.5));  // the parameters as good as stay
  run.train_pairs.resize(1);
  run.watch_every = 1;
  run.go();
  std::set<double> seen;
  for (const Probe::Record& record : run.probe.records())
    if (record.path.empty() && record.what == "dropout" && record.statistic == "rms") seen.insert(record.number);
  CHECK(seen.size() == 4 * 3 * 2);  // on the source's and the target's embeddings
}

TEST_CASE("a run stops when the metric is good enough") {
  for (const bool by_loss : {false, true}) {
    TrainOptions options = tiny();
    options.metric = by_loss ? Metric::loss : Metric::token_accuracy;
    options.stop_at = by_loss ? 100 : 0;
    Run run(options);
    run.go();
    CHECK(run.state.finished);
    CHECK(run.state.update == 3);
    options.stop_at = by_loss ? 0 : 1.5;
    Run other(options);
    other.go();
    CHECK(other.state.update == 11);
  }
}

TEST_CASE("metrics know which way is better") {
  CHECK(improves(Metric::loss, 1, 2));
  CHECK_FALSE(improves(Metric::loss, 2, 2));
  CHECK(improves(Metric::token_accuracy, 0.2, 0.1));
  CHECK_FALSE(improves(Metric::sequence_accuracy, 0.1, 0.1));
  Evaluation evaluation;
  evaluation.loss = 1;
  evaluation.token_accuracy = 2;
  evaluation.sequence_accuracy = 3;
  CHECK(value_of(Metric::loss, evaluation) == 1);
  CHECK(value_of(Metric::token_accuracy, evaluation) == 2);
  CHECK(value_of(Metric::sequence_accuracy, evaluation) == 3);
}

TEST_CASE("accumulated batches are one update of the larger batch") {
  TrainOptions options = tiny();
  options.updates = 1;
  options.accumulate = 1;
  options.batching.batch_size = 11;
  TransformerOptions model = test::toy_options(0);
  Run whole(options, "", 0.01, model);
  whole.go();
  options.batching.batch_size = 4;
  options.accumulate = 3;
  Run parts(options, "", 0.01, model);
  parts.go();
  for (std::size_t i = 0; i < whole.toy.parameters.size(); ++i) {
    const Parameter& parameter = whole.toy.parameters[i];
    if (parameter.name.find(".key.bias") != std::string::npos) continue;  // its gradient is rounding alone
    CAPTURE(parameter.name);
    CHECK(test::relative_difference(parts.toy.parameters[i].gradient.sum, parameter.gradient.sum) <= test::rounding);
  }
}

TEST_CASE("a global norm above the limit is scaled down to it") {
  // Plain SGD: the update is the rate times the clipped gradient.
  for (const double limit : {1e-3, 1e6}) {
    Toy toy(vocabulary);
    SgdOptions sgd;
    sgd.learning_rate = 1;
    Sgd optimizer(toy.parameters, sgd);
    ConstantSchedule schedule(1, {});
    TrainOptions options = tiny();
    options.updates = 1;
    options.clip_norm = limit;
    const auto pairs = copy_pairs(8, 1, 4, symbols);
    struct Norm : TrainListener {
      void updated(const UpdateRecord& record) override { norm = record.gradient_norm; }
      double norm = 0;
    } listener;
    const auto before = values_of(toy.parameters);
    train({toy.transformer, toy.parameters, optimizer, schedule, pairs, pairs, 1}, options, {}, listener);
    double squares = 0;
    for (const Parameter& parameter : toy.parameters)
      for (std::size_t i = 0; i < parameter.value.size(); ++i) {
        const Real moved = parameter.value.data()[i] - before[parameter.index].data()[i];
        squares += static_cast<double>(moved) * static_cast<double>(moved);
      }
    CHECK(listener.norm > 0.1);
    CHECK(listener.norm < 1e6);
    CHECK(std::sqrt(squares) == doctest::Approx(std::min(limit, listener.norm)).epsilon(2e-3));
  }
}

/// The Diverged that a run throws; fails where it throws none.
Diverged divergence_of(Run& run) {
  try {
    run.go();
  } catch (const Diverged& diverged) {
    return diverged;
  }
  FAIL("it did not diverge");
  return {0, ""};
}

TEST_CASE("a NaN stops a run before the update is applied, with its place") {
  for (const std::size_t replicas : {1, 2}) {
    Run run(tiny(replicas));
    run.toy.parameters.find("decoder.0.cross_attention.value.weight").value[2] = std::numeric_limits<Real>::quiet_NaN();
    const auto before = values_of(run.toy.parameters);
    const Diverged diverged = divergence_of(run);
    CHECK(diverged.update() == 1);
    CHECK(diverged.where() == "decoder.0.cross_attention.value.weight: parameter");
    CHECK(std::string(diverged.what()) == "diverged at update 1: " + diverged.where() + " is not finite");
    CHECK(same_bits(values_of(run.toy.parameters), before));
    CHECK(run.optimizer.updates() == 0);
    CHECK(run.log.empty());
    CHECK(run.saved_at.empty());
  }
}

TEST_CASE("a rate far too high stops a run before it applies what it cannot compute") {
  TransformerOptions model = test::toy_options();
  model.norm.placement = NormPlacement::pre;
  Run run(tiny(), "", static_cast<double>(std::numeric_limits<Real>::max()) / 1e3, model);
  std::vector<Tensor> after_update;
  run.on_update = [&](const UpdateRecord&) { after_update = values_of(run.toy.parameters); };
  const Diverged diverged = divergence_of(run);
  CHECK(diverged.update() == run.log.size() + 1);
  CHECK(diverged.update() >= 2);
  CHECK_FALSE(diverged.where().empty());
  CHECK(same_bits(values_of(run.toy.parameters), after_update));
  CHECK(run.optimizer.updates() == diverged.update() - 1);
}

TEST_CASE("gradients that overflow stop a run before the update is applied, by the parameter's name") {
  TransformerOptions model = test::toy_options();
  model.embedding.logit_scale = Scale::constant(static_cast<double>(std::numeric_limits<Real>::max()) / 1e4);
  Run run(tiny(), "", 0.01, model);
  const auto before = values_of(run.toy.parameters);
  const Diverged diverged = divergence_of(run);
  CHECK(diverged.update() == 1);
  CAPTURE(diverged.where());
  CHECK(diverged.where().rfind("the gradient of ", 0) == 0);
  CHECK(same_bits(values_of(run.toy.parameters), before));
}

TEST_CASE("an update that overflows is neither evaluated nor saved") {
  TrainOptions options = tiny();
  options.evaluate_every = options.checkpoint_every = 1;
  Run run(options);
  run.toy.parameters.find("encoder.0.feed_forward.inner.bias").learning_rate_multiplier = 1;
  AdamOptions adam = Run::adam(static_cast<double>(std::numeric_limits<Real>::max()) / 10);
  adam.groups = {{"encoder.0.feed_forward.inner.bias", 1000, {}, {}}};
  Adam optimizer(run.toy.parameters, adam);
  std::string where;
  try {
    train({run.toy.transformer, run.toy.parameters, optimizer, run.schedule, run.train_pairs, run.valid_pairs, 5},
          options, {}, run);
  } catch (const Diverged& diverged) {
    CHECK(diverged.update() == 1);
    where = diverged.where();
  }
  CHECK(where.find("encoder.0.feed_forward.inner.bias") != std::string::npos);
  CHECK(run.saved_at.empty());
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("after the second update training asks the system for no memory") {
  for (const std::size_t replicas : {1, 2}) {
    TrainOptions options = tiny(replicas);
    options.updates = 30;
    options.evaluate_every = options.checkpoint_every = 1000;
    Run run(options, "", 0.01, test::toy_options(0.1));
    run.train_pairs = copy_pairs(12, 3, 3, symbols);
    std::vector<std::size_t> requests;
    run.on_update = [&](const UpdateRecord&) { requests.push_back(pool::statistics().system_requests); };
    run.go();
    REQUIRE(requests.size() == 30);
    CHECK(requests.front() > 0);
    CHECK(requests[29] == requests[1]);
  }
}
#endif

TEST_CASE("who is not asked for watches nothing, and watching changes nothing") {
  Run off(tiny()), on(tiny());
  on.watch_every = 2;
  off.go();
  on.go();
  CHECK(off.probe.records().empty());
  CHECK_FALSE(on.probe.records().empty());
  check_same(on, off);
}

}  // namespace
}  // namespace surd
