#include "experiments/study/verdicts/comparisons.hpp"

#include "experiments/study/verdicts/finding.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace surd {
namespace {

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// The mean difference of the metric over these pairs of arms in one seed; nothing where a value is missing. Asks for
/// all values even then, so that the tally counts every one that is missing.
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

/// Both parts of a decision: the verdict that the interval gives, and the p that has to confirm it.
struct Decision {
  Verdict verdict;
  double p;
  /// Whether the verdict rests on how large the values are. Censored values, cut off at the same length of a run, only
  /// look equal.
  bool needs_sizes = false;
};
using Decide = std::function<Decision(const Check&, const Hypothesis&)>;

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

/// Where the effect lies inside the margins, two one-sided tests (Schuirmann 1987); where it lies beyond one of them, a
/// two-sided test against that one. Each error, to support wrongly and to refute wrongly, keeps its 5 %.
Decision decide_equivalence(const Check& check, const Hypothesis& hypothesis) {
  const double margin = hypothesis.margin;
  const auto& [low, high] = check.interval;
  if (std::fabs(check.effect) < margin) {
    const double below = statistics::sign_flip_p_above(map_values(check.values, -1, margin));
    const double above = statistics::sign_flip_p_above(map_values(check.values, 1, margin));
    return {low > -margin && high < margin ? Verdict::supported : Verdict::undecided, std::max(below, above), true};
  }
  const double side = check.effect > 0 ? 1 : -1;
  return {low > margin || high < -margin ? Verdict::refuted : Verdict::undecided,
          statistics::sign_flip_p(map_values(check.values, side, -margin))};
}

/// With `interaction` the difference is taken twice, in the levels of `under` and in those of `versus`, and these two
/// differences are compared.
Finding compare(const StudyValues& values, const Hypothesis& hypothesis, bool interaction, const Decide& decide) {
  const Study& study = values.study();
  const MetricSpec& metric = study.metric(hypothesis.metric);
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
    const Decision decision = decide(check, hypothesis);
    finding.result.verdict = check.verdict = decision.verdict;
    finding.result.p = decision.p;
    if (decision.verdict == Verdict::supported && decision.needs_sizes && !tally.censored().empty())
      finding.obstacle = tally.censored() + ", so how far they are apart is not known";
  }
  finding.result.checks = {std::move(check)};
  return finding;
}

std::string margin_of(const StudyValues& values, const Hypothesis& hypothesis) {
  const std::string unit = values.study().metric(hypothesis.metric).unit;
  return short_number(hypothesis.margin) + (unit.empty() ? "" : " " + unit);
}

/// "lower than 0 by more than 0.1 nats"
std::string direction(const StudyValues& values, const Hypothesis& hypothesis) {
  return fmt::format("{} than 0{}", hypothesis.expect,
                     hypothesis.margin == 0 ? "" : " by more than " + margin_of(values, hypothesis));
}

std::string every_arm(const Selector& selector) { return text_of(selector, "every arm"); }

}  // namespace

void ComparisonOptions::fields(Fields& f) {
  f("metric", metric, "of which");
  f("regime", regime, "one rate for all arms, or each arm's own best");
  f("arm", arm, "levels by axis, e.g. {task: reverse, rho: '1.41'}; an axis that is not named is free");
  f("against", against, "likewise");
  f("margin", margin, "differences up to this are of no interest", at_least(0));
}

void Comparison::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  Statement::check(study, hypothesis, complain);
  check_sides(study, hypothesis, complain);
}

void DifferenceOptions::direction_fields(Fields& f, const char* kind) {
  ComparisonOptions::fields(f);
  f("expect", expect, "of the difference");
  f.rule(!expect.text().empty(), "expect", fmt::format("is required where kind is {}: lower or higher", kind));
}

void EquivalenceOptions::fields(Fields& f) {
  ComparisonOptions::fields(f);
  f.rule(margin > 0, "margin", "is required where kind is equivalence: the largest difference of no interest");
}

void InteractionOptions::fields(Fields& f) {
  direction_fields(f, "interaction");
  f("under", under, "likewise, for both");
  f("versus", versus, "likewise, for both");
}

std::string Difference::words(const Hypothesis& h) const {
  return fmt::format("{} of {} is {} than of {} by more than {}", h.metric, every_arm(h.arm), h.expect,
                     every_arm(h.against), short_number(h.margin));
}
Finding Difference::examine(const StudyValues& values, const Hypothesis& hypothesis) const {
  Finding finding = compare(values, hypothesis, false, decide_direction);
  finding.expected = direction(values, hypothesis);
  return finding;
}

std::string Equivalence::words(const Hypothesis& h) const {
  return fmt::format("{} of {} and of {} differ by less than {}", h.metric, every_arm(h.arm), every_arm(h.against),
                     short_number(h.margin));
}
Finding Equivalence::examine(const StudyValues& values, const Hypothesis& hypothesis) const {
  Finding finding = compare(values, hypothesis, false, decide_equivalence);
  finding.expected = fmt::format("less than {} either way", margin_of(values, hypothesis));
  return finding;
}

std::string Interaction::words(const Hypothesis& h) const {
  return fmt::format("{}: {} minus {} is {} under {} than under {} by more than {}", h.metric, every_arm(h.arm),
                     every_arm(h.against), h.expect, every_arm(h.under), every_arm(h.versus), short_number(h.margin));
}
Finding Interaction::examine(const StudyValues& values, const Hypothesis& hypothesis) const {
  Finding finding = compare(values, hypothesis, true, decide_direction);
  finding.expected = direction(values, hypothesis);
  return finding;
}
void Interaction::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  Comparison::check(study, hypothesis, complain);
  if (hypothesis.under == hypothesis.versus)
    complain("versus", "is the same as 'under'; name the levels in which they differ");
}

}  // namespace surd
