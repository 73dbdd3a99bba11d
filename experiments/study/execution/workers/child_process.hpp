#pragma once

#include <sys/types.h>

#include <functional>

namespace surd {

/// Runs `work` in a copy of this process, and returns its id. The child ends with the code that `work` returns, with 2
/// after printing a ConfigError or UsageError that it threw, or with 1 after any other; it is killed when this process
/// ends in whatever way. It leads a process group of its own, so that a signal to this process's group does not reach
/// it twice. Throws Error.
pid_t start_child(const std::function<int()>& work);

/// How a child ended.
struct ChildEnd {
  int code = 0;    ///< what it exited with
  int signal = 0;  ///< the signal that killed it; 0 where it exited
};

/// What is to become of a child that is running.
enum class ChildWish { go_on, stop, kill };
/// Waits for the end of a child. Asks `wish` some twenty times a second, and sends the child SIGTERM, once, or SIGKILL.
/// Where `wish` throws, the child is killed. Throws Error.
ChildEnd wait_for_child(pid_t child, const std::function<ChildWish()>& wish);

}  // namespace surd
