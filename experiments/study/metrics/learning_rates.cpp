#include "experiments/study/metrics/learning_rates.hpp"

#include "experiments/study/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

/// The final value at a learning rate, as a number that is better the lower it is.
struct ScoreAtRate {
  double rate, score;
  double x() const { return std::log(rate); }
};

/// The rate at which the parabola through three points is lowest; nothing where it has no minimum.
std::optional<double> lowest_of_parabola(const ScoreAtRate* points) {
  const ScoreAtRate &a = points[0], &b = points[1], &c = points[2];
  const double first = (b.score - a.score) / (b.x() - a.x()), second = (c.score - b.score) / (c.x() - b.x());
  const double curvature = (second - first) / (c.x() - a.x());
  if (!(curvature > 0)) return std::nullopt;
  return std::exp((a.x() + b.x() - first / curvature) / 2);
}

/// What lies between the rates of the grid before and after this one; without a bound where there is none.
MetricValue around(const RunsByRate& runs, double rate) {
  const auto at = runs.find(rate);
  return MetricValue::between(at == runs.begin() ? -statistics::infinity : std::prev(at)->first,
                              std::next(at) == runs.end() ? statistics::infinity : std::next(at)->first);
}

}  // namespace

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
  std::vector<ScoreAtRate> scores;
  for (const auto& [rate, run] : runs) {
    if (has_diverged(*run)) continue;
    const auto value = final_value(of_, *run);
    if (!value || !std::isfinite(*value)) return std::nullopt;
    scores.push_back({rate, surd::lower_is_better(of_) ? *value : -*value});
  }
  if (scores.empty()) return MetricValue::at_most(runs.begin()->first);
  const auto best = std::min_element(scores.begin(), scores.end(),
                                     [](const ScoreAtRate& a, const ScoreAtRate& b) { return a.score < b.score; });
  const MetricValue neighbours = around(runs, best->rate);
  if (scores.size() < 3) return neighbours;
  const bool first = best == scores.begin(), last = best + 1 == scores.end();
  const auto worse = std::find_if(best, scores.end(), [&](const ScoreAtRate& at) { return at.score != best->score; });
  if (worse - best > 2)
    return MetricValue::between(first ? neighbours.low : best->rate,
                                worse == scores.end() ? around(runs, (worse - 1)->rate).high : (worse - 1)->rate);
  const auto lowest = lowest_of_parabola(&*best - (first ? 0 : last ? 2 : 1));
  if (first && !(lowest && *lowest > best->rate)) return MetricValue::between(neighbours.low, best->rate);
  if (last && !(lowest && *lowest < best->rate)) return MetricValue::between(best->rate, neighbours.high);
  return lowest.value_or(best->rate);
}

}  // namespace surd
