#include "experiments/study/execution/workers/run_process.hpp"

#include "autograd/blas.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/stop_signals.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/run/run_training.hpp"
#include "train/storage/files.hpp"
#include "train/storage/json_object.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

namespace surd {
namespace {

/// A run without checkpoints need not sync what it writes: where the machine stops, it is begun again, and
/// write_outcome() syncs what it is judged by before it counts.
class UnsyncedCalls : public SystemCalls {
 public:
  int sync(int) override { return 0; }
};

/// The last lines of a text, as many as a message has room for.
std::string tail(const std::string& text) {
  constexpr std::size_t most_lines = 8, most_bytes = 800;
  std::size_t begin = text.size();
  for (std::size_t lines = 0; begin > 0 && text.size() - begin < most_bytes; --begin)
    if (text[begin - 1] == '\n' && begin < text.size() && ++lines == most_lines) break;
  std::string end = text.substr(begin);
  while (!end.empty() && end.back() == '\n') end.pop_back();
  return end;
}

}  // namespace

int make_run(const Attempt& attempt, const ConfigFile& file, bool keep_checkpoints) {
  const int log = ::open(attempt.log().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (log >= 0) {
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::close(log);
  }
  StopSignals::only_from_parent();
  UnsyncedCalls quick;
  std::optional<ReplacedSystemCalls> replaced;
  if (!keep_checkpoints) replaced.emplace(quick);
  blas::initialize();
  Console console;
  const RunFolder run(attempt.path());
  RunRequest request;
  request.resume = keep_checkpoints && run.begun();
  request.checkpoints = keep_checkpoints;
  request.alone = true;
  try {
    return run_training(file, run, std::move(request), console);
  } catch (const NoSpace& error) {
    to_stderr("error: {}\n", error.what());
    return exit_unfinished;
  }
}

std::string divergence(const Attempt& attempt) {
  const std::string file = RunFolder(attempt.path()).summary();
  const JsonObject where = JsonObject(read_file(file), file, "remove the run's folder").object("diverged");
  return Diverged(where.count("update"), where.text("where")).what();
}

std::string last_lines(const Attempt& attempt) {
  return path_exists(attempt.log()) ? tail(read_file(attempt.log())) : "";
}

std::string failure(const Attempt& attempt, const ChildEnd& end) {
  const std::string last = last_lines(attempt);
  std::string what = fmt::format("exit code {}", end.code);
  if (end.signal != 0)
    what = fmt::format("signal {} ({}{})", end.signal, strsignal(end.signal),
                       end.signal == SIGKILL ? "; perhaps the machine ran out of memory" : "");
  return last.empty() ? what : what + "\n" + last;
}

bool was_stopped(const ChildEnd& end) {
  return std::any_of(std::begin(stop_signals), std::end(stop_signals),
                     [&](int signal) { return end.signal == signal || end.code == 128 + signal; });
}

}  // namespace surd
