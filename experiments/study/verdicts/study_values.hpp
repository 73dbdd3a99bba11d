#pragma once

#include "experiments/study/verdicts/analysis.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace surd {

/// The values of a study's metrics by arm, regime and seed.
class StudyValues {
 public:
  enum class Gap { none, untuned, tuning_failed, unfit, missing, failed, unrecorded, not_positive };
  struct Cell {
    Gap gap = Gap::none;
    MetricValue value;
    const RunResult* run = nullptr;  ///< that it is of; null where it is of a tuning, or missing
  };

  StudyValues(const Study& study, const KnownResults& known);

  const Study& study() const { return study_; }
  const std::vector<Tuned>& tuned() const { return tuned_; }  ///< by arm; empty without tuning
  /// The seeds that a metric has values for: those of the study, or of its tuning.
  const std::vector<std::uint64_t>& seeds(const MetricSpec& metric) const;
  /// The run of an arm, or why there is none to look at. A failed run comes with Gap::failed.
  std::pair<Gap, const RunResult*> run(std::size_t arm, Regime regime, std::uint64_t seed) const;
  Cell cell(const MetricSpec& metric, std::size_t arm, Regime regime, std::uint64_t seed) const;
  /// V, the size of the target vocabulary, of an arm, from the first of its runs that tells it.
  std::optional<double> vocabulary(std::size_t arm) const;

 private:
  const Study& study_;
  const KnownResults& known_;
  std::vector<Tuned> tuned_;
};

/// Counts the values that a hypothesis asked for, and those of them that are missing, censored, within twice a warm-up
/// or of diverged runs.
class Tally {
 public:
  explicit Tally(const StudyValues& values) : values_(values) {}

  std::optional<MetricValue> value(const MetricSpec& metric, std::size_t arm, Regime regime, std::uint64_t seed);
  /// On the scale on which the metric is compared; a value of 0 or less is not_positive() where that is a ratio.
  std::optional<MetricValue> on_scale(const MetricSpec& metric, std::size_t arm, Regime regime, std::uint64_t seed);
  const RunResult* run(std::size_t arm, Regime regime, std::uint64_t seed);
  /// Counts a value that is there as missing, because it is of no use to the hypothesis.
  void unusable(std::size_t arm, Regime regime, std::uint64_t seed);
  /// The same, because it has no logarithm.
  void not_positive(std::size_t arm, Regime regime, std::uint64_t seed);

  bool complete() const { return gaps_.empty(); }
  /// "of 40 runs 1 failed, 2 have not ended"; "" where nothing is missing.
  std::string gaps() const;
  /// "3 of 40 values are censored"; "" where none is.
  std::string censored() const;
  /// "3 of 40 values lie within twice the warm-up, ..."; "" where none does.
  std::string within_twice_warmup() const;
  /// "2 of 40 runs diverged"; "" where none did. What they had measured before counts.
  std::string diverged() const;

 private:
  using Key = std::tuple<std::size_t, Regime, std::uint64_t>;
  void note(const Key& key, StudyValues::Gap gap);
  void note_end(const Key& key, const RunResult* result);

  const StudyValues& values_;
  std::set<Key> asked_, censored_, within_twice_warmup_, diverged_;
  std::map<Key, StudyValues::Gap> gaps_;
};

}  // namespace surd
