#pragma once

#include <signal.h>

namespace surd {

/// What a person at a terminal and schedulers send to a process that is to stop.
inline constexpr int stop_signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2};

/// As long as an object of this class lives, the first stop signal is only noted, so that a run can save and stop; the
/// next one of any kind ends the process at once. There is at most one such object at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// From now on this process heeds the stop signals of its parent alone: what is sent to all processes of a job comes
  /// from there as well, and would count as a second signal.
  static void only_from_parent();

  /// The signal that came, 0 as long as none did.
  int received() const;
};

}  // namespace surd
