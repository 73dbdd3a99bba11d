#pragma once

#include "tests/data/temporary_directory.hpp"
#include "tests/train/toy.hpp"
#include "train/optimizers/adam.hpp"
#include "train/probe/probe.hpp"
#include "train/storage/checkpoint.hpp"
#include "train/train.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Runs of a few updates, of which everything is kept that two of them must have in common.
namespace surd::test {

inline constexpr std::size_t symbols = 5, vocabulary = Vocabulary::specials + symbols;

struct Killed {};

/// A run, its log and, where a folder is given, its checkpoints. Can be interrupted or killed after an update.
struct Run : TrainListener {
  explicit Run(const TrainOptions& of_run, const std::string& folder = "", double learning_rate = 0.01,
               const TransformerOptions& model = toy_options(0.1))
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
    state = train({toy.transformer, toy.parameters, optimizer, schedule, train_pairs, valid_pairs, no_words, 5},
                  options, from, *this);
  }
  /// Goes on from the folder's latest checkpoint, with `before` as the log so far.
  void resume(const std::vector<std::string>& before) {
    const auto saved =
        checkpoints->resume(toy.parameters, optimizer, schedule, [](const std::string&) { FAIL("damaged"); });
    if (!saved) return go();
    log.assign(before.begin(), before.begin() + std::stol(saved->log_position));
    go(saved->state);
  }

  Observer* observer(std::uint64_t update, std::size_t, const Batch&) override {
    return update % watch_every == 0 ? &probe : nullptr;
  }
  void updated(const UpdateRecord& r) override {
    if (r.update == kill_at) throw Killed();
    log.push_back(fmt::format("{} {} {} {} {} {} {}", r.update, r.epoch, r.loss, r.gradient_norm, r.learning_rate,
                              r.source_tokens, r.target_tokens));
    if (on_update) on_update(r);
  }
  void evaluated(const TrainState& at, const Evaluation& e, bool best) override {
    log.push_back(fmt::format("{} {} {} {} {} {} {}", at.update, e.loss, e.token_accuracy, e.sequence_accuracy,
                              e.target_tokens, e.decoded, best));
    bests.push_back(best);
    accuracies.push_back(e.token_accuracy);
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
  std::vector<double> accuracies;  ///< of all evaluations
};

inline void check_same(const Run& a, const Run& b) {
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
  CHECK(a.state.evaluations_good_enough == b.state.evaluations_good_enough);
  CHECK(a.state.finished == b.state.finished);
}

/// Three batches an epoch, two an update: epochs end within updates. Evaluations fall on every third.
inline TrainOptions tiny(std::size_t replicas = 1) {
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

}  // namespace surd::test
