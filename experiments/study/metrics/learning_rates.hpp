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

/// The largest learning rate up to which the runs of a seed do not diverge: 0 where the smallest diverges already, and
/// censored where none does.
class LargestStableRate : public StudyMetric {
 public:
  using Options = NoOptions;
  explicit LargestStableRate(const Options&) {}
  std::optional<MetricValue> of_rates(const RunsByRate& runs) const override;
  bool of_tuning() const override { return true; }
  bool lower_is_better() const override { return false; }
  bool needs_start() const override { return true; }
};

}  // namespace surd
