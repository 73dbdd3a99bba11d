#pragma once

namespace surd {

/// As long as an object of this class lives, the first SIGINT or SIGTERM is only noted, so that a run can save and
/// stop; the next one of either kind ends the process at once. There is at most one such object at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that came, 0 as long as none did.
  int received() const;
};

}  // namespace surd
