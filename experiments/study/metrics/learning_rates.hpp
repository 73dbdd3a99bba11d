#pragma once

#include "experiments/study/metrics/evaluations.hpp"

namespace surd {

/// How much the rate matters: the mean over the rates of min(final, initial) - best, for an accuracy the other way
/// round. Wortsman et al., arXiv 2309.14322, section 3.
class RateSensitivity : public MeasureMetric {
 public:
  using MeasureMetric::MeasureMetric;
  std::optional<MetricValue> of_rates(const RunsByRate& runs) const override;
  bool of_tuning() const override { return true; }
  bool needs_start() const override { return true; }
};

/// The largest learning rate up to which the runs of a seed do not diverge: at least the largest of the grid where none
/// does, and at most the smallest where that one does.
class LargestStableRate : public StudyMetric {
 public:
  using Options = NoOptions;
  explicit LargestStableRate(const Options&) {}
  std::optional<MetricValue> of_rates(const RunsByRate& runs) const override;
  bool of_tuning() const override { return true; }
  bool lower_is_better() const override { return false; }
  ComparedBy compared_by() const override { return ComparedBy::ratio; }
  bool needs_start() const override { return true; }
};

}  // namespace surd
