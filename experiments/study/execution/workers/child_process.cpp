#include "experiments/study/execution/workers/child_process.hpp"

#include "autograd/base/error.hpp"
#include "experiments/config/report_errors.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/stop_signals.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace surd {

namespace {

/// Tells the end of a child at once, without asking often: that would take the core from the runs themselves.
class EndOfChild {
 public:
  explicit EndOfChild(pid_t child) : handle_(static_cast<int>(::syscall(SYS_pidfd_open, child, 0))) {}
  ~EndOfChild() {
    if (handle_ >= 0) ::close(handle_);
  }
  EndOfChild(const EndOfChild&) = delete;
  EndOfChild& operator=(const EndOfChild&) = delete;

  /// Until the child has ended or a signal comes, but no longer than a twentieth of a second.
  void wait() const {
    const int milliseconds = handle_ >= 0 ? 50 : 3;  // Linux has handles since 5.3; poll() of a negative one only waits
    pollfd end{handle_, POLLIN, 0};
    ::poll(&end, 1, milliseconds);
  }

 private:
  int handle_;
};

}  // namespace

pid_t start_child(const std::function<int()>& work) {
  std::fflush(nullptr);  // or both would print what is still in the buffers
  const pid_t parent = ::getpid();
  // A stop signal must not reach the child while it still has this process's handler, which would swallow it.
  sigset_t stops, before;
  sigemptyset(&stops);
  for (const int signal : stop_signals) sigaddset(&stops, signal);
  ::sigprocmask(SIG_BLOCK, &stops, &before);
  const pid_t child = ::fork();
  const int code_of_fork = errno;
  if (child != 0) ::sigprocmask(SIG_SETMASK, &before, nullptr);
  expect(child >= 0, "fork", "cannot start a process: {}", std::strerror(code_of_fork));
  if (child > 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(exit_failed);  // the parent had ended before prctl()
  ::setpgid(0, 0);
  for (const int signal : stop_signals) ::signal(signal, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  const int code = report_errors(work);
  std::fflush(nullptr);
  ::_exit(code);
}

ChildEnd wait_for_child(pid_t child, const std::function<ChildWish()>& wish) {
  const EndOfChild end(child);
  ChildWish told = ChildWish::go_on;
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child)
      return {WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    expect(ended == 0 || errno == EINTR, "waitpid", "{}", std::strerror(errno));
    ChildWish wanted = ChildWish::kill;
    try {
      wanted = wish();
    } catch (...) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
      throw;
    }
    if (wanted > told) {
      ::kill(child, wanted == ChildWish::stop ? SIGTERM : SIGKILL);
      told = wanted;
    }
    end.wait();
  }
}

}  // namespace surd
