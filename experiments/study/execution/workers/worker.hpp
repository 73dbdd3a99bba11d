#pragma once

#include "experiments/program/stop_signals.hpp"
#include "experiments/study/execution/study_folder.hpp"
#include "experiments/study/execution/workers/leases.hpp"

#include <functional>
#include <optional>
#include <string>

namespace surd {

/// How a run of a worker ended.
struct RunEnd {
  std::string id;
  RunResult::Status status = RunResult::Status::finished;
  std::string message;       ///< where it diverged, or why it failed
  std::string reused_from;   ///< see RunResult
  bool tried_again = false;  ///< it failed and does not count: it will be tried again
};
using RunEnded = std::function<void(const RunEnd&)>;

/// How long a worker works.
struct WorkOptions {
  /// Begins no run that will not be over by then, as far as earlier runs of its arm tell, and stops the one it is at.
  std::optional<double> seconds = {};
  std::optional<double> idle_seconds = {};  ///< ends when there was nothing to do for so long
  Leases::Seconds lease = Leases::default_expiry;
};

/// Why a worker ended.
enum class WorkEnd {
  complete,   ///< all runs that are needed have ended
  stopped,    ///< a stop signal came
  no_time,    ///< none of the runs left fits into the time left
  too_short,  ///< no run ended in all of the time, and none of those left can be expected to
  idle        ///< other workers are at all runs that are left
};

/// Makes the runs of a study that no other worker is making, one after the other, or takes them from the studies that
/// the folder names for that; where others make the last ones, waits for these. Each run is made in a child process, so
/// that one that crashes is a failed run and no more, and tried again. Throws Error where the folder cannot be written
/// or is gone.
WorkEnd work_on(const StudyFolder& folder, const Study& study, const StopSignals& signals, const WorkOptions& options,
                const RunEnded& run_ended);

}  // namespace surd
