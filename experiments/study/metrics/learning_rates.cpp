#include "experiments/study/metrics/learning_rates.hpp"

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
  double largest = 0;
  for (const auto& [rate, run] : runs) {
    if (has_diverged(*run)) return largest == 0 ? MetricValue::at_most(rate) : largest;
    largest = rate;
  }
  return MetricValue::at_least(largest);
}

}  // namespace surd
