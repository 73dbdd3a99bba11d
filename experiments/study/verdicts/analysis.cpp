#include "experiments/study/verdicts/analysis.hpp"

#include "experiments/study/metrics/evaluations.hpp"
#include "experiments/study/verdicts/finding.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace surd {
namespace {

void count_runs(Analysis& analysis, const Study& study, const KnownResults& known) {
  std::map<std::pair<std::size_t, std::vector<std::pair<std::string, std::string>>>, std::size_t> index;
  for (const PlannedRun& planned : plan(study, known)) {
    ++analysis.runs;
    const RunResult* result = known(planned.id(study));
    if (result == nullptr) {
      ++analysis.missing;
      continue;
    }
    std::vector<std::pair<std::string, std::string>> settings;
    for (const Change& change : planned.settings) settings.emplace_back(change.key, change.value);
    const auto [found, fresh] = index.emplace(std::pair(planned.arm, settings), analysis.endings.size());
    if (fresh) {
      analysis.endings.emplace_back();
      analysis.endings.back().arm = planned.arm;
      analysis.endings.back().settings = planned.settings;
    }
    Endings& endings = analysis.endings[found->second];
    ++endings.runs;
    endings.failed += result->status == RunResult::Status::failed;
    endings.diverged += has_diverged(*result);
    analysis.failed += result->status == RunResult::Status::failed;
    analysis.diverged += result->status == RunResult::Status::diverged;
    analysis.finished += result->status == RunResult::Status::finished;
    analysis.reused += !result->reused_from.empty();
  }
  for (Endings& endings : analysis.endings)
    endings.diverged_interval = statistics::wilson(endings.diverged, endings.runs - endings.failed);
}

std::optional<ArmSummary> summary_of(const StudyValues& values, const MetricSpec& metric, std::size_t arm,
                                     Regime regime) {
  ArmSummary summary;
  summary.arm = arm;
  summary.regime = regime;
  summary.metric = metric.name;
  const ComparedBy by = metric.compared_by;
  std::vector<MetricValue> on_scale;
  for (const std::uint64_t seed : values.seeds(metric)) {
    const StudyValues::Cell cell = values.cell(metric, arm, regime, seed);
    if (cell.gap != StudyValues::Gap::none) continue;
    summary.seeds.push_back(seed);
    summary.values.push_back(cell.value);
    if (const auto scaled = to_scale(by, cell.value)) on_scale.push_back(*scaled);
  }
  if (summary.values.empty()) return std::nullopt;
  const auto quantile = metric.metric->quantile();
  const bool scaled = on_scale.size() == summary.values.size();  // all of them have a logarithm, where one is taken
  summary.estimate = quantile ? quantile_of(summary.values, *quantile)
                     : scaled ? estimate_of(by, on_scale)
                              : estimate_of(ComparedBy::difference, summary.values);
  return summary;
}

void summarise(Analysis& analysis, const StudyValues& values) {
  const Study& study = values.study();
  for (const MetricSpec& metric : study.metrics) {
    for (const Regime regime : {Regime::shared, Regime::tuned}) {
      // A metric of the tuning belongs to no regime; it has one summary, among those of the tuned regime.
      if (regime == Regime::tuned ? !study.tuning : metric.metric->of_tuning()) continue;
      for (std::size_t arm = 0; arm < study.arms.size(); ++arm)
        if (auto summary = summary_of(values, metric, arm, regime)) analysis.summaries.push_back(std::move(*summary));
    }
  }
}

/// Half the mean difference between the levels for every subset of the axes, on the metric's scale: the mean over all
/// arms of the metric times the product of the subset's signs, -1 for a first level and 1 for a second (Box, Hunter &
/// Hunter 2005, chapter 5). Nothing unless every value is there.
void factor_effects(Analysis& analysis, const StudyValues& values) {
  const Study& study = values.study();
  constexpr std::size_t most_axes = 6;
  if (study.axes.empty() || study.axes.size() > most_axes || study.metrics.empty()) return;
  for (const Axis& axis : study.axes)
    if (axis.levels.size() != 2) return;
  if (study.arms.size() != std::size_t{1} << study.axes.size()) return;

  const MetricSpec& metric = study.metrics.front();
  std::vector<std::vector<MetricValue>> by_seed;
  for (const std::uint64_t seed : values.seeds(metric)) {
    by_seed.emplace_back();
    for (std::size_t arm = 0; arm < study.arms.size(); ++arm) {
      const StudyValues::Cell cell = values.cell(metric, arm, Regime::shared, seed);
      const auto value = to_scale(metric.compared_by, cell.value);
      if (cell.gap != StudyValues::Gap::none || !value) return;
      by_seed.back().push_back(*value);
    }
  }
  if (by_seed.empty()) return;
  for (std::size_t subset = 1; subset < study.arms.size(); ++subset) {
    Analysis::FactorEffect effect;
    for (std::size_t axis = 0; axis < study.axes.size(); ++axis)
      if ((subset >> axis & 1U) != 0) effect.axes.push_back(study.axes[axis].name);
    std::vector<MetricValue> effects;
    for (const std::vector<MetricValue>& value : by_seed) {
      MetricValue sum = 0;
      for (std::size_t arm = 0; arm < study.arms.size(); ++arm) {
        double sign = 1;
        for (std::size_t axis = 0; axis < study.axes.size(); ++axis)
          if ((subset >> axis & 1U) != 0 && study.arms[arm].levels[axis] == 0) sign = -sign;
        sum += sign * value[arm];
      }
      effects.push_back(1 / static_cast<double>(study.arms.size()) * sum);
    }
    effect.effect = estimate_of(metric.compared_by, effects);
    analysis.factor_effects.push_back(std::move(effect));
  }
  std::stable_sort(analysis.factor_effects.begin(), analysis.factor_effects.end(),
                   [](const auto& a, const auto& b) { return a.axes.size() < b.axes.size(); });
}

Verdict opposite(Verdict verdict) {
  if (verdict == Verdict::supported) return Verdict::refuted;
  return verdict == Verdict::refuted ? Verdict::supported : Verdict::undecided;
}

ClaimResult claim_of(const Study& study, const std::vector<HypothesisResult>& hypotheses, std::size_t claim) {
  ClaimResult result;
  result.claim = claim;
  std::set<Verdict> on_claim;
  std::vector<std::string> for_it, against_it;
  for (const HypothesisResult& tested : hypotheses) {
    const Hypothesis& hypothesis = study.hypotheses[tested.hypothesis];
    if (hypothesis.claim != claim) continue;
    on_claim.insert(hypothesis.contradicts ? opposite(tested.verdict) : tested.verdict);
    std::vector<std::string>& side = hypothesis.contradicts ? against_it : for_it;
    side.push_back(fmt::format("\"{}\" {}", hypothesis.name, name_of(tested.verdict)));
  }
  if (on_claim.empty()) {
    result.sentence = fmt::format("Claim {} is undecided: no hypothesis of this study is about it.", claim);
    return result;
  }
  result.verdict = all_of(on_claim);
  result.sentence = fmt::format("Claim {} is {}.", claim, name_of(result.verdict));
  if (!for_it.empty()) result.sentence += fmt::format(" For it: {}.", fmt::join(for_it, "; "));
  if (!against_it.empty()) result.sentence += fmt::format(" Against it: {}.", fmt::join(against_it, "; "));
  return result;
}

}  // namespace

