#include "experiments/study/metrics/learning_rates.hpp"

#include "experiments/study/statistics/lowest_point.hpp"
#include "experiments/study/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace surd {

std::optional<MetricValue> RateSensitivity::of_rates(const RunsByRate& runs) const {
  std::vector<double> reached;
  for (const auto& [rate, run] : runs) {
    const auto before = initial_value(of_, *run), after = final_value(of_, *run);
    if (!before || !after || !std::isfinite(*before)) return std::nullopt;
    reached.push_back(std::isfinite(*after) ? better(of_, *before, *after) : *before);
  }
  if (reached.empty()) return std::nullopt;
  const double best = surd::lower_is_better(of_) ? *std::min_element(reached.begin(), reached.end())
                                                 : *std::max_element(reached.begin(), reached.end());
  return std::fabs(statistics::mean(reached) - best);
}

std::optional<MetricValue> LargestStableRate::of_rates(const RunsByRate& runs) const {
  if (runs.empty()) return std::nullopt;
  std::optional<std::pair<double, double>> best;  // of the final loss, and the rate
  for (const auto& [rate, run] : runs) {
    const auto loss = final_value(Measure::loss, *run);
    if (!has_diverged(*run) && loss && (!best || *loss < best->first)) best = {*loss, rate};
  }
  if (!best) return MetricValue::at_most(runs.begin()->first);
  double largest = best->second;
  for (auto at = runs.upper_bound(largest); at != runs.end(); ++at) {
    if (has_diverged(*at->second) || final_value(Measure::loss, *at->second).value_or(0) > best->first + excess_)
      return largest;
    largest = at->first;
  }
  return MetricValue::at_least(largest);
}

std::optional<MetricValue> BestRate::of_rates(const RunsByRate& runs) const {
  if (runs.empty()) return std::nullopt;
  std::vector<statistics::Point> points;
  for (const auto& [rate, run] : runs) {
    const auto value = final_value(of_, *run);
    const bool diverged = has_diverged(*run);
    if (!diverged && (!value || !std::isfinite(*value))) return std::nullopt;
    points.push_back({rate, diverged ? statistics::infinity : surd::lower_is_better(of_) ? *value : -*value});
  }
  return statistics::lowest_point(points);
}

}  // namespace surd
