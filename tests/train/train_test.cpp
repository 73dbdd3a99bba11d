#include "tests/train/tiny_run.hpp"
#include "train/optimizers/sgd.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace surd {
namespace {

using test::check_same;
using test::copy_pairs;
using test::Run;
using test::symbols;
using test::tiny;
using test::Toy;
using test::values_of;
using test::vocabulary;

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
  CHECK(evaluate(run.toy.transformer, copy_pairs(100, 1, 3, symbols, 3), test::no_words, {}).sequence_accuracy >= 0.98);
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
                        second.train_pairs, second.valid_pairs, test::no_words, 6},
                       second.options, {}, second);
  CHECK(first.log[0] != second.log[0]);
}

TEST_CASE("checkpoints are written on time, at a new best and at the end") {
  TrainOptions options = tiny();
  options.evaluate_every = 100;
  Run run(options);
  run.go();
  CHECK(run.saved_at == std::vector<std::uint64_t>{4, 8, 11});
}

TEST_CASE("an evaluation before the first update is logged as update 0, and changes nothing else") {
  TrainOptions options = tiny();
  Run without(options);
  without.go();
  options.evaluate_at_start = true;
  Run with(options);
  const Evaluation before =
      evaluate(with.toy.transformer, with.valid_pairs, test::no_words, {64, options.evaluate_sequences});
  with.go();
  REQUIRE(with.log.size() == without.log.size() + 1);
  CHECK(with.log[0] == fmt::format("0 {} {} {} {} {} {}", before.loss, before.token_accuracy, before.sequence_accuracy,
                                   before.target_tokens, before.decoded, false));
  with.log.erase(with.log.begin());
  check_same(with, without);
}

TEST_CASE("an evaluation before the first update is not the best, however good") {
  TrainOptions options = tiny();
  options.evaluate_at_start = true;
  options.metric = Metric::token_accuracy;
  options.stop_at = 0;
  options.patience = 1;
  Run run(options, "", 1e-12);
  run.go();
  CHECK(run.bests == std::vector<bool>{false, true});
  CHECK(run.state.best_update == 3);
}

TEST_CASE("a loss that is not finite before the first update ends the run there") {
  TrainOptions options = tiny();
  options.evaluate_at_start = true;
  Run run(options);
  run.toy.parameters.find("decoder.norm.weight").value.data()[0] = std::numeric_limits<Real>::infinity();
  CHECK_THROWS_WITH_AS(run.go(), "diverged at update 1: the validation loss is not finite", Diverged);
  CHECK(run.log.empty());
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
    if (record.what == "dropout" && (record.path == "source_dropout" || record.path == "target_dropout") &&
        record.statistic == "rms")
      seen.insert(record.number);
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

TEST_CASE("a run stops when the metric was good enough so many times in a row") {
  TrainOptions options = tiny();
  options.updates = 60;
  options.evaluate_every = 1;
  options.metric = Metric::token_accuracy;
  Run whole(options);
  whole.go();
  // Good enough is what it reaches once, loses, and has three times in a row only later.
  options.stop_after = 3;
  std::size_t stopped = 0, once = 0;
  for (const double good : whole.accuracies) {
    std::size_t in_a_row = 0;
    once = stopped = 0;
    for (std::size_t i = 0; i < whole.accuracies.size() && stopped == 0; ++i) {
      in_a_row = whole.accuracies[i] >= good ? in_a_row + 1 : 0;
      if (once == 0 && in_a_row == 1) once = i + 1;
      if (in_a_row == 3) stopped = i + 1;
    }
    options.stop_at = good;
    if (stopped > once + 2) break;
  }
  REQUIRE(stopped > once + 2);
  Run run(options);
  run.go();
  CHECK(run.state.finished);
  CHECK(run.state.update == stopped);

  const test::TemporaryDirectory directory;
  Run killed(options, directory.path());
  killed.kill_at = stopped;
  CHECK_THROWS_AS(killed.go(), test::Killed);
  Run resumed(options, directory.path());
  resumed.resume(killed.log);
  check_same(resumed, run);
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
  CHECK(value_of(Metric::bleu, evaluation) == 0);  // not measured
  evaluation.bleu = 4;
  CHECK(value_of(Metric::bleu, evaluation) == 4);
  CHECK(improves(Metric::bleu, 30, 29));
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

TEST_CASE("loss and norm of an update are of the mean over the target tokens of all its batches, eos counted") {
  std::vector<UpdateRecord> records;
  for (const std::size_t accumulate : {1, 3})
    for (const std::size_t replicas : {1, 2}) {
      CAPTURE(accumulate);
      CAPTURE(replicas);
      TrainOptions options = tiny(replicas);
      options.updates = 1;
      options.label_smoothing = 0;
      options.accumulate = accumulate;
      options.batching.batch_size = accumulate == 1 ? 11 : 4;  // 11 pairs of 1 to 4 tokens: the last of 3 is smaller
      Run run(options, "", 0.01, test::toy_options(0));
      const Evaluation before = evaluate(run.toy.transformer, run.train_pairs, test::no_words, {64, 0});
      run.on_update = [&](const UpdateRecord& record) { records.push_back(record); };
      run.go();
      CHECK(records.back().target_tokens == before.target_tokens);
      CHECK(records.back().loss == doctest::Approx(before.loss).epsilon(1e-6));
      CHECK(records.back().gradient_norm == doctest::Approx(records.front().gradient_norm).epsilon(1e-5));
    }
  CHECK(records.size() == 4);
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
    train({toy.transformer, toy.parameters, optimizer, schedule, pairs, pairs, test::no_words, 1}, options, {},
          listener);
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
