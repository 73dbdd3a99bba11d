#pragma once

#include "experiments/study/metrics/metric.hpp"

namespace surd {

enum class NormStatistic { median, mean, max };
std::vector<std::string> names_of(NormStatistic);

struct GradientNormOptions {
  NormStatistic statistic = NormStatistic::median;
  void fields(Fields& f) { f("statistic", statistic, "of the gradient norms"); }
};
/// A statistic of the gradient norm over the logged updates at which it is finite; at the last one of a run that
/// diverges it may not be.
class GradientNorm : public StudyMetric {
 public:
  using Options = GradientNormOptions;
  explicit GradientNorm(const Options& options) : statistic_(options.statistic) {}
  std::optional<MetricValue> of_run(const RunView& view) const override;

 private:
  NormStatistic statistic_;
};

}  // namespace surd
