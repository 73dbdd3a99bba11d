#pragma once

#include "experiments/study/metrics/metric.hpp"
#include "experiments/study/statistics/statistics.hpp"

#include <cmath>

namespace surd {

/// How often the logged training loss shot up; see statistics::loss_spikes(). Needs train.log_every of at most 5.
class LossSpikes : public StudyMetric {
 public:
  using Options = NoOptions;
  explicit LossSpikes(const Options&) {}
  std::size_t log_every_at_most() const override { return 5; }
  std::optional<MetricValue> of_run(const RunView& view) const override {
    std::vector<std::uint64_t> updates;
    std::vector<double> losses;
    for (const UpdateRecord& record : view.run.metrics.updates) {
      if (!std::isfinite(record.loss)) continue;  // the last update of a run that diverges may have none
      updates.push_back(record.update);
      losses.push_back(record.loss);
    }
    const auto spikes = statistics::loss_spikes(updates, losses);
    return spikes ? std::optional<MetricValue>(static_cast<double>(*spikes)) : std::nullopt;
  }
};

}  // namespace surd
