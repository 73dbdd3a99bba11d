#include "experiments/study/verdicts/estimate.hpp"

#include <algorithm>

namespace surd {

using statistics::Bounded;
using statistics::infinity;

std::optional<MetricValue> to_scale(ComparedBy by, const MetricValue& value) {
  if (by == ComparedBy::difference) return value;
  if (value.high <= 0) return std::nullopt;
  return logarithm(value);
}

MetricValue from_scale(ComparedBy by, const MetricValue& value) {
  return by == ComparedBy::difference ? value : exponential(value);
}

Region from_scale(ComparedBy by, const Region& region) {
  const Bounded ends = from_scale(by, Bounded::between(region.low, region.high));
  return {ends.low, ends.high, region.ends_included};
}

Estimate estimate_of(ComparedBy by, const std::vector<MetricValue>& on_scale) {
  if (on_scale.empty()) return {};
  const std::vector<double> lows = lows_of(on_scale), highs = highs_of(on_scale);
  const Bounded interval =
      Bounded::between(statistics::pseudo_median_interval(lows).low, statistics::pseudo_median_interval(highs).high);
  const Bounded value = Bounded::between(statistics::pseudo_median(lows), statistics::pseudo_median(highs));
  const Bounded ends = from_scale(by, interval);
  return {from_scale(by, value), {ends.low, ends.high}};
}

Estimate quantile_of(const std::vector<MetricValue>& values, double share) {
  if (values.empty()) return {};
  const auto low = statistics::quantile(lows_of(values), share), high = statistics::quantile(highs_of(values), share);
  return {Bounded::between(low.value, high.value), {low.interval.low, high.interval.high}};
}

double Evidence::p() const { return std::min(1.0, 2 * std::min(inside, outside)); }
bool Evidence::speaks_for() const { return inside < outside; }

Evidence evidence_of(const std::vector<MetricValue>& effects, const Region& region) {
  if (effects.empty()) return {};
  using statistics::Ties, statistics::signed_rank_p_above, statistics::signed_rank_p_below;
  const std::vector<double> lows = lows_of(effects), highs = highs_of(effects);
  const Ties at_ends = region.ends_included ? Ties::in_favour : Ties::against;
  Evidence evidence{0, 1};
  if (region.low > -infinity) {
    evidence.inside = signed_rank_p_above(lows, region.low, at_ends);
    evidence.outside = signed_rank_p_below(highs, region.low);
  }
  if (region.high < infinity) {
    evidence.inside = std::max(evidence.inside, signed_rank_p_below(highs, region.high, at_ends));
    evidence.outside = std::min(evidence.outside, signed_rank_p_above(lows, region.high));
  }
  return evidence;
}

Evidence all_of(const std::vector<Evidence>& parts) {
  if (parts.empty()) return {};
  Evidence all{0, 1};
  for (const Evidence& part : parts) {
    all.inside = std::max(all.inside, part.inside);
    all.outside = std::min(all.outside, part.outside);
  }
  all.outside = std::min(1.0, static_cast<double>(parts.size()) * all.outside);
  return all;
}

}  // namespace surd
