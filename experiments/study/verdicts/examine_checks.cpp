#include "experiments/study/statistics/formula.hpp"
#include "experiments/study/verdicts/hypotheses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace surd {
namespace {

using Kind = Hypothesis::Kind;

/// What a value or slope should be in an arm; empty while no run tells V and the formula needs it.
std::optional<double> expected_value(const StudyValues& values, const Hypothesis& hypothesis, std::size_t arm) {
  std::map<std::string, double> numbers = values.study().numbers(arm);
  if (hypothesis.kind == Kind::slope) numbers.erase(hypothesis.over);
  if (const auto vocabulary = values.vocabulary(arm)) numbers.emplace("V", *vocabulary);
  bool known = true;
  const double value = evaluate_formula(hypothesis.formula, [&](const std::string& name) -> double {
    if (const auto found = numbers.find(name); found != numbers.end()) return found->second;
    expect(name == "V", "hypothesis", "'{}': its formula '{}' knows no number '{}' in arm '{}'", hypothesis.name,
           hypothesis.formula, name, values.study().arms[arm].name);
    known = false;
    return 0;
  });
  return known ? std::optional<double>(value) : std::nullopt;
}

/// Holds if the whole interval lies within the bounds, fails if none of it does.
Verdict judge(const Check& check, const std::string& expect_word, const std::string& name) {
  expect(expect_word.empty() || expect_word == "within" || expect_word == "at_most" || expect_word == "at_least",
         "hypothesis", "'{}' expects within, at_most or at_least; got '{}'", name, expect_word);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double least = expect_word == "at_most" ? -infinity : *check.expected - *check.tolerance;
  const double most = expect_word == "at_least" ? infinity : *check.expected + *check.tolerance;
  if (check.interval.low >= least && check.interval.high <= most) return Verdict::supported;
  if (check.interval.low > most || check.interval.high < least) return Verdict::refuted;
  return Verdict::undecided;
}

Verdict all_of(const std::vector<Check>& checks) {
  Verdict verdict = Verdict::supported;
  for (const Check& check : checks) {
    if (check.verdict == Verdict::refuted) return Verdict::refuted;
    if (check.verdict == Verdict::undecided) verdict = Verdict::undecided;
  }
  return verdict;
}

/// The one that stands most against the hypothesis: failed before undecided before held, then the farthest off (or,
/// where curves are to differ, the nearest).
const Check& worst_of(const std::vector<Check>& checks, bool far_is_good) {
  const auto badness = [far_is_good](const Check& check) {
    const double kind = check.verdict == Verdict::refuted ? 2 : check.verdict == Verdict::undecided ? 1 : 0;
    const double off =
        std::fabs(check.effect - check.expected.value_or(0)) / std::max(check.tolerance.value_or(1), 1e-300);
    return std::pair(kind, std::isnan(off) ? 0.0 : far_is_good ? -off : off);
  };
  return *std::max_element(checks.begin(), checks.end(),
                           [&](const Check& a, const Check& b) { return badness(a) < badness(b); });
}

std::string observation(const std::string& what, const std::vector<Check>& checks, const std::string& unit,
                        bool far_is_good = false) {
  const Check& worst = worst_of(checks, far_is_good);
  if (worst.values.empty()) return "";
  const std::string number = text_of(worst, unit);
  const std::string target = worst.expected ? fmt::format(" for {}", short_number(*worst.expected)) : "";
  if (checks.size() == 1) return fmt::format("{} of {} is {}{}", what, worst.label, number, target);
  const auto held = std::count_if(checks.begin(), checks.end(),
                                  [](const Check& check) { return check.verdict == Verdict::supported; });
  return fmt::format("{} holds in {} of {} cases; {} {} is {}{}", what, held, checks.size(),
                     worst.verdict == Verdict::supported ? "the nearest to failing," : "in", worst.label, number,
                     target);
}

/// The arms of one check: one arm, or those along the axis that a slope is taken over.
struct Group {
  std::string label;
  std::vector<std::size_t> arms;
};

std::vector<Group> groups_of(const Study& study, const Hypothesis& hypothesis, const Side& side) {
  std::vector<Group> groups;
  if (hypothesis.kind == Kind::value) {
    for (const std::size_t arm : side.arms) groups.push_back({study.arms[arm].name, {arm}});
    return groups;
  }
  const std::size_t over = study.axis_index(hypothesis.over);
  std::map<std::vector<std::size_t>, std::size_t> index;
  for (const std::size_t arm : side.arms) {
    std::vector<std::size_t> others = study.arms[arm].levels;
    others[over] = 0;
    const auto [found, fresh] = index.emplace(others, groups.size());
    if (fresh) {
      Selector label;
      for (std::size_t i = 0; i < others.size(); ++i)
        if (i != over) label[study.axes[i].name] = study.axes[i].levels[others[i]].name;
      groups.push_back({text_of(label), {}});
    }
    groups[found->second].arms.push_back(arm);
  }
  return groups;
}

/// The metric of an arm, or its slope, in one seed.
std::optional<double> measured(Tally& tally, const Study& study, const Hypothesis& hypothesis, const Group& group,
                               Regime regime, std::uint64_t seed) {
  const MetricSpec& metric = study.metric(hypothesis.metric);
  std::vector<double> x, y;
  for (const std::size_t arm : group.arms) {
    const auto value = tally.value(metric, arm, regime, seed);
    if (hypothesis.kind == Kind::value) return value;
    if (value && *value <= 0) tally.unusable(arm, regime, seed);  // has no logarithm
    if (!value || *value <= 0) continue;
    const auto numbers = study.numbers(arm);
    const auto level = numbers.find(hypothesis.over);
    expect(level != numbers.end(), "hypothesis", "'{}': every level of '{}' needs a value for a slope", hypothesis.name,
           hypothesis.over);
    x.push_back(level->second);
    y.push_back(*value);
  }
  if (y.size() < group.arms.size()) return std::nullopt;
  return statistics::log_log_slope(x, y);
}

Finding examine_values(const StudyValues& values, const Hypothesis& hypothesis) {
  const Study& study = values.study();
  const MetricSpec& metric = study.metric(hypothesis.metric);
  const Side side(study, hypothesis, hypothesis.arm);
  const std::vector<Group> groups = groups_of(study, hypothesis, side);
  const bool slope = hypothesis.kind == Kind::slope;
  const std::vector<std::uint64_t>& all_seeds = values.seeds(metric);

  Finding finding;
  const std::string word = hypothesis.expect == "at_most"    ? "at most "
                           : hypothesis.expect == "at_least" ? "at least "
                                                             : "";
  finding.expected = fmt::format(
      "{}{} ± {}", word, hypothesis.formula,
      hypothesis.relative ? short_number(100 * hypothesis.tolerance) + " %" : short_number(hypothesis.tolerance));
  if (groups.empty()) finding.obstacle = "the study has no such arm";
  for (const Group& group : groups)
    if (slope && group.arms.size() < 2)
      finding.obstacle = fmt::format("a slope needs two levels of '{}' or more", hypothesis.over);
  if (!finding.obstacle.empty()) return finding;

  Tally tally(values);
  bool expected_known = true;
  for (const Group& group : groups) {
    std::vector<std::uint64_t> seeds;
    std::vector<double> numbers;
    for (const std::uint64_t seed : all_seeds) {
      const auto number = measured(tally, study, hypothesis, group, side.regime, seed);
      if (!number) continue;
      seeds.push_back(seed);
      numbers.push_back(*number);
    }
    Check check = check_of(group.label, std::move(seeds), std::move(numbers));
    check.expected = expected_value(values, hypothesis, group.arms.front());
    expected_known = expected_known && check.expected;
    if (check.expected) {
      check.tolerance = hypothesis.tolerance * (hypothesis.relative ? std::fabs(*check.expected) : 1);
      check.verdict = judge(check, hypothesis.expect, hypothesis.name);
    }
    finding.result.checks.push_back(std::move(check));
  }
  finding.obstacle = obstacle_of(all_seeds.size(), tally);
  if (finding.obstacle.empty() && !expected_known) finding.obstacle = "no run tells the size of the vocabulary";
  finding.result.verdict = all_of(finding.result.checks);
  const std::string what =
      slope ? fmt::format("the slope of log {} over log {}", metric.name, hypothesis.over) : metric.name;
  finding.observed = observation(what, finding.result.checks, slope ? "" : metric.unit);
  finding.context = context_of(values, all_seeds.size(), {side.regime}, tally);
  return finding;
}

/// The largest distance of two loss curves; infinite where one has an update, or a number, that the other has not.
double distance(const std::vector<UpdateRecord>& a, const std::vector<UpdateRecord>& b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return infinity;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].update != b[i].update || std::isnan(a[i].loss) != std::isnan(b[i].loss)) return infinity;
    if (!std::isnan(a[i].loss)) largest = std::max(largest, std::fabs(a[i].loss - b[i].loss));
  }
  return largest;
}

