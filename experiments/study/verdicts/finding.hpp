#pragma once

#include "experiments/study/verdicts/study_values.hpp"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace surd {

/// What is known of a hypothesis before the p values of all of them are adjusted. The verdicts in `result` hold if the
/// adjusted p is at or below 0.05; where there is no p to adjust they are final.
struct Finding {
  HypothesisResult result;
  /// Whether it is one of the tests whose p values are adjusted together, be it only once all runs have ended.
  bool tested = false;
  std::string observed;  ///< "final_loss of alpha=one minus alpha=sqrt(d) is -0.2 nats [-0.3, -0.1]"
  /// Of several checks: what was observed, once it is known which of them hold. Takes the place of `observed`.
  std::function<std::string(const std::vector<Check>& checks)> observe;
  std::string expected;  ///< "lower than 0"
  std::string obstacle;  ///< why nothing can be decided; "" where it can
  std::string context;   ///< "10 seeds, nothing tuned"
  /// What the smallest p that so many seeds can give says.
  std::string unanimous = "all of one sign";

  /// Takes p and verdict from the evidence.
  void judge(const Evidence& evidence);
};

/// Adjusts the p values, for the number of tests and for that of looks at them, and writes the verdicts and reasons.
std::vector<HypothesisResult> conclude(std::vector<Finding> findings, std::size_t looks);

/// One side of a comparison: the arms that a selector names, where the levels in `more` override its own.
struct Side {
  Side(const Study& study, const Hypothesis& hypothesis, Selector selector, const Selector& more = {});

  Selector selector;
  Regime regime;  ///< the one that the selector names, else that of the hypothesis
  std::vector<std::size_t> arms;
};
/// The pairs of an arm of each side that differ in no axis but those that both selectors name.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(const Study& study, const Side& arm, const Side& against);

/// A check with its estimate, from values on the scale on which they are compared.
Check check_of(std::string label, ComparedBy by, std::vector<std::uint64_t> seeds,
               const std::vector<MetricValue>& on_scale);
/// The verdict of one check alone: where its p is at or below 0.05.
Verdict verdict_of(const Evidence& evidence);
/// A number rounded for reading: 0.123456 -> "0.1235", 12345.6 -> "12346".
std::string short_number(double value);
/// "0.2", "≥ 0.2", "≤ 0.2", "0.1 to 0.2" or `unknown`, with numbers as `number` writes them.
std::string text_of(const MetricValue& value, const std::function<std::string(double)>& number = short_number,
                    const char* unknown = "not known");
/// An estimate with its interval, where this has an end: "-0.2 nats [-0.3, -0.1]".
std::string text_of(const Estimate& estimate, const std::string& unit);
/// "at most 60", "at least 0.5": where a check is expected to be that has one end; "" for any other.
std::string one_sided(const Check& check);
/// The verdict over what must all hold: refuted where one is, supported where all are, else undecided, as where nothing
/// is asked.
Verdict all_of(const std::set<Verdict>& verdicts);
Verdict all_of(const std::vector<Check>& checks);
/// "holds in 2 of 3 cases": of how many checks it is decided that they are as expected. Where the hypothesis is
/// undecided none is, wherever the estimates lie.
std::string held_in(const std::vector<Check>& checks);
/// The check that speaks most against the hypothesis: one that failed, else an undecided one, else one that held; among
/// these, the farthest out of its region, or the nearest to its end, in tolerances where it has one.
const Check& least_as_expected(const std::vector<Check>& checks);
/// Says how many checks hold, and gives the numbers of the least_as_expected(): "final_loss holds in 2 of 3 cases; in
/// d=256 is 1.6 nats [1.5, 1.7]".
std::string observation_of(const std::string& what, const std::vector<Check>& checks, const std::string& unit);
/// What an observation rests on: "10 seeds, nothing tuned, 3 of 40 values are censored, 3 of 40 runs
/// diverged".
std::string context_of(const StudyValues& values, std::size_t seeds, const std::set<Regime>& regimes,
                       const Tally& tally);
/// Why a hypothesis cannot be decided; "" where it can.
std::string obstacle_of(std::size_t seeds, const Tally& tally);

/// The levels of a selector, "alpha=one, tie=none", or `all` where it names none.
std::string text_of(const Selector& selector, const char* all = "all arms");

}  // namespace surd
