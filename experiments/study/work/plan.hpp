#pragma once

#include "experiments/run/run_result.hpp"
#include "experiments/study/file/study.hpp"

#include <functional>
#include <string>
#include <vector>

namespace surd {

/// One run of a study.
struct PlannedRun {
  std::size_t arm = 0;
  std::vector<Change> settings;  ///< of the tuning, beyond the arm's; empty with the shared rate
  std::uint64_t seed = 1;

  /// Its folder beneath runs/: "alpha=one,tie=none/optimizer.learning_rate=0.001/seed-7". The same run is never made
  /// twice, whatever it is made for.
  std::string id(const Study& study) const;
};

/// What is known of the runs so far: null where a run has not ended.
using KnownResults = std::function<const RunResult*(const std::string& id)>;

/// What the tuning chose for an arm.
struct Tuned {
  std::vector<Change> settings;  ///< "" before the tuning is done
  bool done = false;
  bool at_edge = false;          ///< the best value of a coordinate is the last of its grid, extensions used up
  std::vector<PlannedRun> runs;  ///< all runs of the search so far, ended or not
};
/// A value is as good as the mean of the metric over the tuning's seeds, and worse than any number where a run
/// diverged, failed or has no number; of equals the smallest is chosen. Nothing where the study has no tuning.
Tuned tuned(const Study& study, std::size_t arm, const KnownResults& known);

/// Every run that the study needs, given what is known: a pure function, so that every worker comes to the same.
/// Complete once all of them have ended; until then more may be added as tuning goes on.
std::vector<PlannedRun> plan(const Study& study, const KnownResults& known);
/// How many runs there can be in the end.
std::size_t runs_at_most(const Study& study);

}  // namespace surd
