#pragma once

#include "experiments/study/metrics/metric.hpp"
#include "experiments/study/statistics/statistics.hpp"

#include <optional>
#include <vector>

namespace surd {

/// The scale on which values are compared: as they are, or as their logarithms. Nothing where a value has none.
std::optional<MetricValue> to_scale(ComparedBy by, const MetricValue& value);
/// The way back.
MetricValue from_scale(ComparedBy by, const MetricValue& value);

/// The pseudo-median of values over seeds and its 95 % interval.
struct Estimate {
  MetricValue value;  ///< nothing is known of it where there are no values
  statistics::Interval interval{-statistics::infinity, statistics::infinity};
};
/// Of values on the scale; the estimate is what they were before. Where some are censored, value and interval hold
/// whatever these are.
Estimate estimate_of(ComparedBy by, const std::vector<MetricValue>& on_scale);

/// The same of a quantile over seeds, with this share of them below it. It is no matter of the scale.
Estimate quantile_of(const std::vector<MetricValue>& values, double share);

/// Where an effect is expected.
struct Region {
  double low = -statistics::infinity, high = statistics::infinity;
  bool ends_included = false;
};
/// A region on the scale as one of the numbers themselves.
Region from_scale(ComparedBy by, const Region& region);

/// One-sided p values by signed ranks: of "the effect is not in its region" and of "it is". A test of one of them
/// promises an error of half of what both together may have.
struct Evidence {
  double inside = 1, outside = 1;

  double p() const;         ///< two-sided
  bool speaks_for() const;  ///< whether the effect is rather in its region than outside
};
/// Of effects over seeds, on the scale of the region. A censored one counts as far as its bounds go.
Evidence evidence_of(const std::vector<MetricValue>& effects, const Region& region);
/// That all of several effects are in their regions, or that one of them is not; the second by Bonferroni's inequality.
Evidence all_of(const std::vector<Evidence>& parts);

}  // namespace surd
