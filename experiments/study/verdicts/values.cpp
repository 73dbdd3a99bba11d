#include "experiments/study/verdicts/values.hpp"

#include "experiments/study/statistics/formula.hpp"
#include "experiments/study/verdicts/finding.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace surd {
namespace {

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

/// The arms of one check: one arm, or those along the axis that a slope is taken over.
struct Group {
  std::string label;
  std::vector<std::size_t> arms;
};

/// The arms of a slope for every combination of the other axes' levels.
std::vector<Group> groups_along(const Study& study, const Hypothesis& hypothesis, const Side& side) {
  std::vector<Group> groups;
  const std::size_t over = study.axis_index(hypothesis.over);
  std::map<std::vector<std::size_t>, std::size_t> index;
  for (const std::size_t arm : side.arms) {
    std::vector<std::size_t> others = study.arms[arm].levels;
    others[over] = 0;
    const auto [found, fresh] = index.emplace(others, groups.size());
    if (fresh) groups.push_back({text_of(study.levels_beside(arm, over)), {}});
    groups[found->second].arms.push_back(arm);
  }
  return groups;
}

/// Finds the number of a group in one seed, on its scale; nothing where a run of the group has none.
using Measured = std::function<std::optional<MetricValue>(Tally& tally, const Group& group, std::uint64_t seed)>;

/// Makes a check for each group. `what` and `unit` name in sentences what is measured, on the scale `by`.
Finding examine_groups(const StudyValues& values, const Hypothesis& hypothesis, const Side& side,
                       const std::vector<Group>& groups, const Measured& measured, ComparedBy by,
                       const std::string& what, const std::string& unit) {
  const std::vector<std::uint64_t>& all_seeds = values.seeds(values.study().metric(hypothesis.metric));

  Finding finding;
  const std::string word = hypothesis.expect == "at_most"    ? "at most "
                           : hypothesis.expect == "at_least" ? "at least "
                                                             : "";
  finding.expected = fmt::format(
      "{}{} ± {}", word, hypothesis.formula,
      hypothesis.relative ? short_number(100 * hypothesis.tolerance) + " %" : short_number(hypothesis.tolerance));
  if (groups.empty()) finding.obstacle = "the study has no such arm";
  for (const Group& group : groups)
    if (!hypothesis.over.empty() && group.arms.size() < 2)
      finding.obstacle = fmt::format("a slope needs two levels of '{}' or more", hypothesis.over);
  if (!finding.obstacle.empty()) return finding;

  Tally tally(values);
  bool expected_known = true;
  std::vector<Evidence> evidence;
  for (const Group& group : groups) {
    std::vector<std::uint64_t> seeds;
    std::vector<MetricValue> numbers;
    for (const std::uint64_t seed : all_seeds) {
      const auto number = measured(tally, group, seed);
      if (!number) continue;
      seeds.push_back(seed);
      numbers.push_back(*number);
    }
    Check check = check_of(group.label, by, std::move(seeds), numbers);
    check.expected =
        expected_value(values.study(), hypothesis, group.arms.front(), values.vocabulary(group.arms.front()));
    expected_known = expected_known && check.expected;
    if (check.expected) {
      check.tolerance = hypothesis.tolerance * (hypothesis.relative ? std::fabs(*check.expected) : 1);
      const Region region = region_of(check, hypothesis.expect, hypothesis.name);
      check.region = from_scale(by, region);
      evidence.push_back(evidence_of(numbers, region));
      check.verdict = verdict_of(evidence.back());
    }
    finding.result.checks.push_back(std::move(check));
  }
  finding.obstacle = obstacle_of(all_seeds.size(), tally);
  for (const Check& check : finding.result.checks)
    if (finding.obstacle.empty() && check.expected && !std::isfinite(*check.expected + *check.tolerance))
      finding.obstacle = fmt::format("what is expected of {} is no finite number", check.label);
  if (finding.obstacle.empty() && !expected_known) finding.obstacle = "no run tells the size of the vocabulary";
  finding.tested = all_seeds.size() >= fewest_seeds;
  finding.unanimous = "all seeds agree";
  if (finding.obstacle.empty()) finding.judge(all_of(evidence));
  finding.observed = observation_of(what, finding.result.checks, unit);
  finding.context = "pseudo-median of " + context_of(values, all_seeds.size(), {side.regime}, tally);
  return finding;
}

std::string tolerance_of(const Hypothesis& h) {
  return short_number(h.relative ? 100 * h.tolerance : h.tolerance) + (h.relative ? " %" : "");
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
  std::vector<Group> groups;
  for (const std::size_t arm : side.arms) groups.push_back({study.arms[arm].name, {arm}});
  const Measured measured = [&](Tally& tally, const Group& group, std::uint64_t seed) {
    return tally.on_scale(metric, group.arms.front(), side.regime, seed);
  };
  return examine_groups(values, hypothesis, side, groups, measured, metric.compared_by, metric.name, metric.unit);
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
  const Measured measured = [&](Tally& tally, const Group& group, std::uint64_t seed) -> std::optional<MetricValue> {
    std::vector<double> x;
    std::vector<MetricValue> y;
    for (const std::size_t arm : group.arms) {
      const auto value = tally.value(metric, arm, side.regime, seed);
      if (!value) continue;
      if (!to_scale(ComparedBy::ratio, *value)) {
        tally.unusable(arm, side.regime, seed);
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
  return examine_groups(values, hypothesis, side, groups_along(study, hypothesis, side), measured,
                        ComparedBy::difference,
                        fmt::format("the slope of log {} over log {}", metric.name, hypothesis.over), "");
}
void Slope::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  Statement::check(study, hypothesis, complain);
  check_formula(study, hypothesis, complain);
  const auto axis =
      std::find_if(study.axes.begin(), study.axes.end(), [&](const Axis& a) { return a.name == hypothesis.over; });
  const auto above_0 = [](const Level& level) { return level.value && *level.value > 0; };
  if (axis == study.axes.end())
    complain("over", fmt::format("there is no axis '{}'{}", shown(hypothesis.over),
                                 not_among(hypothesis.over, study.axis_names())));
  else if (hypothesis.arm.count(hypothesis.over) > 0 || axis->levels.size() < 2)
    complain("over",
             fmt::format("'{}' has a single level among these arms; a slope needs two", shown(hypothesis.over)));
  else if (!std::all_of(axis->levels.begin(), axis->levels.end(), above_0))
    complain("over", fmt::format("every level of '{}' must have a value above 0", shown(hypothesis.over)));
  else
    check_slope(study, hypothesis, complain);
}

}  // namespace surd
