#include "experiments/study/metrics/evaluations.hpp"

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

constexpr std::size_t in_a_row = 3;  // evaluations at a target, until it is reached

}  // namespace

std::vector<std::string> names_of(Measure) {
  return {"loss", "perplexity", "bits_per_byte", "token_accuracy", "sequence_accuracy", "bleu", "chrf"};
}
bool lower_is_better(Measure measure) {
  return measure == Measure::loss || measure == Measure::perplexity || measure == Measure::bits_per_byte;
}
bool reachable(Measure measure, double value) {
  switch (measure) {
    case Measure::loss:
    case Measure::bits_per_byte: return value > 0;
    case Measure::perplexity: return value > 1;
    case Measure::token_accuracy:
    case Measure::sequence_accuracy: return value > 0 && value <= 1;
    case Measure::bleu:
    case Measure::chrf: return value > 0 && value <= 100;
  }
  return false;
}
double better(Measure measure, double a, double b) {
  return lower_is_better(measure) ? std::min(a, b) : std::max(a, b);
}

std::optional<double> value_of(Measure measure, const EvaluationRecord& record) {
  switch (measure) {
    case Measure::loss: return record.loss;
    case Measure::perplexity: return record.perplexity;
    case Measure::bits_per_byte: return record.bits_per_byte;
    case Measure::token_accuracy: return record.token_accuracy;
    case Measure::sequence_accuracy: return record.sequence_accuracy;
    case Measure::bleu: return record.bleu;
    case Measure::chrf: return record.chrf;
  }
  return std::nullopt;
}

std::optional<double> initial_value(Measure measure, const RunResult& run) {
  for (const EvaluationRecord& record : run.metrics.evaluations)
    if (record.update == 0) return value_of(measure, record);
  return std::nullopt;
}

std::optional<double> final_value(Measure measure, const RunResult& run) {
  if (run.status == RunResult::Status::diverged) return initial_value(measure, run);
  if (run.metrics.evaluations.empty()) return std::nullopt;
  return value_of(measure, run.metrics.evaluations.back());
}

std::string needs_to_be_measured(Measure measure, const RunConfig& config) {
  const bool bleu = measure == Measure::bleu || measure == Measure::chrf;
  const bool texts = config.task.make()->format().one_sided;
  if (measure == Measure::bits_per_byte && !texts) return "needs a task of texts alone, e.g. task.name: text";
  if (texts && (bleu || measure == Measure::sequence_accuracy)) return "needs a task that is translated";
  if (bleu && !config.train.evaluate_bleu) return "needs train.evaluate_bleu: true";
  const bool none = measure == Measure::sequence_accuracy && config.train.evaluate_sequences == 0;
  return none ? "needs train.evaluate_sequences above 0" : "";
}

std::string needs_whole_runs(const TrainOptions& train) { return train.stop_at ? "needs train.stop_at: null" : ""; }

std::optional<MetricValue> FinalValue::of_run(const RunView& view) const {
  if (split_ == "valid") return final_value(of_, view.run);
  const auto evaluation = view.run.splits.find(split_);
  return evaluation == view.run.splits.end() ? std::nullopt : value_of(of_, evaluation->second);
}

std::optional<MetricValue> BestValue::of_run(const RunView& view) const {
  std::optional<double> best;
  for (const EvaluationRecord& record : view.run.metrics.evaluations) {
    const auto value = value_of(of_, record);
    if (value && std::isfinite(*value)) best = best ? better(of_, *best, *value) : *value;
  }
  return best;
}

std::optional<MetricValue> InitialValue::of_run(const RunView& view) const { return initial_value(of_, view.run); }

std::string SpentToTarget::needs_of_config(const RunConfig& config) const {
  if (std::string need = needs_to_be_measured(options_.of, config); !need.empty()) return need;
  const TrainOptions& train = config.train;
  if (train.patience) return "needs train.patience: null";
  if (!train.stop_at) return "";
  if (!includes(names_of(Metric()), name_of(options_.of))) return "needs train.stop_at: null";
  if (name_of(train.metric) != name_of(options_.of))
    return fmt::format("needs train.metric: {} beside train.stop_at", name_of(options_.of));
  const double target = options_.target.value_or(0);
  if (*train.stop_at != target && better(options_.of, *train.stop_at, target) == target)
    return fmt::format("needs train.stop_at at its target, {}, or past it", target);
  return train.stop_after < in_a_row ? fmt::format("needs train.stop_after of at least {} beside stop_at", in_a_row)
                                     : "";
}

