#pragma once

#include "experiments/study/execution/metric_value.hpp"
#include "experiments/study/verdicts/estimate.hpp"

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// What the runs of a study say about its hypotheses and claims. This room may use statistics/, metrics/, file/ and
/// execution/, and writes no file: that is for report/. Start here with analyse(); to add a kind of hypothesis, read
/// comparisons.hpp and the list in hypothesis_kinds.cpp.
namespace surd {

enum class Verdict { supported, refuted, undecided };
std::vector<std::string> names_of(Verdict);

/// A metric of one arm in one regime over its seeds.
struct ArmSummary {
  std::size_t arm = 0;
  Regime regime = Regime::shared;
  std::string metric;
  std::vector<std::uint64_t> seeds;  ///< one for each of the values
  std::vector<MetricValue> values;
  Estimate estimate;  ///< their pseudo-median, or the quantile that the metric names

  std::size_t censored() const;  ///< how many of the values
};

/// How runs of an arm ended, with one setting of the tuning.
struct Endings {
  std::size_t arm = 0;
  std::vector<Change> settings;
  std::size_t runs = 0, diverged = 0, failed = 0;
  statistics::Interval diverged_interval{};  ///< Wilson
};

/// One comparison or check of a hypothesis. A hypothesis about a value has one for each arm, about a slope or trend one
/// for each combination of the levels of the other axes, about loss curves one for each pair of arms; any other has a
/// single one.
struct Check {
  std::string label;  ///< what is looked at: the arm, the levels that arms share, or "arm - against"
  /// How arms are compared: by the difference or the ratio of the metric. Also the scale on which a value was averaged.
  ComparedBy compared_by = ComparedBy::difference;
  /// Over seeds; of loss curves the largest distance, or the smallest if they are to differ, and as interval both.
  Estimate effect;
  std::optional<double> expected;   ///< for a value or slope only
  std::optional<double> tolerance;  ///< absolute
  /// Where the hypothesis expects the effect, in the effect's own units; nothing where that is not known.
  std::optional<Region> region;
  std::vector<std::uint64_t> seeds;
  std::vector<MetricValue> values;  ///< one for each of the seeds
  Verdict verdict = Verdict::undecided;
};

struct HypothesisResult {
  std::size_t hypothesis = 0;  ///< index in the study
  Verdict verdict = Verdict::undecided;
  std::string reason;  ///< one sentence: what decided it, or why nothing could
  std::optional<double> p, p_holm;
  std::vector<Check> checks;
};

struct ClaimResult {
  std::size_t claim = 0;
  Verdict verdict = Verdict::undecided;  ///< refuted if one hypothesis speaks against it, supported if all speak for it
  std::string sentence;
};

/// What the runs of a study say. Holds nothing that depends on time or order of the runs.
struct Analysis {
  std::size_t runs = 0, finished = 0, diverged = 0, failed = 0, missing = 0;
  std::size_t reused = 0;  ///< of those that have ended: taken from another study
  std::vector<ArmSummary> summaries;
  std::vector<Endings> endings;
  std::vector<Tuned> tuned;  ///< by arm; empty without tuning
  std::vector<HypothesisResult> hypotheses;
  std::vector<ClaimResult> claims;
  /// Effects of a 2^k design on the first metric: half the mean difference between the levels, or the root of their
  /// ratio, for every subset of axes.
  struct FactorEffect {
    std::vector<std::string> axes;
    Estimate effect;
  };
  std::vector<FactorEffect> factor_effects;
};
Analysis analyse(const Study& study, const KnownResults& known);

}  // namespace surd
