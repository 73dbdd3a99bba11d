#include "experiments/study/verdicts/trend.hpp"

#include "experiments/study/verdicts/finding.hpp"

#include <algorithm>
#include <set>

namespace surd {
namespace {

/// A value of the metric at a number of the axis.
struct TrendPoint {
  double x;
  MetricValue y;
};

/// Kendall's tau over all pairs that differ in x: the share of those in rising order less that of those in falling
/// order. Of a pair whose bounds overlap the order is not known.
MetricValue kendall_tau(const std::vector<TrendPoint>& points) {
  double low = 0, high = 0, pairs = 0;
  for (const TrendPoint& a : points) {
    for (const TrendPoint& b : points) {
      if (a.x >= b.x) continue;
      low += b.y.low > a.y.high ? 1 : b.y.low < a.y.high ? -1 : 0;
      high += b.y.high < a.y.low ? -1 : b.y.high > a.y.low ? 1 : 0;
      ++pairs;
    }
  }
  return MetricValue::between(low / pairs, high / pairs);
}

}  // namespace

void TrendOptions::fields(Fields& f) {
  f("metric", metric, "of which");
  f("regime", regime, "one rate for all arms, or each arm's own best");
  f("arm", arm, "levels by axis, e.g. {task: reverse, rho: '1.41'}; an axis that is not named is free");
  f("over", over, "the axis whose numbers are x");
  f("expect", expect, "of the metric along that axis");
  f.rule(!expect.text().empty(), "expect", "is required where kind is trend: rising or falling");
}

std::string Trend::words(const Hypothesis& h) const {
  return fmt::format("{} of {} is {} over {}", h.metric, text_of(h.arm, "every arm"), h.expect, h.over);
}

void Trend::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  Statement::check(study, hypothesis, complain);
  const auto axis =
      std::find_if(study.axes.begin(), study.axes.end(), [&](const Axis& a) { return a.name == hypothesis.over; });
  if (axis == study.axes.end())
    return complain("over", fmt::format("there is no axis '{}'{}", shown(hypothesis.over),
                                        not_among(hypothesis.over, study.axis_names())));
  std::set<double> numbers;
  for (const Level& level : axis->levels) {
    if (!level.value)
      return complain("over", fmt::format("every level of '{}' must have a value", shown(hypothesis.over)));
    numbers.insert(*level.value);
  }
  if (numbers.size() < 2)
    complain("over", fmt::format("'{}' has a single value; a trend needs two or more", shown(hypothesis.over)));
  if (hypothesis.arm.count(hypothesis.over) > 0)
    complain("arm", fmt::format("names a level of '{}', the axis that the trend is over; leave it free",
                                shown(hypothesis.over)));
}

Finding Trend::examine(const StudyValues& values, const Hypothesis& hypothesis) const {
  const Study& study = values.study();
  const MetricSpec& metric = study.metric(hypothesis.metric);
  const Side side(study, hypothesis, hypothesis.arm);
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;  // arms by the levels that they share
  for (const std::size_t arm : side.arms) {
    const std::string label = text_of(study.levels_beside(arm, study.axis_index(hypothesis.over)));
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == label; });
    (same != groups.end() ? *same : groups.emplace_back(label, std::vector<std::size_t>())).second.push_back(arm);
  }
  const Region region = hypothesis.expect == "falling" ? Region{-statistics::infinity, 0} : Region{0};
  const std::vector<std::uint64_t>& all_seeds = values.seeds(metric);

  Finding finding;
  finding.expected = fmt::format("{} over {}", hypothesis.expect, hypothesis.over);
  if (groups.empty()) {
    finding.obstacle = "the study has no such arm";
    return finding;
  }
  Tally tally(values);
  std::vector<Evidence> evidence;
  for (const auto& [label, arms] : groups) {
    std::vector<std::uint64_t> seeds;
    std::vector<MetricValue> taus;
    for (const std::uint64_t seed : all_seeds) {
      std::vector<TrendPoint> points;
      for (const std::size_t arm : arms)
        if (const auto value = tally.value(metric, arm, side.regime, seed))
          points.push_back({study.numbers(arm).at(hypothesis.over), *value});
      if (points.size() < arms.size()) continue;
      seeds.push_back(seed);
      taus.push_back(kendall_tau(points));
    }
    evidence.push_back(evidence_of(taus, region));
    Check check = check_of(label, ComparedBy::difference, std::move(seeds), taus);
    check.verdict = verdict_of(evidence.back());
    finding.result.checks.push_back(std::move(check));
  }
  finding.obstacle = obstacle_of(all_seeds.size(), tally);
  finding.tested = all_seeds.size() >= fewest_seeds;
  if (finding.obstacle.empty()) finding.judge(all_of(evidence));
  finding.observed = observation_of(fmt::format("the rank correlation of {} with {}", metric.name, hypothesis.over),
                                    finding.result.checks, "", true);
  finding.context = context_of(values, all_seeds.size(), {side.regime}, tally);
  return finding;
}

}  // namespace surd
