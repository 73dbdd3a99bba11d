#pragma once

#include "experiments/program/stop_signals.hpp"

#include <sys/types.h>

#include <functional>

namespace surd {

/// Runs `work` in a copy of this process, and returns its id. The child ends with the code that `work` returns, or with
/// 1 after printing what it threw; it is killed when this process ends in whatever way. Throws Error.
pid_t start_child(const std::function<int()>& work);

/// How a child ended.
struct ChildEnd {
  int code = 0;    ///< what it exited with
  int signal = 0;  ///< the signal that killed it; 0 where it exited
};

/// Waits for the end of a child, and passes a stop signal on to it. Throws Error.
ChildEnd wait_for_child(pid_t child, const StopSignals& signals);

}  // namespace surd
