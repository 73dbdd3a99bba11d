#pragma once

#include "experiments/program/stop_signals.hpp"
#include "experiments/study/execution/study_folder.hpp"

#include <functional>
#include <string>

namespace surd {

/// Called at the end of each run. `reused_from`: see RunResult.
using RunEnded = std::function<void(const std::string& id, RunResult::Status, const std::string& message,
                                    const std::string& reused_from)>;

/// Makes the runs of a study that no other worker is making, one after the other, or takes them from the studies that
/// the folder names for that. Returns true once all runs that are
/// needed have ended, for which it waits, and false where a stop signal comes before. Each run is made in a child
/// process, so that one that crashes is a failed run and no more. Throws Error where the folder cannot be written.
bool work_on(const StudyFolder& folder, const Study& study, const StopSignals& signals, const RunEnded& run_ended);

}  // namespace surd
