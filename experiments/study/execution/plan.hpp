#pragma once

#include "experiments/run/run_result.hpp"
#include "experiments/study/file/study.hpp"

#include <functional>
#include <string>
#include <vector>

/// The runs of a study: which there are, who makes them, and where they are kept. This room may use study/file and the
/// rooms before it, but judges nothing: that is for verdicts/. Start here: plan() decides which runs are needed,
/// work_on() in worker.hpp makes them, StudyFolder keeps them.
namespace surd {

/// One run of a study.
struct PlannedRun {
  std::size_t arm = 0;
  std::vector<Change> settings;  ///< of the tuning, in addition to the arm's; empty in the shared regime
  std::uint64_t seed = 1;

  /// The name of its folder beneath runs/: "alpha=one,tie=none/optimizer.learning_rate=0.001/seed-7". It says what the
  /// run is, not what it is made for, so that the same run is never made twice.
  std::string id(const Study& study) const;
};

/// What is known of the runs so far: null where a run has not ended.
using KnownResults = std::function<const RunResult*(const std::string& id)>;

/// What the tuning chose for an arm.
struct Tuned {
  std::vector<Change> settings;  ///< empty before the tuning is done
  bool done = false;
  bool without_values = false;   ///< none of its runs has a value of the metric, so that nothing can be chosen
  bool failed = false;           ///< a run failed, so that nothing can be chosen until it is made again
  bool at_edge = false;          ///< the best value of a coordinate is the last of its grid, extensions used up
  std::vector<PlannedRun> runs;  ///< all runs of the search so far, ended or not
};
/// The tuning of an arm as far as it got. A value is as good as the mean of the metric over the tuning's seeds, and
/// worse than any number where a run diverged or has no number. Of values that are equally good the smallest is chosen.
/// Nothing is chosen where the study has no tuning, nor while a run has not ended or has failed.
Tuned tuned(const Study& study, std::size_t arm, const KnownResults& known);

/// Every run that the study needs, given what is known: a pure function, so that every worker comes to the same plan.
/// More runs may be added as the tuning goes on; the study is complete once all that are planned have ended.
std::vector<PlannedRun> plan(const Study& study, const KnownResults& known);
/// How many runs there can be in the end.
std::size_t runs_at_most(const Study& study);

}  // namespace surd
