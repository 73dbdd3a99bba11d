#include "experiments/study/metrics/probe_number.hpp"

#include "experiments/study/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace surd {

std::vector<std::string> names_of(ProbeAt) { return {"first", "last", "mean", "max", "loss"}; }

std::optional<MetricValue> ProbeMetric::of_run(const RunView& view) const {
  std::uint64_t from = 0;
  if (options_.at == ProbeAt::loss) {
    const auto& evaluations = view.run.metrics.evaluations;
    const auto reached = std::find_if(evaluations.begin(), evaluations.end(), [&](const EvaluationRecord& record) {
      return record.loss <= options_.loss.value_or(0);
    });
    if (reached == evaluations.end()) return std::nullopt;
    from = reached->update;
  }
  std::vector<double> values;
  if (const ProbeSeries* series = view.run.probe.find(options_.path, options_.what, options_.statistic))
    for (const auto& [update, value] : series->numbers)
      if (update >= from) values.push_back(value);
  if (values.empty()) return std::nullopt;
  switch (options_.at) {
    case ProbeAt::first:
    case ProbeAt::loss: break;
    case ProbeAt::last: return values.back();
    case ProbeAt::mean: return statistics::mean(values);
    case ProbeAt::max:
      if (std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); }))
        return std::nullopt;
      return *std::max_element(values.begin(), values.end());
  }
  return values.front();
}

}  // namespace surd