std::optional<SpentToTarget::Stay> SpentToTarget::stay_in(const RunResult& run) const {
  const double target = options_.target.value_or(0);
  const std::vector<EvaluationRecord>& evaluations = run.metrics.evaluations;
  Stay stay;
  for (std::size_t i = 0; i < evaluations.size() && stay.length < in_a_row; ++i) {
    const auto value = value_of(options_.of, evaluations[i]);
    if (!value) return std::nullopt;
    const bool there = surd::lower_is_better(options_.of) ? *value <= target : *value >= target;
    stay = there ? Stay{stay.length == 0 ? &evaluations[i] : stay.first, stay.length + 1} : Stay();
  }
  return stay;
}

std::optional<MetricValue> SpentToTarget::of_run(const RunView& view) const {
  const RunResult& run = view.run;
  const auto stay = stay_in(run);
  if (!stay || run.metrics.evaluations.empty()) return std::nullopt;
  if (stay->length == in_a_row) {
    const auto spent = spent_at(*stay->first, run);
    if (!spent) return std::nullopt;
    return stay->first->update == 0 ? MetricValue::at_most(*spent > 0 ? *spent : 1) : *spent;
  }
  // Where it ended at the target, more evaluations might have made up three.
  const bool ended_there = stay->length > 0 && run.status == RunResult::Status::finished;
  if (ended_there && stay->first->update == 0) return MetricValue();
  const auto spent = ended_there ? spent_at(*stay->first, run) : spent_in_all(run);
  return spent ? std::optional<MetricValue>(MetricValue::at_least(*spent)) : std::nullopt;
}

bool SpentToTarget::within_twice_warmup(const RunResult& run) const {
  const auto& logged = run.metrics.updates;
  const auto peak = std::max_element(logged.begin(), logged.end(), [](const UpdateRecord& a, const UpdateRecord& b) {
    return a.learning_rate < b.learning_rate;
  });
  const bool rate_rose = peak != logged.begin();
  const auto stay = stay_in(run);
  return rate_rose && stay && stay->length == in_a_row && stay->first->update <= 2 * peak->update;
}

std::optional<double> UpdatesTo::spent_at(const EvaluationRecord& evaluation, const RunResult&) const {
  return static_cast<double>(evaluation.update);
}
std::optional<double> UpdatesTo::spent_in_all(const RunResult& run) const {
  const bool finished = run.status == RunResult::Status::finished;  // be it early
  return static_cast<double>(finished ? run.metrics.evaluations.back().update : run.updates);
}

std::optional<double> TokensTo::spent_at(const EvaluationRecord& evaluation, const RunResult&) const {
  if (!evaluation.trained_target_tokens) return std::nullopt;
  return static_cast<double>(*evaluation.trained_target_tokens);
}
std::optional<double> TokensTo::spent_in_all(const RunResult& run) const {
  return spent_at(run.metrics.evaluations.back(), run);
}

std::optional<double> SecondsTo::spent_at(const EvaluationRecord& evaluation, const RunResult& run) const {
  const auto seconds = run.evaluation_seconds.find(evaluation.update);
  if (!spent_in_all(run) || seconds == run.evaluation_seconds.end()) return std::nullopt;
  return seconds->second;
}
std::optional<double> SecondsTo::spent_in_all(const RunResult& run) const {
  const auto resumed_at = run.summary.find("resumed_at"), seconds = run.summary.find("wall_seconds");
  if (resumed_at == run.summary.end() || resumed_at->second > 0 || seconds == run.summary.end()) return std::nullopt;
  return seconds->second;
}

bool has_diverged(const RunResult& run) {
  if (run.status != RunResult::Status::finished) return run.status == RunResult::Status::diverged;
  const auto before = initial_value(Measure::loss, run), after = final_value(Measure::loss, run);
  return before && after && !(*after <= *before);  // written so that a NaN counts as diverged
}

std::optional<MetricValue> DivergedShare::of_run(const RunView& view) const {
  return has_diverged(view.run) ? 1.0 : 0.0;
}

}  // namespace surd
