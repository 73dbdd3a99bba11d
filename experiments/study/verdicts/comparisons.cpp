#include "experiments/study/verdicts/comparisons.hpp"

#include "experiments/study/verdicts/finding.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace surd {
namespace {

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// The mean difference of the metric, on its scale, over these pairs of arms in one seed; nothing where a value is
/// missing. Asks for all values even then, so that the tally counts every one that is missing.
std::optional<MetricValue> mean_difference(Tally& tally, const MetricSpec& metric, const Side& arm, const Side& against,
                                           const Pairs& pairs, std::uint64_t seed) {
  MetricValue sum = 0;
  bool complete = true;
  for (const auto& [a, b] : pairs) {
    const auto minuend = tally.on_scale(metric, a, arm.regime, seed);
    const auto subtrahend = tally.on_scale(metric, b, against.regime, seed);
    complete = complete && minuend && subtrahend;
    if (complete) sum += *minuend - *subtrahend;
  }
  if (!complete) return std::nullopt;
  return 1 / static_cast<double>(pairs.size()) * sum;
}

/// The margin on the metric's scale; a factor of 1 and, where none is given, 0 are none.
double margin_on_scale(const MetricSpec& metric, const Hypothesis& hypothesis) {
  if (metric.compared_by == ComparedBy::difference) return hypothesis.margin;
  return std::log(std::max(hypothesis.margin, 1.0));
}

/// Where a difference is to be: lower or higher than 0 by more than the margin.
Region beyond_margin(const Study& study, const Hypothesis& hypothesis) {
  const double margin = margin_on_scale(study.metric(hypothesis.metric), hypothesis);
  expect(hypothesis.expect == "lower" || hypothesis.expect == "higher", "hypothesis",
         "'{}' expects lower or higher; got '{}'", hypothesis.name, hypothesis.expect);
  Region region;
  if (hypothesis.expect == "lower")
    region.high = -margin;
  else
    region.low = margin;
  return region;
}

/// "final_loss of alpha=one minus alpha=sqrt(d) is -0.2 nats [-0.3, -0.1]"
std::string observation(const MetricSpec& metric, const Hypothesis& hypothesis, bool interaction, const Check& check) {
  const bool ratio = metric.compared_by == ComparedBy::ratio;
  const std::string where = interaction ? fmt::format(", {} {} {},", text_of(hypothesis.under), ratio ? "over" : "less",
                                                      text_of(hypothesis.versus))
                                        : "";
  return fmt::format("{} of {} {} {}{} is {}", metric.name, text_of(hypothesis.arm), ratio ? "over" : "minus",
                     text_of(hypothesis.against), where, text_of(check.effect, ratio ? "times" : metric.unit));
}

/// With `interaction` the difference is taken twice, in the levels of `under` and in those of `versus`, and these two
/// differences are compared.
Finding compare(const StudyValues& values, const Hypothesis& hypothesis, bool interaction, const Region& region) {
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
  std::vector<MetricValue> differences;
  for (const std::uint64_t seed : values.seeds(metric)) {
    auto difference = mean_difference(tally, metric, arm, against, pairs, seed);
    if (interaction) {
      const auto other = mean_difference(tally, metric, *other_arm, *other_against, other_pairs, seed);
      if (difference && other) difference = *difference - *other;
      if (!other) difference.reset();
    }
    if (!difference) continue;
    seeds.push_back(seed);
    differences.push_back(*difference);
  }

  const bool ratio = metric.compared_by == ComparedBy::ratio;
  const std::string sides =
      fmt::format("{} {} {}", text_of(hypothesis.arm), ratio ? "/" : "-", text_of(hypothesis.against));
  const std::string where = interaction ? fmt::format(" ({} {} {})", text_of(hypothesis.under), ratio ? "over" : "less",
                                                      text_of(hypothesis.versus))
                                        : "";
  Check check = check_of(sides + where, metric.compared_by, seeds, differences);
  finding.tested = values.seeds(metric).size() >= statistics::fewest_seeds;
  finding.obstacle = obstacle_of(values.seeds(metric).size(), tally);
  finding.context = "pseudo-median of " + context_of(values, seeds.size(), regimes, tally);
  if (!differences.empty()) finding.observed = observation(metric, hypothesis, interaction, check);
  check.region = from_scale(metric.compared_by, region);
  if (finding.obstacle.empty()) {
    const Evidence evidence = evidence_of(differences, region);
    finding.judge(evidence);
    check.verdict = finding.result.verdict;
  }
  finding.result.checks = {std::move(check)};
  return finding;
}

std::string margin_text(const MetricSpec& metric, const Hypothesis& hypothesis) {
  if (metric.compared_by == ComparedBy::ratio) return "a factor of " + short_number(std::max(hypothesis.margin, 1.0));
  return short_number(hypothesis.margin) + (metric.unit.empty() ? "" : " " + metric.unit);
}

/// "lower than 0 by more than 0.1 nats", "lower by more than a factor of 1.5"
std::string direction(const StudyValues& values, const Hypothesis& hypothesis) {
  const MetricSpec& metric = values.study().metric(hypothesis.metric);
  return fmt::format(
      "{} than {}{}", hypothesis.expect, metric.compared_by == ComparedBy::ratio ? 1 : 0,
      margin_on_scale(metric, hypothesis) == 0 ? "" : " by more than " + margin_text(metric, hypothesis));
}

/// Whether the effect lies beyond the margin in the direction expected.
Finding compare_direction(const StudyValues& values, const Hypothesis& hypothesis, bool interaction) {
  const MetricSpec& metric = values.study().metric(hypothesis.metric);
  Finding finding = compare(values, hypothesis, interaction, beyond_margin(values.study(), hypothesis));
  finding.expected = direction(values, hypothesis);
  if (margin_on_scale(metric, hypothesis) > 0)
    finding.unanimous = "all on one side of the margin";
  else if (metric.compared_by == ComparedBy::ratio)
    finding.unanimous = "all on one side of 1";
  return finding;
}

bool compares_levels(const Hypothesis& hypothesis) { return !hypothesis.under.empty() || !hypothesis.versus.empty(); }

/// The difference is to be the same one under both, so they name other axes than its sides, and the same.
void check_levels(const Hypothesis& hypothesis, const Statement::Complain& complain) {
  const auto& [arm, against, under, versus] =
      std::tie(hypothesis.arm, hypothesis.against, hypothesis.under, hypothesis.versus);
  if (under.empty() || versus.empty())
    return complain(under.empty() ? "under" : "versus", "is required beside the other; name the levels of both");
  if (under == versus) return complain("versus", "is the same as 'under'; name the levels in which they differ");
  for (const auto& [axis, level] : under) {
    if (arm.count(axis) > 0 || against.count(axis) > 0)
      return complain("under", fmt::format("names '{}', in which the arms differ already; name another axis", axis));
    if (versus.count(axis) == 0)
      return complain("versus",
                      fmt::format("does not name '{}', which 'under' names; name the same axes in both", axis));
  }
  for (const auto& [axis, level] : versus)
    if (under.count(axis) == 0)
      return complain("under",
                      fmt::format("does not name '{}', which 'versus' names; name the same axes in both", axis));
}

std::string every_arm(const Selector& selector) { return text_of(selector, "every arm"); }

}  // namespace

