#include "experiments/study/plan.hpp"

#include "experiments/study/analysis.hpp"

#include <algorithm>

namespace surd {
namespace {

/// The mean of the tuning's metric over its seeds; empty while a run has not ended.
std::optional<double> tuning_mean(const Study& study, const std::vector<PlannedRun>& runs, const KnownResults& known) {
  const MetricSpec& metric = study.metric(study.tuning->metric);
  double sum = 0;
  for (const PlannedRun& run : runs) {
    const RunResult* result = known(run.id(study));
    const auto value = result == nullptr ? std::nullopt : metric_value(study, metric, run.arm, *result);
    if (!value) return std::nullopt;
    sum += value->value;
  }
  return sum / static_cast<double>(runs.size());
}

}  // namespace

std::string PlannedRun::id(const Study& study) const {
  std::string id = study.arms.at(arm).name;
  id.erase(std::remove(id.begin(), id.end(), ' '), id.end());
  std::vector<std::string> words;
  for (const Change& change : settings) words.push_back(change.key + "=" + change.value);
  if (!words.empty()) id += fmt::format("/{}", fmt::join(words, ","));
  return id + fmt::format("/seed-{}", seed);
}

Tuned tuned(const Study& study, std::size_t arm, const KnownResults& known) {
  Tuned result;
  if (!study.tuning) return result;
  const bool lower = study.metric(study.tuning->metric).lower_is_better;
  for (const TuningAxis& axis : study.tuning->axes) {
    std::optional<double> best;
    std::vector<Change> best_settings;
    std::size_t unknown = 0;
    for (const double value : axis.values) {
      std::vector<Change> settings = result.settings;
      settings.push_back({axis.key, fmt::format("{}", value), {}});
      std::vector<PlannedRun> runs;
      for (const std::uint64_t seed : study.tuning->seeds) runs.push_back({arm, settings, seed});
      result.runs.insert(result.runs.end(), runs.begin(), runs.end());
      const auto mean = tuning_mean(study, runs, known);
      if (!mean) ++unknown;
      if (mean && (!best || (lower ? *mean < *best : *mean > *best))) {
        best = mean;
        best_settings = settings;
        result.at_edge = value == axis.values.front() || value == axis.values.back();
      }
    }
    if (unknown > 0) {
      result.settings.clear();
      return result;
    }
    result.settings = best_settings;
  }
  result.done = true;
  return result;
}

std::vector<PlannedRun> plan(const Study& study, const KnownResults& known) {
  std::vector<PlannedRun> runs;
  for (std::size_t arm = 0; arm < study.arms.size(); ++arm) {
    for (const std::uint64_t seed : study.seeds) runs.push_back({arm, {}, seed});
    const Tuned search = tuned(study, arm, known);
    runs.insert(runs.end(), search.runs.begin(), search.runs.end());
    if (!search.done) continue;
    for (const std::uint64_t seed : study.seeds) runs.push_back({arm, search.settings, seed});
  }
  return runs;
}

}  // namespace surd
