#include "experiments/study/statistics/formula.hpp"
#include "experiments/study/verdicts/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace surd {
namespace {

using Kind = MetricSpec::Kind;

/// What one evaluation says of `of`; empty where it does not.
std::optional<double> number_of(const EvaluationRecord& record, const std::string& of) {
  if (of == "loss") return record.loss;
  if (of == "perplexity") return record.perplexity;
  if (of == "token_accuracy") return record.token_accuracy;
  expect(of == "sequence_accuracy", "metric", "'{}' is none of loss, perplexity, token_accuracy and sequence_accuracy",
         of);
  return record.sequence_accuracy;
}

bool lower_is_better(const std::string& of) { return of == "loss" || of == "perplexity"; }
double better(const std::string& of, double a, double b) {
  return lower_is_better(of) ? std::min(a, b) : std::max(a, b);
}

std::optional<double> initial_value(const RunResult& result, const std::string& of) {
  for (const EvaluationRecord& record : result.metrics.evaluations)
    if (record.update == 0) return number_of(record, of);
  return std::nullopt;
}

/// A run that ended in a NaN or an infinity is worth what it was before it began.
std::optional<double> final_value(const RunResult& result, const std::string& of) {
  if (result.status == RunResult::Status::diverged) return initial_value(result, of);
  if (result.metrics.evaluations.empty()) return std::nullopt;
  return number_of(result.metrics.evaluations.back(), of);
}

std::optional<double> best_value(const RunResult& result, const std::string& of) {
  std::optional<double> best;
  for (const EvaluationRecord& record : result.metrics.evaluations) {
    const auto value = number_of(record, of);
    if (value && std::isfinite(*value)) best = best ? better(of, *best, *value) : *value;
  }
  return best;
}

std::optional<MetricValue> updates_to(const RunResult& result, const MetricSpec& metric) {
  if (result.metrics.evaluations.empty()) return std::nullopt;
  constexpr std::size_t in_a_row = 3;
  std::size_t reached = 0;
  std::uint64_t first = 0;
  for (const EvaluationRecord& record : result.metrics.evaluations) {
    const auto value = number_of(record, metric.of);
    if (!value) return std::nullopt;
    const bool there = lower_is_better(metric.of) ? *value <= metric.target : *value >= metric.target;
    if (there && reached++ == 0) first = record.update;
    if (!there) reached = 0;
    if (reached == in_a_row) return MetricValue{static_cast<double>(first), false};
  }
  return MetricValue{static_cast<double>(result.updates), true};
}

/// The finite ones: the last update of a run that diverges may have none.
std::vector<double> finite(const std::vector<UpdateRecord>& updates, double UpdateRecord::*field) {
  std::vector<double> values;
  for (const UpdateRecord& record : updates)
    if (std::isfinite(record.*field)) values.push_back(record.*field);
  return values;
}

std::optional<double> gradient_norm(const RunResult& result, const std::string& statistic) {
  const std::vector<double> norms = finite(result.metrics.updates, &UpdateRecord::gradient_norm);
  if (norms.empty()) return std::nullopt;
  if (statistic == "median") return statistics::median(norms);
  if (statistic == "mean") return statistics::mean(norms);
  expect(statistic == "max", "metric", "'{}' is none of median, mean and max", statistic);
  return *std::max_element(norms.begin(), norms.end());
}

std::optional<double> probe_value(const RunResult& result, const MetricSpec& metric) {
  std::vector<double> values;
  for (const ProbeNumber& number : result.probe)
    if (number.record.path == metric.path && number.record.what == metric.what &&
        number.record.statistic == metric.statistic)
      values.push_back(number.record.number);
  if (values.empty()) return std::nullopt;
  if (metric.at == "first") return values.front();
  if (metric.at == "last") return values.back();
  if (metric.at == "mean") return statistics::mean(values);
  expect(metric.at == "max", "metric", "'{}' is none of first, last, mean and max", metric.at);
  for (const double value : values)
    if (std::isnan(value)) return std::nullopt;
  return *std::max_element(values.begin(), values.end());
}

std::optional<MetricValue> value_of(const Study& study, const MetricSpec& metric, std::size_t arm,
                                    const RunResult& result, std::set<std::string> within);

/// Names are those of axes, V, and other metrics, which `within` holds while they are computed.
std::optional<MetricValue> expression(const Study& study, const MetricSpec& metric, std::size_t arm,
                                      const RunResult& result, std::set<std::string> within) {
  expect(within.insert(metric.name).second, "metric", "the formula of '{}' leads back to itself", metric.name);
  const std::map<std::string, double> numbers = study.numbers(arm);
  bool known = true, censored = false;
  const double value = evaluate_formula(metric.formula, [&](const std::string& name) -> double {
    if (const auto found = numbers.find(name); found != numbers.end()) return found->second;
    if (name == "V") return static_cast<double>(result.vocabulary);
    const auto part = value_of(study, study.metric(name), arm, result, within);
    known = known && part.has_value();
    censored = censored || (part && part->censored);
    return part ? part->value : std::nan("");
  });
  if (!known) return std::nullopt;
  return MetricValue{value, censored};
}

std::optional<MetricValue> value_of(const Study& study, const MetricSpec& metric, std::size_t arm,
                                    const RunResult& result, std::set<std::string> within) {
  const auto plain = [](std::optional<double> value) {
    return value ? std::optional<MetricValue>({*value, false}) : std::nullopt;
  };
  switch (metric.kind) {
    case Kind::final_value: return plain(final_value(result, metric.of));
    case Kind::best_value: return plain(best_value(result, metric.of));
    case Kind::initial_value: return plain(initial_value(result, metric.of));
    case Kind::updates_to: return updates_to(result, metric);
    case Kind::gradient_norm: return plain(gradient_norm(result, metric.statistic));
    case Kind::loss_spikes: {
      const std::vector<double> losses = finite(result.metrics.updates, &UpdateRecord::loss);
      if (losses.empty()) return std::nullopt;
      return MetricValue{static_cast<double>(statistics::loss_spikes(losses)), false};
    }
    case Kind::diverged: return MetricValue{has_diverged(result) ? 1.0 : 0.0, false};
    case Kind::probe: return plain(probe_value(result, metric));
    case Kind::expression: return expression(study, metric, arm, result, std::move(within));
    case Kind::rate_sensitivity:
    case Kind::largest_stable_rate: break;
  }
  throw Error(fmt::format("metric: '{}' is one of a whole tuning, not of a run", metric.name));
}

/// The runs of one seed along the grid of learning rates: of all other settings tried, those with most rates.
std::map<double, const PlannedRun*> runs_by_rate(const Tuning& tuning, const Tuned& search, std::uint64_t seed) {
  expect(!tuning.axes.empty(), "metric", "a metric of the tuning needs a tuning");
  const TuningAxis* axis = &tuning.axes.front();
  for (const TuningAxis& other : tuning.axes)
    if (other.key == "optimizer.learning_rate") axis = &other;
  std::map<std::string, std::map<double, const PlannedRun*>> groups;
  for (const PlannedRun& run : search.runs) {
    if (run.seed != seed) continue;
    std::string others;
    std::optional<double> rate;
    for (const Change& change : run.settings) {
      if (change.key != axis->key) {
        others += change.key + "=" + change.value + "\n";
        continue;
      }
      // The grid as it was written, not its extensions: the same range for every arm.
      for (const double value : axis->values)
        if (std::fabs(std::stod(change.value) - value) <= 1e-9 * std::fabs(value)) rate = value;
    }
    if (rate) groups[others].emplace(*rate, &run);
  }
  std::map<double, const PlannedRun*> most;
  for (auto& [others, runs] : groups)
    if (runs.size() > most.size()) most = runs;
  if (most.size() < axis->values.size()) most.clear();
  return most;
}

}  // namespace