void ComparisonOptions::fields(Fields& f) {
  f("metric", metric, "of which");
  f("regime", regime, "one rate for all arms, or each arm's own best");
  f("arm", arm, "levels by axis, e.g. {task: reverse, rho: '1.41'}; an axis that is not named is free");
  f("against", against, "likewise");
  f("margin", margin, "differences up to this are of no interest; a factor where the metric is compared by ratio",
    at_least(0));
}

void Comparison::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  Statement::check(study, hypothesis, complain);
  check_sides(study, hypothesis, complain);
  constexpr double largest_factor = 20;
  for (const MetricSpec& metric : study.metrics)
    if (metric.name == hypothesis.metric && metric.compared_by == ComparedBy::ratio && hypothesis.margin != 0 &&
        !(hypothesis.margin > 1 && hypothesis.margin <= largest_factor))
      complain("margin", fmt::format("must be a factor above 1 and at most {}, because {} is compared by ratio; got {}",
                                     largest_factor, metric.name, hypothesis.margin));
}

void DifferenceOptions::direction_fields(Fields& f, const char* kind) {
  ComparisonOptions::fields(f);
  f("expect", expect, "of the difference");
  f.rule(!expect.text().empty(), "expect", fmt::format("is required where kind is {}: lower or higher", kind));
}

void EquivalenceOptions::fields(Fields& f) {
  ComparisonOptions::fields(f);
  f("under", under, "likewise, for both, to compare their difference here");
  f("versus", versus, "with that here");
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
Region Difference::region(const Study& study, const Hypothesis& hypothesis) const {
  return beyond_margin(study, hypothesis);
}
Finding Difference::examine(const StudyValues& values, const Hypothesis& hypothesis) const {
  return compare_direction(values, hypothesis, false);
}

std::string Equivalence::words(const Hypothesis& h) const {
  const std::string both = fmt::format("{} of {} and of {}", h.metric, every_arm(h.arm), every_arm(h.against));
  if (!compares_levels(h)) return fmt::format("{} differ by less than {}", both, short_number(h.margin));
  return fmt::format("{} differ under {} as under {}, but for less than {}", both, every_arm(h.under),
                     every_arm(h.versus), short_number(h.margin));
}
Region Equivalence::region(const Study& study, const Hypothesis& hypothesis) const {
  const double margin = margin_on_scale(study.metric(hypothesis.metric), hypothesis);
  return {-margin, margin};
}
Finding Equivalence::examine(const StudyValues& values, const Hypothesis& hypothesis) const {
  Finding finding = compare(values, hypothesis, compares_levels(hypothesis), region(values.study(), hypothesis));
  finding.expected =
      fmt::format("less than {} either way", margin_text(values.study().metric(hypothesis.metric), hypothesis));
  finding.unanimous = "all within the margin or all beyond";
  return finding;
}
void Equivalence::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  Comparison::check(study, hypothesis, complain);
  if (compares_levels(hypothesis)) check_levels(hypothesis, complain);
}

std::string Interaction::words(const Hypothesis& h) const {
  return fmt::format("{}: {} minus {} is {} under {} than under {} by more than {}", h.metric, every_arm(h.arm),
                     every_arm(h.against), h.expect, every_arm(h.under), every_arm(h.versus), short_number(h.margin));
}
Region Interaction::region(const Study& study, const Hypothesis& hypothesis) const {
  return beyond_margin(study, hypothesis);
}
Finding Interaction::examine(const StudyValues& values, const Hypothesis& hypothesis) const {
  return compare_direction(values, hypothesis, true);
}
void Interaction::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  Comparison::check(study, hypothesis, complain);
  check_levels(hypothesis, complain);
}

}  // namespace surd
