#include "experiments/run/run_listener.hpp"

#include "experiments/program/text_format.hpp"
#include "experiments/run/checkpoint_metadata.hpp"
#include "train/storage/files.hpp"

namespace surd {

RunListener::RunListener(Console& console, const RunFolder& folder, const RunConfig& config, const Training& training,
                         const RunProgress& progress, const StopSignals& signals,
                         std::function<void(std::uint64_t)> after_update, bool checkpoints)
    : console_(console),
      config_(config),
      parameters_(training.parameters),
      optimizer_(training.optimizer),
      schedule_(training.schedule),
      signals_(signals),
      after_update_(std::move(after_update)),
      keeps_checkpoints_(checkpoints),
      checkpoints_(folder.checkpoints(), config.train.keep_checkpoints,
                   checkpoints ? checkpoint_metadata(config, training.codec) : Checkpoints::Metadata()),
      json_(folder, progress.position, config.probe.every > 0),
      updates_before_(progress.state.update),
      seconds_before_(progress.position.seconds.value_or(0)) {
  if (config.probe.every > 0) noise_meter_.emplace(training.model, training.parameters);
  if (config.train.tensorboard)
    logs_.push_back(&tensorboard_.emplace(folder.path, progress.state.update, to_yaml(config)));
  sync_folder(folder.path);  // the logs themselves must be there after a loss of power
  for (const EvaluationRecord& record : read_metrics(folder.metrics()).evaluations) take(record);
}

void RunListener::take(const EvaluationRecord& record) {
  last_ = record;
  if (record.best) best_ = record;
}

Observer* RunListener::observer(std::uint64_t update, std::size_t index, const Batch& batch) {
  if (!probes(update)) return nullptr;
  noise_meter_->watch(index, batch);
  return probe_.watch(index, batch);
}

void RunListener::gradients(std::uint64_t update, const ParameterSet& parameters) {
  if (!probes(update)) return;
  for (RunLog* log : logs_) log->watched(update, parameters);
  probe_.parameters(parameters);
  const auto noise =
      noise_meter_->measure(config_.train.label_smoothing, config_.seed, update * config_.train.accumulate);
  if (noise) probe_.noise(*noise);
  log_probe(update);  // now, because an update that diverges goes no further
}

void RunListener::log_probe(std::uint64_t update) {
  const std::vector<Probe::Record> records = probe_.take_records();
  for (RunLog* log : logs_) log->probed(update, records);
}

void RunListener::updated(const UpdateRecord& record) {
  if (probes(record.update)) {
    probe_.updated(parameters_);
    log_probe(record.update);
    probe_.clear();
  }
  tokens_ += record.source_tokens + record.target_tokens;
  if (record.update % config_.train.log_every == 0 || record.update == config_.train.updates)
    for (RunLog* log : logs_) log->updated(record);
  constexpr double decay = 0.98;  // a mean of about the last fifty: that of one batch jumps about
  mean_loss_ = decay * mean_loss_ + (1 - decay) * record.loss;
  mean_weight_ = decay * mean_weight_ + (1 - decay);
  const double elapsed = seconds(), speed = elapsed > 0 ? static_cast<double>(tokens_) / elapsed : 0;
  console_.progress({record.update, config_.train.updates, static_cast<double>(updates_before_)},
                    fmt::format("loss {:.4f}  {} tokens/s", mean_loss_ / mean_weight_,
                                with_commas(static_cast<std::uint64_t>(speed))));
  if (after_update_) after_update_(record.update);
}

void RunListener::evaluated(const TrainState& state, const Evaluation& evaluation, bool best) {
  evaluation_seconds_[state.update] = seconds();
  seconds_evaluating_ += seconds() - evaluation_began_;
  const EvaluationRecord record = record_of(state, evaluation, best);
  for (RunLog* log : logs_) log->evaluated(record, evaluation.samples);
  take(record);
  console_.line(fmt::format("update {:>6}  valid {}{}", state.update, fmt::join(score_texts(record), "  "),
                            best ? "  best" : ""));
}

void RunListener::checkpoint(const TrainState& state, bool best) {
  LogPosition position = json_.sync();
  if (!keeps_checkpoints_) return;
  if (config_.train.minutes) position.seconds = all_seconds();
  const bool interrupted = !saves_after(state, config_.train);
  checkpoints_.save(parameters_, optimizer_, schedule_, state, position.text(), best, interrupted);
}

}  // namespace surd
