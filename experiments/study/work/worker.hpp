#pragma once

#include "experiments/program/stop_signals.hpp"
#include "experiments/study/work/study_folder.hpp"

#include <functional>
#include <string>

namespace surd {

/// Called at the end of each run.
using RunEnded = std::function<void(const std::string& id, RunResult::Status, const std::string& message)>;

/// Makes every run of a study that nobody else is at, one after the other, until all that are needed have ended, which
/// it waits for, or a stop signal comes. Each is made in a child process, so that one that crashes is a failed run and
/// no more. Whether the study is complete. Throws Error where the folder cannot be written.
bool work_on(const StudyFolder& folder, const Study& study, const StopSignals& signals, const RunEnded& run_ended);

}  // namespace surd
