#pragma once

#include "experiments/study/metrics/metric.hpp"

namespace surd {

struct ExpressionOptions {
  std::string formula;
  void fields(Fields& f) {
    f("formula", formula, "of other metrics, numbers of axes and V");
    f.rule(!formula.empty(), "formula", "is required where kind is expression");
  }
};
/// A number that a formula makes of other metrics of the run. Nothing is known of it where one of these is censored.
class Expression : public StudyMetric {
 public:
  using Options = ExpressionOptions;
  explicit Expression(Options options) : options_(std::move(options)) {}
  std::optional<MetricValue> of_run(const RunView& view) const override;
  bool reads_probe() const override { return true; }  // a metric it uses may
  std::string formula() const override { return options_.formula; }

 private:
  Options options_;
};

}  // namespace surd
