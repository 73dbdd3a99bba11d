#include "experiments/study/metrics/probe_number.hpp"

#include "experiments/study/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace surd {

std::vector<std::string> names_of(ProbeAt) { return {"first", "last", "mean", "max"}; }

std::optional<MetricValue> ProbeMetric::of_run(const RunView& view) const {
  std::vector<double> values;
  for (const ProbeNumber& number : view.run.probe)
    if (number.record.path == options_.path && number.record.what == options_.what &&
        number.record.statistic == options_.statistic)
      values.push_back(number.record.number);
  if (values.empty()) return std::nullopt;
  switch (options_.at) {
    case ProbeAt::first: break;
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
