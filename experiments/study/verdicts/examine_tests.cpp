#include "experiments/study/verdicts/hypotheses.hpp"

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
using Kind = Hypothesis::Kind;

/// The metric's mean difference over these pairs of arms in one seed; empty where a value is missing, after all were
/// asked for.
std::optional<double> mean_difference(Tally& tally, const MetricSpec& metric, const Side& arm, const Side& against,
                                      const Pairs& pairs, std::uint64_t seed) {
  double sum = 0;
  bool complete = true;
  for (const auto& [a, b] : pairs) {
    const auto minuend = tally.value(metric, a, arm.regime, seed);
    const auto subtrahend = tally.value(metric, b, against.regime, seed);
    complete = complete && minuend && subtrahend;
    if (complete) sum += *minuend - *subtrahend;
  }
  if (!complete) return std::nullopt;
  return sum / static_cast<double>(pairs.size());
}

/// Both parts of the rule: what the interval says, and the p that has to confirm it.
struct Decision {
  Verdict verdict;
  double p;
};

std::vector<double> map_values(const std::vector<double>& values, double factor, double offset) {
  std::vector<double> mapped;
  for (const double value : values) mapped.push_back(factor * value + offset);
  return mapped;
}

Decision decide_direction(const Check& check, const Hypothesis& hypothesis) {
  expect(hypothesis.expect == "lower" || hypothesis.expect == "higher", "hypothesis",
         "'{}' expects lower or higher; got '{}'", hypothesis.name, hypothesis.expect);
  const bool lower = hypothesis.expect == "lower";
  const double low = (lower ? -check.interval.high : check.interval.low) - hypothesis.margin;
  const double high = (lower ? -check.interval.low : check.interval.high) - hypothesis.margin;
  return {low > 0    ? Verdict::supported
          : high < 0 ? Verdict::refuted
                     : Verdict::undecided,
          statistics::sign_flip_p(map_values(check.values, lower ? -1 : 1, -hypothesis.margin))};
}

/// Two one-sided tests where the effect lies inside the margins (Schuirmann 1987); where it lies beyond one, the
/// two-sided test against that one. Each error, to support or to refute wrongly, keeps its 5 %.
Decision decide_equivalence(const Check& check, double margin) {
  const auto& [low, high] = check.interval;
  if (std::fabs(check.effect) < margin) {
    const double below = statistics::sign_flip_p_above(map_values(check.values, -1, margin));
    const double above = statistics::sign_flip_p_above(map_values(check.values, 1, margin));
    return {low > -margin && high < margin ? Verdict::supported : Verdict::undecided, std::max(below, above)};
  }
  const double side = check.effect > 0 ? 1 : -1;
  return {low > margin || high < -margin ? Verdict::refuted : Verdict::undecided,
          statistics::sign_flip_p(map_values(check.values, side, -margin))};
}

std::string expectation(const Hypothesis& hypothesis, const std::string& unit) {
  const std::string margin = short_number(hypothesis.margin) + (unit.empty() ? "" : " " + unit);
  if (hypothesis.kind == Kind::equivalence) return fmt::format("less than {} either way", margin);
  return fmt::format("{} than 0{}", hypothesis.expect, hypothesis.margin == 0 ? "" : " by more than " + margin);
}

}  // namespace

Finding examine_test(const StudyValues& values, const Hypothesis& hypothesis) {
  const Study& study = values.study();
  const MetricSpec& metric = study.metric(hypothesis.metric);
  const bool interaction = hypothesis.kind == Kind::interaction;
  const Side arm(study, hypothesis, hypothesis.arm, interaction ? hypothesis.under : Selector());
  const Side against(study, hypothesis, hypothesis.against, interaction ? hypothesis.under : Selector());
  const Pairs pairs = pairs_of(study, arm, against);
  std::set<Regime> regimes = {arm.regime, against.regime};

  std::optional<Side> other_arm, other_against;
  Pairs other_pairs;
  if (interaction) {
    other_arm.emplace(study, hypothesis, hypothesis.arm, hypothesis.versus);
    other_against.emplace(study, hypothesis, hypothesis.against, hypothesis.versus);
    other_pairs = pairs_of(study, *other_arm, *other_against);
    regimes.insert({other_arm->regime, other_against->regime});
  }

  Finding finding;
  finding.expected = expectation(hypothesis, metric.unit);
  if (pairs.empty() || (interaction && other_pairs.empty())) {
    finding.obstacle = "no arms of the study can be compared this way";
    return finding;
  }

  Tally tally(values);
  std::vector<std::uint64_t> seeds;
  std::vector<double> differences;
  for (const std::uint64_t seed : values.seeds(metric)) {
    auto difference = mean_difference(tally, metric, arm, against, pairs, seed);
    if (interaction) {
      const auto other = mean_difference(tally, metric, *other_arm, *other_against, other_pairs, seed);
      if (difference && other) *difference -= *other;
      if (!other) difference.reset();
    }
    if (!difference) continue;
    seeds.push_back(seed);
    differences.push_back(*difference);
  }

  const std::string sides = fmt::format("{} - {}", text_of(hypothesis.arm), text_of(hypothesis.against));
  const std::string where =
      interaction ? fmt::format(" ({} less {})", text_of(hypothesis.under), text_of(hypothesis.versus)) : "";
  Check check = check_of(sides + where, seeds, differences);
  finding.tested = values.seeds(metric).size() >= fewest_seeds;
  finding.obstacle = obstacle_of(values.seeds(metric).size(), tally);
  finding.context = context_of(values, seeds.size(), regimes, tally);
  if (!differences.empty())
    finding.observed = fmt::format(
        "{} of {} minus {}{} is {}", metric.name, text_of(hypothesis.arm), text_of(hypothesis.against),
        interaction ? fmt::format(", {} less {},", text_of(hypothesis.under), text_of(hypothesis.versus)) : "",
        text_of(check, metric.unit));
  if (finding.obstacle.empty()) {
    const Decision decision = hypothesis.kind == Kind::equivalence ? decide_equivalence(check, hypothesis.margin)
                                                                   : decide_direction(check, hypothesis);
    finding.result.verdict = check.verdict = decision.verdict;
    finding.result.p = decision.p;
    // Values cut off at the same length are equal without being so.
    if (hypothesis.kind == Kind::equivalence && decision.verdict == Verdict::supported && !tally.censored().empty())
      finding.obstacle = tally.censored() + ", so how far they are apart is not known";
  }
  finding.result.checks = {std::move(check)};
  return finding;
}

}  // namespace surd
