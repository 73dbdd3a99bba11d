#include "experiments/study/verdicts/study_values.hpp"

#include "autograd/base/counted.hpp"

#include <algorithm>

namespace surd {

StudyValues::StudyValues(const Study& study, const KnownResults& known) : study_(study), known_(known) {
  if (!study.tuning) return;
  for (std::size_t arm = 0; arm < study.arms.size(); ++arm) tuned_.push_back(surd::tuned(study, arm, known));
}

const std::vector<std::uint64_t>& StudyValues::seeds(const MetricSpec& metric) const {
  return metric.metric->of_tuning() && study_.tuning ? study_.tuning->seeds : study_.seeds;
}

std::pair<StudyValues::Gap, const RunResult*> StudyValues::run(std::size_t arm, Regime regime,
                                                               std::uint64_t seed) const {
  PlannedRun planned{arm, {}, seed};
  if (regime == Regime::tuned) {
    expect(study_.tuning.has_value(), "study", "the tuned regime needs a tuning, and the study has none");
    if (tuned_[arm].failed) return {Gap::tuning_failed, nullptr};
    if (!tuned_[arm].done) return {tuned_[arm].without_values ? Gap::unfit : Gap::untuned, nullptr};
    planned.settings = tuned_[arm].settings;
  }
  const RunResult* result = known_(planned.id(study_));
  if (result == nullptr) return {Gap::missing, nullptr};
  return {result->status == RunResult::Status::failed ? Gap::failed : Gap::none, result};
}

StudyValues::Cell StudyValues::cell(const MetricSpec& metric, std::size_t arm, Regime regime,
                                    std::uint64_t seed) const {
  if (!metric.metric->of_tuning()) {
    const auto [gap, result] = run(arm, regime, seed);
    if (gap != Gap::none) return {gap, {}, result};
    const auto value = metric_value(study_, metric, arm, *result);
    return value ? Cell{Gap::none, *value, result} : Cell{Gap::unrecorded, {}, result};
  }
  expect(study_.tuning.has_value(), "metric", "'{}' needs a tuning, and the study has none", metric.name);
  if (const auto value = metric_of_tuning(study_, metric, tuned_[arm], seed, known_)) return {Gap::none, *value};
  Gap gap = tuned_[arm].done ? Gap::unrecorded : Gap::untuned;
  for (const PlannedRun& planned : tuned_[arm].runs) {
    const RunResult* result = planned.seed == seed ? known_(planned.id(study_)) : nullptr;
    if (result != nullptr && result->status == RunResult::Status::failed) gap = Gap::failed;
  }
  return {gap, {}};
}

std::optional<double> StudyValues::vocabulary(std::size_t arm) const {
  std::vector<PlannedRun> runs;
  for (const std::uint64_t seed : study_.seeds) runs.push_back({arm, {}, seed});
  if (study_.tuning) {
    for (const std::uint64_t seed : study_.seeds) runs.push_back({arm, tuned_[arm].settings, seed});
    runs.insert(runs.end(), tuned_[arm].runs.begin(), tuned_[arm].runs.end());
  }
  for (const PlannedRun& planned : runs)
    if (const RunResult* result = known_(planned.id(study_)); result != nullptr && result->vocabulary > 0)
      return static_cast<double>(result->vocabulary);
  return std::nullopt;
}

void Tally::note(const Key& key, StudyValues::Gap gap) {
  asked_.insert(key);
  if (gap != StudyValues::Gap::none) gaps_.emplace(key, gap);
}

void Tally::note_end(const Key& key, const RunResult* result) {
  if (result != nullptr && result->status == RunResult::Status::diverged) diverged_.insert(key);
}

std::optional<MetricValue> Tally::value(const MetricSpec& metric, std::size_t arm, Regime regime, std::uint64_t seed) {
  const StudyValues::Cell cell = values_.cell(metric, arm, regime, seed);
  note({arm, regime, seed}, cell.gap);
  if (cell.gap != StudyValues::Gap::none) return std::nullopt;
  if (!cell.value.known()) censored_.insert({arm, regime, seed});
  if (cell.run != nullptr && metric.metric->within_twice_warmup(*cell.run))
    within_twice_warmup_.insert({arm, regime, seed});
  note_end({arm, regime, seed}, cell.run);
  return cell.value;
}

std::optional<MetricValue> Tally::on_scale(const MetricSpec& metric, std::size_t arm, Regime regime,
                                           std::uint64_t seed) {
  const auto found = value(metric, arm, regime, seed);
  if (!found) return std::nullopt;
  const auto scaled = to_scale(metric.compared_by, *found);
  if (!scaled) not_positive(arm, regime, seed);
  return scaled;
}

const RunResult* Tally::run(std::size_t arm, Regime regime, std::uint64_t seed) {
  const auto [gap, result] = values_.run(arm, regime, seed);
  note({arm, regime, seed}, gap);
  note_end({arm, regime, seed}, result);
  return gap == StudyValues::Gap::none ? result : nullptr;
}

void Tally::unusable(std::size_t arm, Regime regime, std::uint64_t seed) {
  note({arm, regime, seed}, StudyValues::Gap::unrecorded);
}

void Tally::not_positive(std::size_t arm, Regime regime, std::uint64_t seed) {
  note({arm, regime, seed}, StudyValues::Gap::not_positive);
}

std::string Tally::gaps() const {
  using Gap = StudyValues::Gap;
  std::map<Gap, std::size_t> counts;
  for (const auto& [key, gap] : gaps_) ++counts[gap];
  std::vector<std::string> parts;
  const auto add = [&](Gap gap, const char* one, const char* many) {
    if (counts[gap] > 0) parts.push_back(fmt::format("{} {}", counts[gap], counts[gap] == 1 ? one : many));
  };
  add(Gap::failed, "failed", "failed");
  add(Gap::missing, "has not ended", "have not ended");
  add(Gap::untuned, "waits for the tuning", "wait for the tuning");
  add(Gap::tuning_failed, "has a tuning of which a run failed", "have a tuning of which a run failed");
  add(Gap::unfit, "has a tuning without any value of its metric", "have a tuning without any value of its metric");
  add(Gap::unrecorded, "has no such value", "have no such value");
  add(Gap::not_positive, "has a value of 0 or less, which has no ratio and no logarithm",
      "have values of 0 or less, which have no ratio and no logarithm");
  if (parts.empty()) return "";
  return fmt::format("of {} {}", counted(asked_.size(), "run"), fmt::join(parts, ", "));
}

std::string Tally::censored() const {
  if (censored_.empty()) return "";
  return fmt::format("{} of {} values {} censored", censored_.size(), asked_.size(),
                     censored_.size() == 1 ? "is" : "are");
}

std::string Tally::within_twice_warmup() const {
  if (within_twice_warmup_.empty()) return "";
  return fmt::format("{} of {} values {} within twice the warm-up, whose updates are worth less",
                     within_twice_warmup_.size(), asked_.size(), within_twice_warmup_.size() == 1 ? "lies" : "lie");
}

std::string Tally::diverged() const {
  return diverged_.empty() ? "" : fmt::format("{} of {} runs diverged", diverged_.size(), asked_.size());
}

}  // namespace surd
