#include "experiments/study/verdicts/trend.hpp"

#include "experiments/study/verdicts/groups.hpp"

namespace surd {
namespace {

// Over two, Kendall's tau of a seed is 1 or -1, and seeds of opposite signs tie: nine of ten that rise decide nothing.
constexpr std::size_t fewest_of_a_trend = 3;

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
  f("over", over, "the axis whose numbers are x, three or more");
  f("expect", expect, "of the metric along that axis");
  f.rule(!expect.text().empty(), "expect", "is required where kind is trend: rising or falling");
}

std::string Trend::words(const Hypothesis& h) const {
  return fmt::format("{} of {} is {} over {}", h.metric, text_of(h.arm, "every arm"), h.expect, h.over);
}

void Trend::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  Statement::check(study, hypothesis, complain);
  check_along(study, hypothesis, "over", hypothesis.over, fewest_of_a_trend, complain);
}

Finding Trend::examine(const StudyValues& values, const Hypothesis& hypothesis) const {
  const Study& study = values.study();
  const MetricSpec& metric = study.metric(hypothesis.metric);
  const Side side(study, hypothesis, hypothesis.arm);
  GroupNumber number;
  number.what = fmt::format("the rank correlation of {} with {}", metric.name, hypothesis.over);
  number.fewest_numbers = fewest_of_a_trend;
  number.in_seed = [&](Tally& tally, const ArmGroup& group, std::uint64_t seed) -> std::optional<MetricValue> {
    std::vector<TrendPoint> points;
    for (const std::size_t arm : group.arms)
      if (const auto value = tally.value(metric, arm, side.regime, seed))
        points.push_back({study.numbers(arm).at(hypothesis.over), *value});
    return points.size() < group.arms.size() ? std::nullopt : std::optional<MetricValue>(kendall_tau(points));
  };
  number.target = [&](const ArmGroup&) {
    GroupTarget target;
    target.region = hypothesis.expect == "falling" ? Region{-statistics::infinity, 0} : Region{0};
    return target;
  };
  Finding finding = examine_groups(values, hypothesis, side, groups_along(study, {hypothesis.over}, side.arms), number);
  finding.expected = fmt::format("{} over {}", hypothesis.expect, hypothesis.over);
  return finding;
}

}  // namespace surd
