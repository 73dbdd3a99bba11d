#pragma once

#include "experiments/study/metrics/metric.hpp"

namespace surd {

enum class NormStatistic { median, mean, max };
std::vector<std::string> names_of(NormStatistic);

struct GradientNormOptions {
  NormStatistic statistic = NormStatistic::median;
  void fields(Fields& f) { f("statistic", statistic, "of the gradient norms"); }
};
/// Over the logged updates whose norm is finite: the last one of a run that diverges may have none.
class GradientNorm : public StudyMetric {
 public:
  using Options = GradientNormOptions;
  explicit GradientNorm(const Options& options) : statistic_(options.statistic) {}
  std::optional<MetricValue> of_run(const RunView& view) const override;

 private:
  NormStatistic statistic_;
};

}  // namespace surd
