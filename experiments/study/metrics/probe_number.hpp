#pragma once

#include "experiments/study/metrics/metric.hpp"

namespace surd {

/// Of which probed update a number is taken, or what is made of the numbers of all.
enum class ProbeAt { first, last, mean, max };
std::vector<std::string> names_of(ProbeAt);

struct ProbeMetricOptions {
  std::string path, what, statistic;
  ProbeAt at = ProbeAt::first;
  void fields(Fields& f) {
    f("path", path, "module in probe.jsonl, e.g. encoder.0.self_attention");
    f("what", what, "quantity in probe.jsonl, e.g. scores");
    f("statistic", statistic, "as in probe.jsonl, e.g. std");
    f("at", at, "which of the updates probed, or their mean or largest");
    f.rule(!path.empty(), "path", "is required where kind is probe");
    f.rule(!what.empty(), "what", "is required where kind is probe");
    f.rule(!statistic.empty(), "statistic", "is required where kind is probe");
  }
};
/// A number of probe.jsonl.
class ProbeMetric : public StudyMetric {
 public:
  using Options = ProbeMetricOptions;
  explicit ProbeMetric(Options options) : options_(std::move(options)) {}
  std::optional<MetricValue> of_run(const RunView& view) const override;
  bool needs_probe() const override { return true; }

 private:
  Options options_;
};

}  // namespace surd
