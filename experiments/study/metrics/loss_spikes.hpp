#pragma once

#include "experiments/study/metrics/metric.hpp"
#include "experiments/study/statistics/statistics.hpp"

#include <cmath>

namespace surd {

/// How often the logged training loss shot up; see statistics::loss_spikes().
class LossSpikes : public StudyMetric {
 public:
  using Options = NoOptions;
  explicit LossSpikes(const Options&) {}
  std::optional<MetricValue> of_run(const RunView& view) const override {
    std::vector<double> losses;  // the last update of a run that diverges may have none
    for (const UpdateRecord& record : view.run.metrics.updates)
      if (std::isfinite(record.loss)) losses.push_back(record.loss);
    if (losses.empty()) return std::nullopt;
    return MetricValue{static_cast<double>(statistics::loss_spikes(losses)), false};
  }
};

}  // namespace surd
