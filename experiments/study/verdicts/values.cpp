#include "experiments/study/verdicts/values.hpp"

#include "experiments/study/statistics/formula.hpp"
#include "experiments/study/verdicts/groups.hpp"

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

constexpr std::size_t fewest_of_a_slope = 2;  // numbers of the axis it is taken over

/// What a value or slope should be in an arm; empty where the formula needs V and that is not known.
std::optional<double> expected_value(const Study& study, const Hypothesis& hypothesis, std::size_t arm,
                                     std::optional<double> vocabulary) {
  std::map<std::string, double> numbers = study.numbers(arm);
  numbers.erase(hypothesis.over);
  if (vocabulary) numbers.emplace("V", *vocabulary);
  bool known = true;
  const double value = evaluate_formula(hypothesis.formula, [&](const std::string& name) -> double {
    if (const auto found = numbers.find(name); found != numbers.end()) return found->second;
    expect(name == "V", "hypothesis", "'{}': its formula '{}' knows no number '{}' in arm '{}'", hypothesis.name,
           hypothesis.formula, name, study.arms[arm].name);
    known = false;
    return 0;
  });
  return known ? std::optional<double>(value) : std::nullopt;
}

/// Complains where the formula names the axis of a slope, or has no finite value; with V in it, that shows after the
/// runs.
void check_formula(const Study& study, const Hypothesis& hypothesis, const Statement::Complain& complain) try {
  if (includes(names_in_formula(hypothesis.formula), hypothesis.over))
    return complain("formula", fmt::format("cannot name '{}', the axis that the slope is taken over", hypothesis.over));
  for (const std::size_t arm : study.select(hypothesis.arm))
    if (const auto value = expected_value(study, hypothesis, arm, std::nullopt); value && !std::isfinite(*value))
      return complain("formula", fmt::format("is {} in arm '{}'; it must be a finite number in every arm selected",
                                             *value, study.arms[arm].name));
} catch (const Error&) {  // what is no formula, and what it cannot know, is complained about where all formulas are
}

/// Where the number of a check is expected, on its scale.
Region region_of(const Check& check, const std::string& expect_word, const std::string& name) {
  expect(expect_word.empty() || expect_word == "within" || expect_word == "at_most" || expect_word == "at_least",
         "hypothesis", "'{}' expects within, at_most or at_least; got '{}'", name, expect_word);
  const auto end = [&](double number) {
    if (check.compared_by == ComparedBy::difference) return number;
    return number > 0 ? std::log(number) : -statistics::infinity;
  };
  Region region{-statistics::infinity, statistics::infinity, true};
  if (expect_word != "at_most") region.low = end(*check.expected - *check.tolerance);
  if (expect_word != "at_least") region.high = end(*check.expected + *check.tolerance);
  return region;
}

std::string tolerance_of(const Hypothesis& h) {
  return short_number(h.relative ? 100 * h.tolerance : h.tolerance) + (h.relative ? " %" : "");
}

/// Examines groups whose number a formula expects.
Finding examine_formula(const StudyValues& values, const Hypothesis& hypothesis, const Side& side,
                        const std::vector<ArmGroup>& groups, GroupNumber number) {
  number.region = [&](const ArmGroup& group, Check& check) -> std::optional<Region> {
    const std::size_t arm = group.arms.front();
    check.expected = expected_value(values.study(), hypothesis, arm, values.vocabulary(arm));
    if (!check.expected) return std::nullopt;
    check.tolerance = hypothesis.tolerance * (hypothesis.relative ? std::fabs(*check.expected) : 1);
    if (!std::isfinite(*check.expected + *check.tolerance)) return std::nullopt;
    return region_of(check, hypothesis.expect, hypothesis.name);
  };
  Finding finding = examine_groups(values, hypothesis, side, groups, number);
  const std::string word = hypothesis.expect == "at_most"    ? "at most "
                           : hypothesis.expect == "at_least" ? "at least "
                                                             : "";
  finding.expected = fmt::format("{}{} ± {}", word, hypothesis.formula, tolerance_of(hypothesis));
  for (const Check& check : finding.result.checks) {
    if (!finding.obstacle.empty() || check.region) continue;
    finding.obstacle = check.expected ? fmt::format("what is expected of {} is no finite number", check.label)
                                      : "no run tells the size of the vocabulary";
  }
  return finding;
}

}  // namespace

