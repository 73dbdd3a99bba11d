#include "experiments/study/execution/worker.hpp"

#include "autograd/blas.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/run/run_training.hpp"
#include "experiments/study/execution/child_process.hpp"
#include "experiments/study/execution/reuse.hpp"
#include "train/storage/json_object.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

namespace surd {
namespace {

namespace fs = std::filesystem;

/// A run without checkpoints need not sync what it writes: where the machine stops, it is begun again, and
/// StudyFolder::end() syncs what it is judged by before it counts.
class UnsyncedCalls : public SystemCalls {
 public:
  int sync(int) override { return 0; }
};

/// Makes a run, in the child process, and writes all it prints to its log.
int make_run(const StudyFolder& folder, const std::string& id, const ConfigFile& file, bool keep_checkpoints) {
  const int log = ::open(folder.log(id).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (log >= 0) {
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::close(log);
  }
  UnsyncedCalls quick;
  std::optional<ReplacedSystemCalls> replaced;
  if (!keep_checkpoints) replaced.emplace(quick);
  blas::initialize();
  Console console;
  const RunFolder run(folder.run(id));
  RunRequest request;
  request.resume = keep_checkpoints && run.begun();
  request.checkpoints = keep_checkpoints;
  if (request.resume) request.lock = run.lock();
  return run_training(file, run, std::move(request), console);
}

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

std::string log_of(const StudyFolder& folder, const std::string& id) {
  return path_exists(folder.log(id)) ? read_file(folder.log(id)) : "";
}

/// "diverged at update 7: encoder.0: softmax is not finite"
std::string divergence(const StudyFolder& folder, const std::string& id) {
  const std::string file = RunFolder(folder.run(id)).summary();
  const JsonObject where = JsonObject(read_file(file), file, "remove the run's folder").object("diverged");
  return Diverged(where.count("update"), where.text("where")).what();
}

std::string failure(const StudyFolder& folder, const std::string& id, const ChildEnd& end) {
  const std::string last = tail(log_of(folder, id));
  std::string what = fmt::format("exit code {}", end.code);
  if (end.signal != 0)
    what = fmt::format("signal {} ({}{})", end.signal, strsignal(end.signal),
                       end.signal == SIGKILL ? "; perhaps the machine ran out of memory" : "");
  return last.empty() ? what : what + "\n" + last;
}

bool stopped_by_hand(const ChildEnd& end) {
  return end.signal == SIGINT || end.signal == SIGTERM || end.code == 128 + SIGINT || end.code == 128 + SIGTERM;
}

/// Removes what a killed worker left of a run.
void remove_remains(const StudyFolder& folder, const std::string& id) {
  std::error_code error;
  fs::remove_all(folder.run(id), error);
  expect(!error, folder.run(id), "cannot be removed: {}", error.message());
}

/// Removes what a worker left that was killed while it took a run from another study.
void remove_unfinished_copy(const StudyFolder& folder, const std::string& id) {
  std::error_code ignored;
  fs::remove_all(unfinished_copy(folder.run(id)), ignored);
}

class Worker {
 public:
  Worker(const StudyFolder& folder, const Study& study, const StopSignals& signals, const RunEnded& run_ended)
      : folder_(folder),
        study_(study),
        signals_(signals),
        run_ended_(run_ended),
        keep_checkpoints_(folder.keep_checkpoints()),
        reusable_(folder.reuse(), keep_checkpoints_) {}

  /// Makes a run, or takes it from another study. True where it came to an end, good or bad; false where another worker
  /// has it or it was stopped.
  bool make(const PlannedRun& run) {
    const std::string id = run.id(study_);
    const std::unique_ptr<File> claim = folder_.claim(id);
    if (!claim) return false;
    remove_unfinished_copy(folder_, id);
    if (!keep_checkpoints_) remove_remains(folder_, id);
    try {
      const ConfigFile file = study_.config_file(run.arm, run.settings, run.seed);
      if (take(id, file.config)) return true;
      std::error_code ignored;
      fs::create_directories(folder_.run(id), ignored);
      const pid_t child = start_child([&] { return make_run(folder_, id, file, keep_checkpoints_); });
      const ChildEnd end = wait_for_child(child, signals_);
      if (stopped_by_hand(end)) return false;
      note(id, end, file.config);
    } catch (const ConfigError& error) {  // by extending a grid the tuning came to a value that is not allowed
      finish(id, RunResult::Status::failed, error.what(), study_.config(run.arm, {}, run.seed));
    }
    return true;
  }

 private:
  /// Takes a run from another study; false where none has it.
  bool take(const std::string& id, const RunConfig& config) {
    const auto source = reusable_.find(config);
    if (!source) return false;
    const RunResult ended = source->folder.read_outcome(source->id);
    remove_remains(folder_, id);
    if (!reusable_.copy(*source, folder_.run(id))) return false;
    folder_.end(id, ended.status, ended.message, config, source->path());
    run_ended_(id, ended.status, ended.message, source->path());
    return true;
  }
  void note(const std::string& id, const ChildEnd& end, const RunConfig& config) {
    if (end.signal == 0 && end.code == exit_done)
      finish(id, RunResult::Status::finished, "", config);
    else if (end.signal == 0 && end.code == exit_diverged)
      finish(id, RunResult::Status::diverged, divergence(folder_, id), config);
    else
      finish(id, RunResult::Status::failed, failure(folder_, id, end), config);
  }
  void finish(const std::string& id, RunResult::Status status, const std::string& message, const RunConfig& config) {
    if (!keep_checkpoints_) {
      std::error_code ignored;
      fs::remove(RunFolder(folder_.run(id)).checkpoints(), ignored);  // it is empty
    }
    folder_.end(id, status, message, config);
    run_ended_(id, status, message, "");
  }

  const StudyFolder& folder_;
  const Study& study_;
  const StopSignals& signals_;
  const RunEnded& run_ended_;
  bool keep_checkpoints_;
  ReusableRuns reusable_;
};

}  // namespace

bool work_on(const StudyFolder& folder, const Study& study, const StopSignals& signals, const RunEnded& run_ended) {
  constexpr std::chrono::milliseconds between_looks(100);
  const bool probe = study.tuning && study.metric(study.tuning->metric).metric->reads_probe();
  StudyResults results(folder, probe ? StudyResults::Parts::all : StudyResults::Parts::metrics);
  Worker worker(folder, study, signals, run_ended);
  while (signals.received() == 0) {
    bool complete = true, made = false;
    for (const PlannedRun& run : plan(study, results.known())) {
      if (folder.ended(run.id(study))) continue;
      complete = false;
      made = worker.make(run);
      if (signals.received() != 0) return false;
      if (made) break;  // its result may have changed what the tuning needs next
    }
    if (complete) return true;
    if (!made) std::this_thread::sleep_for(between_looks);
  }
  return false;
}

}  // namespace surd
