#pragma once

#include "train/metrics/translation_metric.hpp"

#include <cstdint>

/// Whether one system translates better than another, or whether other sentences might have turned it round.
namespace surd {

enum class SignificanceTest {
  bootstrap,      ///< paired bootstrap resampling (Koehn, EMNLP 2004), with the p of Moses' script and sacreBLEU
  randomization,  ///< paired approximate randomization (Riezler & Maxwell, 2005)
};
std::vector<std::string> names_of(SignificanceTest);

struct Resampling {
  SignificanceTest test = SignificanceTest::randomization;
  std::size_t trials = 10000;
  std::uint64_t seed = 1;
};

/// How likely a difference in absolute value as large as the one seen would be if the systems were equally good:
/// (1 + extreme trials) / (1 + trials). Extreme is a trial whose absolute difference is at least the one seen; of the
/// bootstrap, after the mean of all is taken off, which makes its p about half of a two-sided one where the difference
/// is clear. (sacreBLEU counts those above the one seen alone, so that a system seems to differ from its own copy.)
/// Throws Error unless both have as many lines, and at least one, and there are trials.
double p_value(const TranslationMetric& metric, const CountsOfLines& system, const CountsOfLines& baseline,
               const Resampling& resampling);

struct ScoreInterval {
  double mean, half_width;
};
/// Of the scores of bootstrap samples of the lines: their mean, and half of what lies between the 2.5th and the 97.5th
/// percentile. Throws Error where there is no line, or no trial.
ScoreInterval bootstrap_interval(const TranslationMetric& metric, const CountsOfLines& system,
                                 const Resampling& resampling);

}  // namespace surd
