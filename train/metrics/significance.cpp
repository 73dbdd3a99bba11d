#include "train/metrics/significance.hpp"

#include "autograd/base/error.hpp"
#include "autograd/base/random.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace surd {
namespace {

using Counts = TranslationMetric::Counts;

/// Scores of bootstrap samples of the lines; sample i has the same lines for every system.
std::vector<double> resampled_scores(const TranslationMetric& metric, const CountsOfLines& system,
                                     const Resampling& resampling) {
  std::vector<double> scores;
  for (std::size_t trial = 0; trial < resampling.trials; ++trial) {
    random::Sequence draws(random::Stream(resampling.seed, "significance", "bootstrap", trial));
    Counts sums(system.front().size());
    for (std::size_t i = 0; i < system.size(); ++i) add_counts(draws.choose(system), sums);
    scores.push_back(metric.score(sums));
  }
  return scores;
}

std::vector<double> bootstrap_differences(const TranslationMetric& metric, const CountsOfLines& system,
                                          const CountsOfLines& baseline, const Resampling& resampling) {
  std::vector<double> differences = resampled_scores(metric, system, resampling);
  const std::vector<double> of_baseline = resampled_scores(metric, baseline, resampling);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] = std::fabs(differences[i] - of_baseline[i]);
  const double mean =
      std::accumulate(differences.begin(), differences.end(), 0.0) / static_cast<double>(differences.size());
  for (double& difference : differences) difference -= mean;
  return differences;
}

/// Of two systems that swapped each line with a probability of one half.
std::vector<double> swapped_differences(const TranslationMetric& metric, const CountsOfLines& system,
                                        const CountsOfLines& baseline, const Resampling& resampling) {
  std::vector<double> differences;
  std::vector<std::uint64_t> draws(system.size());
  for (std::size_t trial = 0; trial < resampling.trials; ++trial) {
    random::Stream(resampling.seed, "significance", "randomization", trial).bits(0, draws.size(), draws.data());
    Counts first(system.front().size()), second(system.front().size());
    for (std::size_t i = 0; i < system.size(); ++i) {
      const bool swap = draws[i] % 2 == 1;
      add_counts(swap ? baseline[i] : system[i], first);
      add_counts(swap ? system[i] : baseline[i], second);
    }
    differences.push_back(std::fabs(metric.score(first) - metric.score(second)));
  }
  return differences;
}

}  // namespace

std::vector<std::string> names_of(SignificanceTest) { return {"bootstrap", "randomization"}; }

double p_value(const TranslationMetric& metric, const CountsOfLines& system, const CountsOfLines& baseline,
               const Resampling& resampling) {
  expect(system.size() == baseline.size(), "significance", "{} lines and {}", system.size(), baseline.size());
  expect(resampling.trials > 0, "significance", "there are no trials");
  const double seen = std::fabs(metric.score(sum_of(system)) - metric.score(sum_of(baseline)));
  const auto differences = resampling.test == SignificanceTest::bootstrap
                               ? bootstrap_differences(metric, system, baseline, resampling)
                               : swapped_differences(metric, system, baseline, resampling);
  const auto extreme =
      std::count_if(differences.begin(), differences.end(), [&](double difference) { return difference >= seen; });
  return static_cast<double>(1 + extreme) / static_cast<double>(1 + differences.size());
}

ScoreInterval bootstrap_interval(const TranslationMetric& metric, const CountsOfLines& system,
                                 const Resampling& resampling) {
  expect(!system.empty(), "significance", "there are no lines");
  expect(resampling.trials > 0, "significance", "there are no trials");
  std::vector<double> scores = resampled_scores(metric, system, resampling);
  std::sort(scores.begin(), scores.end());
  const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
  const std::size_t cut = scores.size() / 40;
  return {mean, (scores[scores.size() - 1 - cut] - scores[cut]) / 2};
}

}  // namespace surd
