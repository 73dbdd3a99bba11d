#pragma once

#include "experiments/study/verdicts/study_values.hpp"

#include <string>
#include <vector>

namespace surd {

/// With fewer, no two-sided p of flipped signs is at or below 0.05.
inline constexpr std::size_t fewest_seeds = 6;
inline constexpr double significance = 0.05;

/// What is known of a hypothesis before the p values of all of them are adjusted. The verdicts in `result` hold if the
/// adjusted p is at or below 0.05; where there is no p to adjust they are final.
struct Finding {
  HypothesisResult result;
  /// It is, or once all runs have ended will be, one of the tests whose p are adjusted together.
  bool tested = false;
  std::string observed;  ///< "final_loss of alpha=one minus alpha=sqrt(d) is -0.2 nats [-0.3, -0.1]"
  std::string expected;  ///< "lower than 0"
  std::string obstacle;  ///< why nothing can be decided, where that is so
  std::string context;   ///< "10 seeds, nothing tuned"
};

/// Adjusts the p values and writes the verdicts and reasons.
std::vector<HypothesisResult> conclude(std::vector<Finding> findings);

/// One side of a comparison: what a selector names, with `more` beside it.
struct Side {
  Side(const Study& study, const Hypothesis& hypothesis, Selector selector, const Selector& more = {});

  Selector selector;
  Regime regime;  ///< the selector's, else the hypothesis'
  std::vector<std::size_t> arms;
};
/// The arms of two sides that differ in nothing but the axes that both name.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(const Study& study, const Side& arm, const Side& against);

/// A check with its mean and interval; both are NaN where no seed is complete.
Check check_of(std::string label, std::vector<std::uint64_t> seeds, std::vector<double> values);
/// "-0.2 nats [-0.3, -0.1]".
std::string text_of(const Check& check, const std::string& unit);
/// Of checks that are all to hold: refuted where one is, supported where all are.
Verdict all_of(const std::vector<Check>& checks);
/// "final_loss holds in 2 of 3 cases; in d=256 is 1.6 nats [1.5, 1.7]", about the one that stands most against it:
/// failed before undecided before held, then the farthest off, or the nearest where `far_is_good`.
std::string observation_of(const std::string& what, const std::vector<Check>& checks, const std::string& unit,
                           bool far_is_good = false);
/// "10 seeds, nothing tuned, 3 of 40 values are censored".
std::string context_of(const StudyValues& values, std::size_t seeds, const std::set<Regime>& regimes,
                       const Tally& tally);
/// Why a hypothesis cannot be decided; "" where it can.
std::string obstacle_of(std::size_t seeds, const Tally& tally);

/// 0.123456 -> "0.1235", 12345.6 -> "12346": for reading.
std::string short_number(double value);
/// "alpha=one, tie=none", or `all`.
std::string text_of(const Selector& selector, const char* all = "all arms");

}  // namespace surd
