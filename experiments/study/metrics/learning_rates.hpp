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
  std::string needs_of_config(const RunConfig& config) const override { return needs_whole_runs(config.train); }
};

struct LargestStableRateOptions {
  double excess = 1;
  void fields(Fields& f) {
    f("excess", excess, "nats of final loss above the seed's best, beyond which a run is not stable", above(0));
  }
};
/// The largest learning rate at which a run is stable: from the rate with the best final loss upwards, the last before
/// one at which the run has_diverged() or ends with an excess of loss. (Below the best rate a larger loss is slowness.)
/// At least the largest rate of the grid where that is stable; at most the smallest where the run diverges at all of
/// them. The number of an arm is the largest rate at which at least nine of ten seeds are stable.
class LargestStableRate : public StudyMetric {
 public:
  using Options = LargestStableRateOptions;
  explicit LargestStableRate(const Options& options) : excess_(options.excess) {}
  std::optional<MetricValue> of_rates(const RunsByRate& runs) const override;
  bool of_tuning() const override { return true; }
  bool lower_is_better() const override { return false; }
  ComparedBy compared_by() const override { return ComparedBy::ratio; }
  std::optional<double> quantile() const override { return 0.1; }
  bool needs_start() const override { return true; }
  std::string needs_of_config(const RunConfig& config) const override { return needs_whole_runs(config.train); }

 private:
  double excess_;
};

/// The learning rate with the best final value: the lowest_point() of the rates of the seed, where runs that
/// has_diverged() are infinitely bad. The number of an arm, with its interval, is the pseudo-median of those of the
/// tuning's seeds: one parabola a seed shows by how much the best rate varies, which one through the means does not.
class BestRate : public StudyMetric {
 public:
  using Options = MeasureOptions;
  explicit BestRate(const Options& options) : of_(options.of) {}
  std::optional<MetricValue> of_rates(const RunsByRate& runs) const override;
  bool takes_extensions() const override { return true; }
  bool of_tuning() const override { return true; }
  ComparedBy compared_by() const override { return ComparedBy::ratio; }
  bool needs_start() const override { return true; }
  std::string needs_of_config(const RunConfig& config) const override { return needs_whole_runs(config.train); }

 private:
  Measure of_;
};

}  // namespace surd
