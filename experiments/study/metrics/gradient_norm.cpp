#include "experiments/study/metrics/gradient_norm.hpp"

#include "experiments/study/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace surd {

std::vector<std::string> names_of(NormStatistic) { return {"median", "mean", "max"}; }

std::optional<MetricValue> GradientNorm::of_run(const RunView& view) const {
  std::vector<double> norms;
  for (const UpdateRecord& record : view.run.metrics.updates)
    if (std::isfinite(record.gradient_norm)) norms.push_back(record.gradient_norm);
  if (norms.empty()) return std::nullopt;
  switch (statistic_) {
    case NormStatistic::median: break;
    case NormStatistic::mean: return statistics::mean(norms);
    case NormStatistic::max: return *std::max_element(norms.begin(), norms.end());
  }
  return statistics::median(norms);
}

}  // namespace surd
