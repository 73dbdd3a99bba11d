#include "experiments/study/verdicts/values.hpp"

#include "experiments/study/statistics/formula.hpp"
#include "experiments/study/statistics/lowest_point.hpp"
#include "experiments/study/statistics/statistics.hpp"
#include "experiments/study/verdicts/groups.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace surd {
namespace {

// Numbers of the axis that it is taken over, or along which it is looked for.
constexpr std::size_t fewest_of_a_slope = 2, fewest_of_an_optimum = 3;

/// What a value or slope should be in an arm; empty where the formula needs V and that is not known.
std::optional<double> expected_value(const Study& study, const Hypothesis& hypothesis, std::size_t arm,
                                     std::optional<double> vocabulary) {
  std::map<std::string, double> numbers = study.numbers(arm);
  numbers.erase(hypothesis.over);
  numbers.erase(hypothesis.along);
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
  for (const auto& [axis, does] : {std::pair(hypothesis.over, "the slope is taken over"),
                                   std::pair(hypothesis.along, "the optimum is looked for along")})
    if (includes(names_in_formula(hypothesis.formula), axis))
      return complain("formula", fmt::format("cannot name '{}', the axis that {}", axis, does));
  for (const std::size_t arm : study.select(hypothesis.arm))
    if (const auto value = expected_value(study, hypothesis, arm, std::nullopt); value && !std::isfinite(*value))
      return complain("formula", fmt::format("is {} in arm '{}'; it must be a finite number in every arm selected",
                                             *value, study.arms[arm].name));
} catch (const Error&) {  // what is no formula, and what it cannot know, is complained about where all formulas are
}

/// Complains where an axis cannot be one of a logarithmic scale; see check_along().
bool check_logarithms(const Study& study, const Hypothesis& hypothesis, const char* key, const std::string& axis,
                      std::size_t fewest, const Statement::Complain& complain, const std::string& also = "") {
  if (!check_along(study, hypothesis, key, axis, fewest, complain, also)) return false;
  const auto& levels = study.axes[study.axis_index(axis)].levels;
  const bool positive = std::all_of(levels.begin(), levels.end(), [](const Level& level) { return *level.value > 0; });
  if (!positive) complain(key, fmt::format("every level of '{}' must have a value above 0", shown(axis)));
  return positive;
}

/// Where a number is expected, on its scale.
Region region_of(const Hypothesis& hypothesis, ComparedBy by, double value, double tolerance) {
  const std::string& word = hypothesis.expect;
  expect(word.empty() || word == "within" || word == "at_most" || word == "at_least", "hypothesis",
         "'{}' expects within, at_most or at_least; got '{}'", hypothesis.name, word);
  const auto end = [&](double number) {
    if (by == ComparedBy::difference) return number;
    return number > 0 ? std::log(number) : -statistics::infinity;
  };
  Region region{-statistics::infinity, statistics::infinity, true};
  if (word != "at_most") region.low = end(value - tolerance);
  if (word != "at_least") region.high = end(value + tolerance);
  return region;
}

std::string tolerance_of(const Hypothesis& h) {
  return short_number(h.relative ? 100 * h.tolerance : h.tolerance) + (h.relative ? " %" : "");
}

/// What the formula expects, in words: "sqrt(d) ± 0.1", "at most 60", "at least sqrt(d) - 10 %".
std::string expected_words(const Hypothesis& h) {
  const bool at_most = h.expect == "at_most";
  if (!at_most && h.expect != "at_least")
    return h.tolerance == 0 ? "exactly " + h.formula : fmt::format("{} ± {}", h.formula, tolerance_of(h));
  const char* word = at_most ? "at most" : "at least";
  if (h.tolerance == 0) return fmt::format("{} {}", word, h.formula);
  if (!names_in_formula(h.formula).empty())
    return fmt::format("{} {} {} {}", word, h.formula, at_most ? "+" : "-", tolerance_of(h));
  const double value = evaluate_formula(h.formula, [](const std::string&) { return 0.0; });
  const double tolerance = h.tolerance * (h.relative ? std::fabs(value) : 1);
  return fmt::format("{} {}", word, short_number(at_most ? value + tolerance : value - tolerance));
}

/// Examines groups whose number a formula expects.
Finding examine_formula(const StudyValues& values, const Hypothesis& hypothesis, const Side& side,
                        const std::vector<ArmGroup>& groups, GroupNumber number) {
  number.target = [&, by = number.by](const ArmGroup& group) {
    GroupTarget target;
    const std::size_t arm = group.arms.front();
    target.value = expected_value(values.study(), hypothesis, arm, values.vocabulary(arm));
    if (!target.value) return target;
    target.tolerance = hypothesis.tolerance * (hypothesis.relative ? std::fabs(*target.value) : 1);
    if (std::isfinite(*target.value + *target.tolerance))
      target.region = region_of(hypothesis, by, *target.value, *target.tolerance);
    return target;
  };
  Finding finding = examine_groups(values, hypothesis, side, groups, number);
  finding.expected = expected_words(hypothesis);
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

void OptimumOptions::fields(Fields& f) {
  formula_fields(f, "optimum");
  f("along", along, "the axis of three numbers or more, along which the metric is best somewhere");
  f("over", over, "the axis whose numbers are x of a slope; left out: the best number itself is expected");
  f.rule(!along.empty(), "along", "is required where kind is optimum: the axis whose best number is meant");
}

std::string Value::words(const Hypothesis& h) const {
  return fmt::format("{} of {} is {}", h.metric, text_of(h.arm, "every arm"), expected_words(h));
}
Finding Value::examine(const StudyValues& values, const Hypothesis& hypothesis) const {
  const Study& study = values.study();
  const MetricSpec& metric = study.metric(hypothesis.metric);
  const Side side(study, hypothesis, hypothesis.arm);
  std::vector<ArmGroup> groups;
  for (const std::size_t arm : side.arms) groups.push_back({study.arms[arm].name, {arm}});
  GroupNumber number;
  number.what = metric.name;
  number.unit = metric.unit;
  number.by = metric.compared_by;
  number.in_seed = [&](Tally& tally, const ArmGroup& group, std::uint64_t seed) {
    return tally.on_scale(metric, group.arms.front(), side.regime, seed);
  };
  return examine_formula(values, hypothesis, side, groups, std::move(number));
}

void Value::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  Statement::check(study, hypothesis, complain);
  check_formula(study, hypothesis, complain);
}

std::string Slope::quantity(const Hypothesis& h) const {
  return fmt::format("slope of log {} over log {}", h.metric, h.over);
}
std::string Slope::words(const Hypothesis& h) const {
  return fmt::format("the slope of log {} of {} over log {} is {}", h.metric, text_of(h.arm, "every arm"), h.over,
                     expected_words(h));
}
Finding Slope::examine(const StudyValues& values, const Hypothesis& hypothesis) const {
  const Study& study = values.study();
  const MetricSpec& metric = study.metric(hypothesis.metric);
  const Side side(study, hypothesis, hypothesis.arm);
  GroupNumber number;
  number.what = "the " + quantity(hypothesis);
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
  return examine_formula(values, hypothesis, side, groups_along(study, {hypothesis.over}, side.arms),
                         std::move(number));
}
void Slope::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  Statement::check(study, hypothesis, complain);
  check_formula(study, hypothesis, complain);
  check_logarithms(study, hypothesis, "over", hypothesis.over, fewest_of_a_slope, complain);
}

