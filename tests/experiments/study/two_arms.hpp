#pragma once

#include "tests/experiments/study/study_runs.hpp"

#include <algorithm>

/// Two arms, one and sqrt(d), and final losses for them.
namespace surd::test {

using Values = std::vector<double>;

inline bool same(const std::vector<MetricValue>& values, const Values& expected) {
  return std::equal(values.begin(), values.end(), expected.begin(), expected.end(),
                    [](const MetricValue& value, double number) { return value.known() && value.low == number; });
}

inline double effect(const HypothesisResult& result) { return result.checks.at(0).effect.value.low; }

inline const Levels scales = {{"one", 1.0}, {"sqrt(d)", 8.0}};
inline const Values noise = {0.02, -0.01, 0.03, 0, -0.02, 0.01, -0.03, 0.015, -0.005, 0.025};

inline Values around(double middle, std::size_t seeds = 10) {
  Values values;
  for (std::size_t i = 0; i < seeds; ++i) values.push_back(middle + noise[i]);
  return values;
}

/// The noise in another order, so that differences vary.
inline Values around_too(double middle, std::size_t seeds = 10) {
  Values values;
  for (std::size_t i = 0; i < seeds; ++i) values.push_back(middle + noise[(3 * i + 1) % seeds]);
  return values;
}

/// What becomes of one hypothesis about arms one (0) and sqrt(d) (1) with these final losses.
inline HypothesisResult judged(const Hypothesis& hypothesis, const Values& one, const Values& sqrt) {
  Study study = study_of({{"alpha", scales}}, one.size());
  study.hypotheses = {hypothesis};
  Results results(study);
  results.losses(0, one);
  results.losses(1, sqrt);
  return analyse(study, results.known()).hypotheses.at(0);
}

inline Hypothesis lower(double margin = 0) {
  return hypothesis_of("difference", {{"alpha", "sqrt(d)"}}, {{"alpha", "one"}}, "lower", margin);
}

}  // namespace surd::test