void ValueOptions::formula_fields(Fields& f, const char* kind) {
  f("metric", metric, "of which");
  f("regime", regime, "one rate for all arms, or each arm's own best");
  f("arm", arm, "levels by axis, e.g. {task: reverse, rho: '1.41'}; an axis that is not named is free");
  f("expect", expect, "of the number");
  f("formula", formula, "the value expected, of numbers of axes");
  f("tolerance", tolerance, "how far it may be off", at_least(0));
  f("relative", relative, "whether the tolerance is a share of the value expected");
  f.rule(!formula.empty(), "formula", fmt::format("is required where kind is {}", kind));
}

void SlopeOptions::fields(Fields& f) {
  formula_fields(f, "slope");
  f("over", over, "the axis whose numbers are x");
}

std::string Value::words(const Hypothesis& h) const {
  return fmt::format("{} of {} is {} {}, tolerance {}", h.metric, text_of(h.arm, "every arm"), h.expect, h.formula,
                     tolerance_of(h));
}
Finding Value::examine(const StudyValues& values, const Hypothesis& hypothesis) const {
  const Study& study = values.study();
  const MetricSpec& metric = study.metric(hypothesis.metric);
  const Side side(study, hypothesis, hypothesis.arm);
  std::vector<ArmGroup> groups;
  for (const std::size_t arm : side.arms) groups.push_back({study.arms[arm].name, {arm}});
  GroupNumber number{metric.name, metric.unit, metric.compared_by, {}, {}};
  number.in_seed = [&](Tally& tally, const ArmGroup& group, std::uint64_t seed) {
    return tally.on_scale(metric, group.arms.front(), side.regime, seed);
  };
  return examine_formula(values, hypothesis, side, groups, std::move(number));
}

void Value::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  Statement::check(study, hypothesis, complain);
  check_formula(study, hypothesis, complain);
}

std::string Slope::words(const Hypothesis& h) const {
  return fmt::format("log {} of {} over log {} has slope {}, tolerance {}", h.metric, text_of(h.arm, "every arm"),
                     h.over, h.formula, tolerance_of(h));
}
Finding Slope::examine(const StudyValues& values, const Hypothesis& hypothesis) const {
  const Study& study = values.study();
  const MetricSpec& metric = study.metric(hypothesis.metric);
  const Side side(study, hypothesis, hypothesis.arm);
  GroupNumber number{fmt::format("the slope of log {} over log {}", metric.name, hypothesis.over), "", {}, {}, {}};
  number.fewest_numbers = fewest_of_a_slope;
  number.in_seed = [&](Tally& tally, const ArmGroup& group, std::uint64_t seed) -> std::optional<MetricValue> {
    std::vector<double> x;
    std::vector<MetricValue> y;
    for (const std::size_t arm : group.arms) {
      const auto value = tally.value(metric, arm, side.regime, seed);
      if (!value) continue;
      if (!to_scale(ComparedBy::ratio, *value)) {
        tally.not_positive(arm, side.regime, seed);
        continue;
      }
      const auto numbers = study.numbers(arm);
      const auto level = numbers.find(hypothesis.over);
      expect(level != numbers.end(), "hypothesis", "'{}': every level of '{}' needs a value for a slope",
             hypothesis.name, hypothesis.over);
      x.push_back(level->second);
      y.push_back(*value);
    }
    if (y.size() < group.arms.size()) return std::nullopt;
    return statistics::log_log_slope(x, y);
  };
  return examine_formula(values, hypothesis, side, groups_along(study, hypothesis.over, side.arms), std::move(number));
}
void Slope::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  Statement::check(study, hypothesis, complain);
  check_formula(study, hypothesis, complain);
  if (!check_over(study, hypothesis, fewest_of_a_slope, complain)) return;
  const auto& levels = study.axes[study.axis_index(hypothesis.over)].levels;
  if (!std::all_of(levels.begin(), levels.end(), [](const Level& level) { return *level.value > 0; }))
    complain("over", fmt::format("every level of '{}' must have a value above 0", shown(hypothesis.over)));
}

}  // namespace surd
