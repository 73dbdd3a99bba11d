#pragma once

#include "experiments/study/metrics/metric.hpp"

namespace surd {

/// Of which probed update a number is taken, or what is made of the numbers of all. `loss`: of the first that is not
/// before the first evaluation at or below a validation loss, so that arms which learn at different speeds are compared
/// where they are equally good.
enum class ProbeAt { first, last, mean, max, loss };
std::vector<std::string> names_of(ProbeAt);

struct ProbeMetricOptions {
  std::string path, what, statistic;
  ProbeAt at = ProbeAt::first;
  std::optional<double> loss = {};
  void fields(Fields& f) {
    f("path", path, "module in probe.jsonl, e.g. encoder.0.self_attention");
    f("what", what, "quantity in probe.jsonl, e.g. scores");
    f("statistic", statistic, "as in probe.jsonl, e.g. std");
    f("at", at, "which of the updates probed, or their mean or largest; loss: the first from which a loss is reached");
    f("loss", loss, "on the validation split, in nats, to be reached at or before the update probed",
      When{at == ProbeAt::loss, "at is loss"});
    f.rule(!path.empty(), "path", "is required where kind is probe");
    f.rule(!what.empty(), "what", "is required where kind is probe");
    f.rule(!statistic.empty(), "statistic", "is required where kind is probe");
    f.rule(at != ProbeAt::loss || loss.has_value(), "loss", "is required where at is loss");
  }
};
/// A number of probe.jsonl. Nothing where the run never reaches the loss at which it is asked for, or is probed no more
/// after it: nobody knows what it would have been then.
class ProbeMetric : public StudyMetric {
 public:
  using Options = ProbeMetricOptions;
  explicit ProbeMetric(Options options) : options_(std::move(options)) {}
  std::optional<MetricValue> of_run(const RunView& view) const override;
  const ProbeMetricOptions* probed() const override { return &options_; }

 private:
  Options options_;
};

}  // namespace surd
