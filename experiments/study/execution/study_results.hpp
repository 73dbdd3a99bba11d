#pragma once

#include "experiments/study/execution/study_folder.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

namespace surd {

/// What the runs in a folder have left so far. Each is read once, when it is first asked for.
class StudyResults {
 public:
  explicit StudyResults(StudyFolder folder) : StudyResults(std::move(folder), true) {}
  /// As much of them as plan() of this study takes: probe.jsonl, which may be large, only if its tuning's metric does.
  StudyResults(StudyFolder folder, const Study& to_plan);

  /// Looks which runs have ended by now.
  void refresh();
  /// Whether it had ended at the last refresh().
  bool ended(const std::string& id) const { return ended_.count(id) > 0; }
  /// Null where the run had not ended at the last refresh(). Throws Error for a damaged file.
  const RunResult* find(const std::string& id);
  /// The same without its metrics and summary: what outcome.json says.
  const RunResult* outcome(const std::string& id);
  /// find() in the form that plan() takes. This object must outlive what is returned.
  KnownResults known() {
    return [this](const std::string& id) { return find(id); };
  }
  /// The same for analyse(): throws Error where a run that has ended has another config than the one that is planned
  /// for its arm, settings and seed, because somebody has moved or copied it there.
  KnownResults known_of(const Study& study);

 private:
  StudyResults(StudyFolder folder, bool with_probe);

  StudyFolder folder_;
  bool with_probe_;
  std::unordered_set<std::string> ended_;
  std::map<std::string, RunResult> results_, outcomes_;
};

/// How many runs are planned so far, and how many of them have ended in which way or are being made.
struct StudyCounts {
  std::size_t planned = 0, finished = 0, diverged = 0, failed = 0, running = 0;
  double underway = 0;     ///< the shares of their updates that those running have made, added up
  std::size_t reused = 0;  ///< of those that have ended: taken from another study
  std::size_t ended() const { return finished + diverged + failed; }
  /// Counts a run that has ended, whose plan is counted already.
  void add(const RunResult& result);
};
/// "2 running, 61 % through": how many of their updates those have made, on average.
std::string running_text(const StudyCounts& counts);
/// Refreshes the results.
StudyCounts count(const Study& study, const StudyFolder& folder, StudyResults& results);

/// The shares of their updates, added up, that runs which have not ended have behind them before more are made: what
/// others are at, and what is gone on with from checkpoints.
double underway_before(const Study& study, const StudyFolder& folder, StudyResults& results);

}  // namespace surd
