#pragma once

#include "experiments/program/console.hpp"
#include "experiments/program/stop_signals.hpp"
#include "experiments/program/stopwatch.hpp"
#include "experiments/run/logs/json_log.hpp"
#include "experiments/run/logs/tensorboard_log.hpp"
#include "experiments/run/run_folder.hpp"
#include "train/storage/checkpoint.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace surd {

/// Where a run stands, in memory and in its logs.
struct RunProgress {
  TrainState state;
  LogPosition position;
};

/// Everything of a run that happens beside the algorithm: logs, checkpoints, progress.
class RunListener : public TrainListener {
 public:
  /// Cuts the logs back to where the run stands; what they hold then counts as logged by this listener. The arguments
  /// must outlive it. `checkpoints`: whether any are written.
  RunListener(Console& console, const RunFolder& folder, const RunConfig& config, const Training& training,
              const RunProgress& progress, const StopSignals& signals, std::function<void(std::uint64_t)> after_update,
              bool checkpoints = true);

  Observer* observer(std::uint64_t update, std::size_t index, const Batch& batch) override;
  void gradients(std::uint64_t update, const ParameterSet& parameters) override;
  void updated(const UpdateRecord& record) override;
  void evaluating() override { evaluation_began_ = seconds(); }
  void evaluated(const TrainState& state, const Evaluation& evaluation, bool best) override;
  void checkpoint(const TrainState& state, bool best) override;
  bool interrupted() override { return signals_.received() != 0; }
  bool time_is_up() override { return all_seconds() >= 60 * *config_.train.minutes; }

  /// How many source and target tokens this process has trained on; a resumed run counts from 0.
  std::uint64_t tokens() const { return tokens_; }
  /// Wall-clock seconds since it was made, and those at which each evaluation ended, by update; a resumed run counts
  /// from 0.
  double seconds() const { return watch_.seconds(); }
  const std::map<std::uint64_t, double>& evaluation_seconds() const { return evaluation_seconds_; }
  /// The share of seconds() that evaluations took.
  double evaluation_share() const { return seconds() > 0 ? seconds_evaluating_ / seconds() : 0; }
  /// The last and the best evaluation of the whole run, those before it was resumed included.
  const std::optional<EvaluationRecord>& last() const { return last_; }
  const std::optional<EvaluationRecord>& best() const { return best_; }

 private:
  void take(const EvaluationRecord& record);
  /// With those before the run was resumed.
  double all_seconds() const { return seconds_before_ + seconds(); }
  /// Whether an update is probed: the first one, which shows the initial parameters, and every multiple of probe.every.
  bool probes(std::uint64_t update) const { return noise_meter_ && (update == 1 || update % config_.probe.every == 0); }
  void log_probe(std::uint64_t update);

  Console& console_;
  const RunConfig& config_;
  const ParameterSet& parameters_;
  const Optimizer& optimizer_;
  const Schedule& schedule_;
  const StopSignals& signals_;
  std::function<void(std::uint64_t)> after_update_;
  bool keeps_checkpoints_;
  Checkpoints checkpoints_;
  JsonLog json_;
  std::optional<TensorBoardLog> tensorboard_;
  std::vector<RunLog*> logs_ = {&json_};
  Probe probe_;
  std::optional<NoiseMeter> noise_meter_;  // of a run that is probed
  std::uint64_t tokens_ = 0;
  std::uint64_t updates_before_;  // of processes before this one
  double seconds_before_;
  double mean_loss_ = 0, mean_weight_ = 0;  // of the last updates; see updated()
  Stopwatch watch_;
  std::map<std::uint64_t, double> evaluation_seconds_;
  double evaluation_began_ = 0, seconds_evaluating_ = 0;
  std::optional<EvaluationRecord> last_, best_;
};

}  // namespace surd
