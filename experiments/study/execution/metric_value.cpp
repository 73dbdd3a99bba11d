#include "experiments/study/execution/metric_value.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace surd {
namespace {

/// `within` are the metrics whose formulas led to this one; it must not be one of them.
std::optional<MetricValue> value_of(const Study& study, const MetricSpec& metric, std::size_t arm,
                                    const RunResult& result, std::set<std::string> within) {
  expect(within.insert(metric.name).second, "metric", "the formula of '{}' leads back to itself", metric.name);
  const std::map<std::string, double> numbers = study.numbers(arm);
  const auto number = [&](const std::string& name) -> std::optional<MetricValue> {
    if (const auto found = numbers.find(name); found != numbers.end()) return found->second;
    if (name == "V") return static_cast<double>(result.vocabulary);
    return value_of(study, study.metric(name), arm, result, within);
  };
  try {
    return metric.metric->of_run({result, number});
  } catch (const std::logic_error& error) {  // of a metric of one's own, say of a map that lacks a key
    throw Error(fmt::format("metric '{}' of arm '{}': {}", metric.name, study.arms[arm].name, error.what()));
  }
}

/// The runs of one seed along the whole grid of learning rates, `extended` or as it was written, by rate: with those
/// other settings that were tried at most rates, or, where all coordinates were searched jointly, with those that were
/// chosen. Empty where no such settings were tried at all rates that were written.
std::map<double, const PlannedRun*> runs_by_rate(const Tuning& tuning, const Tuned& search, std::uint64_t seed,
                                                 bool extended) {
  const TuningAxis* axis = tuning.rates();
  expect(axis != nullptr, "metric", "a metric of the tuning needs one of the learning rate");
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
      if (extended) rate = std::stod(change.value);
      for (const double value : axis->values)
        if (std::fabs(std::stod(change.value) - value) <= 1e-9 * std::fabs(value)) rate = value;
    }
    if (rate) groups[others].emplace(*rate, &run);
  }
  std::string chosen;
  for (const Change& change : search.settings)
    if (change.key != axis->key) chosen += change.key + "=" + change.value + "\n";
  const bool jointly = tuning.search == TuningSearch::jointly;
  std::map<double, const PlannedRun*> most;
  for (auto& [others, runs] : groups)
    if (runs.size() > most.size() && (!jointly || (search.done && others == chosen))) most = runs;
  const bool whole = std::all_of(axis->values.begin(), axis->values.end(),
                                 [&](double rate) { return most.count(rate) > 0; });  // extensions stand for none
  if (!whole) most.clear();
  return most;
}

}  // namespace

std::optional<MetricValue> metric_value(const Study& study, const MetricSpec& metric, std::size_t arm,
                                        const RunResult& result) {
  if (result.status == RunResult::Status::failed) return std::nullopt;
  const auto value = value_of(study, metric, arm, result, {});
  if (!value || std::isnan(value->low) || (value->known() && std::isinf(value->low))) return std::nullopt;
  return value;
}

std::optional<MetricValue> metric_of_tuning(const Study& study, const MetricSpec& metric, const Tuned& search,
                                            std::uint64_t seed, const KnownResults& known) {
  expect(study.tuning.has_value(), "metric", "'{}' needs a tuning, and the study has none", metric.name);
  RunsByRate results;
  for (const auto& [rate, run] : runs_by_rate(*study.tuning, search, seed, metric.metric->takes_extensions())) {
    const RunResult* result = known(run->id(study));
    if (result == nullptr || result->status == RunResult::Status::failed) return std::nullopt;
    results[rate] = result;
  }
  if (results.empty()) return std::nullopt;
  return metric.metric->of_rates(results);
}

}  // namespace surd
