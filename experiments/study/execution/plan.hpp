#pragma once

#include "experiments/run/run_result.hpp"
#include "experiments/study/file/study.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

/// The runs of a study: which there are, who makes them, and where they are kept. This room may use study/file and the
/// rooms before it, but judges nothing: that is for verdicts/. Start here: plan() decides which runs are needed,
/// work_on() in workers/worker.hpp makes them, StudyFolder keeps them.
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

/// How flat the optimum of a search is: whether other settings would have done as well as those chosen. Settings that
/// came about twice count once.
struct Flatness {
  std::size_t tried = 0;  ///< settings in all, those chosen among them
  /// By how much the mean of the chosen settings is better than the best mean of any other. Negative where settings
  /// that the search tried on its way are better, which can be in turn; nothing where either has no mean, or none is
  /// tried.
  std::optional<double> ahead;
  /// How many other settings the tuning's seeds do not tell from those chosen: of six seeds or more, where the
  /// two-sided signed-rank test of the differences, seed by seed, has p above 0.05; of fewer, where the ranges of the
  /// values overlap. No correction for so many tests is made, so this is rather too few than too many. Nothing with one
  /// seed.
  std::optional<std::size_t> alike;
};

/// What the tuning chose for an arm.
struct Tuned {
  std::vector<Change> settings;  ///< empty before the tuning is done
  bool done = false;
  bool without_values = false;  ///< none of its runs has a value of the metric, so that nothing can be chosen
  bool failed = false;          ///< a run failed, so that nothing can be chosen until it is made again
  bool at_edge = false;         ///< the best value of a coordinate is an end of its grid, extensions used up
  /// The search so far, ended or not: each of its settings with each seed. Settings that change nothing of the arm's
  /// own come to the same run as others without them.
  std::vector<PlannedRun> runs;
  std::size_t different_runs = 0;
  std::optional<Flatness> flatness = {};  ///< once the tuning is done
};
/// The settings that a joint search tries, the same for every arm, in the order of the grids: drawn without replacement
/// from the product of the grids, or all of it. More settings are these and others.
std::vector<std::vector<Change>> joint_settings(const Tuning& tuning);
/// The tuning of an arm as far as it got. A value is as good as the mean of the metric over the tuning's seeds, and
/// worse than any number where a run diverged or has no number. Of values that are equally good the one with the lower
/// mean final loss is chosen, then the smallest. Nothing is chosen where the study has no tuning, nor while a run has
/// not ended or has failed.
Tuned tuned(const Study& study, std::size_t arm, const KnownResults& known);

/// Every run that the study needs, given what is known: a pure function, so that every worker comes to the same plan.
/// More runs may be added as the tuning goes on; the study is complete once all that are planned have ended.
std::vector<PlannedRun> plan(const Study& study, const KnownResults& known);
/// How many runs there can be in the end.
std::size_t runs_at_most(const Study& study);

}  // namespace surd