bool has_diverged(const RunResult& result) {
  if (result.status != RunResult::Status::finished) return result.status == RunResult::Status::diverged;
  const auto before = initial_value(result, "loss"), after = final_value(result, "loss");
  return before && after && !(*after <= *before);  // a NaN too
}

std::optional<MetricValue> metric_value(const Study& study, const MetricSpec& metric, std::size_t arm,
                                        const RunResult& result) {
  if (result.status == RunResult::Status::failed) return std::nullopt;
  const auto value = value_of(study, metric, arm, result, {});
  return value && std::isfinite(value->value) ? value : std::nullopt;
}

bool is_metric_of_tuning(const MetricSpec& metric) {
  return metric.kind == Kind::rate_sensitivity || metric.kind == Kind::largest_stable_rate;
}

std::optional<MetricValue> metric_of_tuning(const Study& study, const MetricSpec& metric, const Tuned& search,
                                            std::uint64_t seed, const KnownResults& known) {
  expect(study.tuning.has_value(), "metric", "'{}' needs a tuning, and the study has none", metric.name);
  std::map<double, const RunResult*> results;
  for (const auto& [rate, run] : runs_by_rate(*study.tuning, search, seed)) {
    const RunResult* result = known(run->id(study));
    if (result == nullptr || result->status == RunResult::Status::failed) return std::nullopt;
    results[rate] = result;
  }
  if (results.empty()) return std::nullopt;

  if (metric.kind == Kind::largest_stable_rate) {
    MetricValue largest{0, true};  // the largest of all is stable: the limit is not known
    for (const auto& [rate, result] : results) {
      if (has_diverged(*result)) return MetricValue{largest.value, false};
      largest.value = rate;
    }
    return largest;
  }
  std::vector<double> reached;
  for (const auto& [rate, result] : results) {
    const auto before = initial_value(*result, metric.of), after = final_value(*result, metric.of);
    if (!before || !after || !std::isfinite(*before)) return std::nullopt;
    reached.push_back(std::isfinite(*after) ? better(metric.of, *before, *after) : *before);
  }
  const double best = lower_is_better(metric.of) ? *std::min_element(reached.begin(), reached.end())
                                                 : *std::max_element(reached.begin(), reached.end());
  return MetricValue{std::fabs(statistics::mean(reached) - best), false};
}

}  // namespace surd