std::size_t ArmSummary::censored() const {
  return static_cast<std::size_t>(
      std::count_if(values.begin(), values.end(), [](const MetricValue& value) { return !value.known(); }));
}

std::vector<std::string> names_of(Verdict) { return {"supported", "refuted", "undecided"}; }

Analysis analyse(const Study& study, const KnownResults& known) {
  Analysis analysis;
  const StudyValues values(study, known);
  count_runs(analysis, study, known);
  summarise(analysis, values);
  analysis.tuned = values.tuned();

  std::vector<Finding> findings;
  for (std::size_t i = 0; i < study.hypotheses.size(); ++i) {
    findings.push_back(study.hypotheses[i].statement->examine(values, study.hypotheses[i]));
    findings.back().result.hypothesis = i;
  }
  analysis.hypotheses = conclude(std::move(findings), study.looks);

  std::vector<std::size_t> claims = study.claims;
  for (const Hypothesis& hypothesis : study.hypotheses)
    if (hypothesis.claim != 0 && std::count(claims.begin(), claims.end(), hypothesis.claim) == 0)
      claims.push_back(hypothesis.claim);
  for (const std::size_t claim : claims) analysis.claims.push_back(claim_of(study, analysis.hypotheses, claim));

  factor_effects(analysis, values);
  return analysis;
}

}  // namespace surd