Finding examine_curves(const StudyValues& values, const Hypothesis& hypothesis) {
  expect(hypothesis.expect == "same" || hypothesis.expect == "different", "hypothesis",
         "'{}' expects same or different; got '{}'", hypothesis.name, hypothesis.expect);
  const bool same = hypothesis.expect == "same";
  const Study& study = values.study();
  const Side arm(study, hypothesis, hypothesis.arm), against(study, hypothesis, hypothesis.against);

  Finding finding;
  finding.expected = fmt::format("{} than {} in every seed", same ? "no farther apart" : "farther apart",
                                 short_number(hypothesis.tolerance));
  Tally tally(values);
  for (const auto& [a, b] : pairs_of(study, arm, against)) {
    Check check = check_of(fmt::format("{} - {}", study.arms[a].name, study.arms[b].name), {}, {});
    check.tolerance = hypothesis.tolerance;
    bool holds = true;
    for (const std::uint64_t seed : study.seeds) {
      const RunResult* one = tally.run(a, arm.regime, seed);
      const RunResult* other = tally.run(b, against.regime, seed);
      if (one != nullptr && one->metrics.updates.empty()) tally.unusable(a, arm.regime, seed);
      if (other != nullptr && other->metrics.updates.empty()) tally.unusable(b, against.regime, seed);
      if (one == nullptr || other == nullptr || one->metrics.updates.empty() || other->metrics.updates.empty())
        continue;
      check.seeds.push_back(seed);
      check.values.push_back(distance(one->metrics.updates, other->metrics.updates));
      holds = holds && (check.values.back() <= hypothesis.tolerance) == same;
    }
    if (!check.values.empty()) {
      const auto [least, largest] = std::minmax_element(check.values.begin(), check.values.end());
      check.interval = {*least, *largest};
      check.effect = same ? *largest : *least;
    }
    check.verdict = holds ? Verdict::supported : Verdict::refuted;
    finding.result.checks.push_back(std::move(check));
  }
  if (finding.result.checks.empty()) {
    finding.obstacle = "no arms of the study can be compared this way";
    return finding;
  }
  finding.obstacle = obstacle_of(study.seeds.size(), tally);
  finding.result.verdict = all_of(finding.result.checks);
  finding.observed =
      observation(same ? "the largest distance of the loss curves" : "the smallest distance of the loss curves",
                  finding.result.checks, "nats", !same);
  finding.context = context_of(values, study.seeds.size(), {arm.regime, against.regime}, tally);
  return finding;
}

}  // namespace

Finding examine_checks(const StudyValues& values, const Hypothesis& hypothesis) {
  return hypothesis.kind == Kind::identical ? examine_curves(values, hypothesis) : examine_values(values, hypothesis);
}

}  // namespace surd
