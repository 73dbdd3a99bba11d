#pragma once

#include "train/metrics/translation_metric.hpp"

#include <cstdint>

/// Whether one system translates better than another, or whether other sentences might have turned it round.
namespace surd {

enum class SignificanceTest {
  bootstrap,      ///< paired bootstrap resampling (Koehn, EMNLP 2004)
  randomization,  ///< paired approximate randomization (Riezler & Maxwell, 2005)
};
std::vector<std::string> names_of(SignificanceTest);

struct Resampling {
  SignificanceTest test = SignificanceTest::bootstrap;
  std::size_t trials = 1000;
  std::uint64_t seed = 1;
};

/// Counts of each line of the test set, of one system.
using CountsOfLines = std::vector<TranslationMetric::Counts>;

/// p of a difference between two systems that is due to chance, two-sided: (1 + extreme trials) / (1 + trials). A trial
/// is extreme whose difference is larger in absolute value than the one seen; a bootstrap's trial after the mean
/// absolute difference of all trials is taken off. Throws Error unless both have the same lines, and at least one.
double p_value(const TranslationMetric& metric, const CountsOfLines& system, const CountsOfLines& baseline,
               const Resampling& resampling);

struct ScoreInterval {
  double mean, half_width;
};
/// Of the scores of bootstrap samples of the lines: their mean, and half of what lies between the 2.5th and the 97.5th
/// percentile. Throws Error where there is no line.
ScoreInterval bootstrap_interval(const TranslationMetric& metric, const CountsOfLines& system,
                                 const Resampling& resampling);

}  // namespace surd