std::string Optimum::quantity(const Hypothesis& h) const {
  const std::string best = fmt::format("best {} by {}", h.along, h.metric);
  return h.over.empty() ? best : fmt::format("slope of log({}) over log {}", best, h.over);
}
std::string Optimum::words(const Hypothesis& h) const {
  return fmt::format("the {} in {} is {}", quantity(h), text_of(h.arm, "every arm"), expected_words(h));
}
Finding Optimum::examine(const StudyValues& values, const Hypothesis& hypothesis) const {
  const Study& study = values.study();
  const MetricSpec& metric = study.metric(hypothesis.metric);
  const Side side(study, hypothesis, hypothesis.arm);
  const bool slope = !hypothesis.over.empty();
  const auto best = [&, regime = side.regime](Tally& tally, const std::vector<std::size_t>& arms,
                                              std::uint64_t seed) -> std::optional<MetricValue> {
    std::vector<statistics::Point> points;
    for (const std::size_t arm : arms)
      if (const auto value = tally.on_scale(metric, arm, regime, seed))
        points.push_back({study.numbers(arm).at(hypothesis.along), metric.lower_is_better ? *value : -1 * *value});
    if (points.size() < arms.size()) return std::nullopt;
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
    return statistics::lowest_point(points);
  };
  GroupNumber number;
  number.what = "the " + quantity(hypothesis);
  number.by = slope ? ComparedBy::difference : ComparedBy::ratio;
  if (slope) number.fewest_numbers = fewest_of_a_slope;
  number.in_seed = [&](Tally& tally, const ArmGroup& group, std::uint64_t seed) -> std::optional<MetricValue> {
    if (!slope) {
      const auto found = best(tally, group.arms, seed);
      return found ? to_scale(ComparedBy::ratio, *found) : std::nullopt;
    }
    std::map<double, std::vector<std::size_t>> lines;
    for (const std::size_t arm : group.arms) lines[study.numbers(arm).at(hypothesis.over)].push_back(arm);
    std::vector<double> x;
    std::vector<MetricValue> y;
    for (const auto& [level, arms] : lines) {
      const auto found = best(tally, arms, seed);
      if (!found) continue;
      x.push_back(level);
      y.push_back(*found);
    }
    return y.size() < lines.size() ? std::nullopt : std::optional(statistics::log_log_slope(x, y));
  };
  std::vector<std::string> axes{hypothesis.along};
  if (slope) axes.push_back(hypothesis.over);
  return examine_formula(values, hypothesis, side, groups_along(study, axes, side.arms), std::move(number));
}
void Optimum::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  Statement::check(study, hypothesis, complain);
  check_formula(study, hypothesis, complain);
  if (!check_logarithms(study, hypothesis, "along", hypothesis.along, fewest_of_an_optimum, complain)) return;
  std::set<double> numbers;
  for (const Level& level : study.axes[study.axis_index(hypothesis.along)].levels)
    if (!numbers.insert(*level.value).second)
      return complain("along", fmt::format("two levels of '{}' have the value {}; give each its own",
                                           shown(hypothesis.along), *level.value));
  if (hypothesis.over.empty()) return;
  if (hypothesis.over == hypothesis.along)
    return complain("over", fmt::format("is '{}', as is 'along'; name two axes", shown(hypothesis.over)));
  check_logarithms(study, hypothesis, "over", hypothesis.over, fewest_of_a_slope, complain, hypothesis.along);
}

}  // namespace surd
