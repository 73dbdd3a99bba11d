#include "experiments/study/execution/workers/worker_pool.hpp"

#include "autograd/blas.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/stopwatch.hpp"
#include "experiments/run/experiment.hpp"
#include "experiments/study/execution/workers/child_process.hpp"
#include "experiments/study/execution/workers/worker.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>

namespace surd {
namespace {

/// The workers, each a process; one that is killed is replaced.
class Pool {
 public:
  Pool(const StudyFolder& folder, const Study& study, std::size_t jobs) : folder_(folder), study_(study) {
    while (workers_.size() < jobs) start();
  }

  bool empty() const { return workers_.empty(); }
  /// Whether so many workers ended badly that none is started any more.
  bool gave_up() const { return lost_ > most_lost; }
  void stop() const {
    for (const pid_t worker : workers_) ::kill(worker, SIGTERM);
  }
  /// Forgets the workers that have ended. Unless the study is being stopped, replaces one that ended badly, though
  /// after most_lost of these no more, so that workers that keep failing come to an end.
  void reap(bool stopping) {
    for (auto worker = workers_.begin(); worker != workers_.end();) {
      int status = 0;
      if (::waitpid(*worker, &status, WNOHANG) != *worker) {
        ++worker;
        continue;
      }
      worker = workers_.erase(worker);
      const bool well = WIFEXITED(status) && WEXITSTATUS(status) == exit_done;
      if (!well && !stopping) ++lost_;
      if (!well && !stopping && lost_ <= most_lost) return start();
    }
  }

 private:
  static constexpr std::size_t most_lost = 20;

  void start() {
    workers_.insert(start_child([&]() -> int {
      const StopSignals signals;
      StopSignals::only_from_parent();
      work_on(folder_, study_, signals, {}, [](const RunEnd&) {});
      return exit_done;
    }));
  }

  const StudyFolder& folder_;
  const Study& study_;
  std::set<pid_t> workers_;
  std::size_t lost_ = 0;
};

/// Times the updates until the first evaluation, and that evaluation, and then ends the run.
class UpdateTimer : public TrainListener {
 public:
  void updated(const UpdateRecord& record) override {
    last_ = watch_.seconds();
    if (record.update == 1) first_ = last_;  // the first one also fills the pool of memory
    updates_ = record.update;
  }
  void evaluated(const TrainState& state, const Evaluation&, bool) override {
    if (state.update == 0) return;
    evaluation_ = watch_.seconds() - last_;
    over_ = true;
  }
  bool interrupted() override { return over_; }

  double of_run(const TrainOptions& options) const {
    const double update = updates_ > 1 ? (last_ - first_) / static_cast<double>(updates_ - 1) : 0;
    const auto updates = static_cast<double>(options.updates);
    return first_ + (updates - 1) * update + updates / static_cast<double>(options.evaluate_every) * evaluation_;
  }

 private:
  Stopwatch watch_;
  double first_ = 0, last_ = 0;  // when the first and the last update ended
  std::uint64_t updates_ = 0;
  double evaluation_ = 0;
  bool over_ = false;
};

double time_run(const ConfigFile& file) {
  blas::initialize();
  const Stopwatch watch;
  const Experiment experiment(file);
  const double build = watch.seconds();
  const Dataset& data = *experiment.data.dataset;
  Model& model = *experiment.model;
  const Training training{model.transformer(),  model.parameters(),  *experiment.optimizer,
                          *experiment.schedule, data.split("train"), data.split("valid"),
                          data.codec,           file.config.seed};
  TrainOptions options = file.config.train;
  options.evaluate_every = std::min<std::size_t>(options.evaluate_every, 6);
  UpdateTimer timer;
  train(training, options, {}, timer);
  return build + timer.of_run(file.config.train);
}

}  // namespace

PoolEnd run_workers(const StudyFolder& folder, const Study& study, std::size_t jobs, Console& console) {
  const StopSignals signals;
  StudyResults results(folder, study);
  const StudyCounts before = count(study, folder, results);
  const double underway = underway_before(study, folder, results);
  Pool pool(folder, study, jobs);
  for (bool told = false; !pool.empty();) {
    if (signals.received() != 0 && !told) {
      console.warn("stopping after the update that each run is at; --resume goes on");
      pool.stop();
      told = true;
    }
    const Stopwatch watch;
    const StudyCounts counts = count(study, folder, results);
    // What is taken from another study was not made here.
    const double at_start = static_cast<double>(before.ended() + counts.reused - before.reused) + underway;
    console.progress({counts.ended(), counts.planned, at_start, counts.underway},
                     fmt::format("{}, {} diverged, {} failed{}", running_text(counts), counts.diverged, counts.failed,
                                 counts.reused > 0 ? fmt::format(", {} reused", counts.reused) : ""));
    // However many runs there are, looking at them takes a hundredth of a core at most.
    const double pause = std::max(0.2, 100 * watch.seconds());
    for (const Stopwatch waited; waited.seconds() < pause && !pool.empty() && (told || signals.received() == 0);) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      pool.reap(told || signals.received() != 0);
    }
  }
  console.end_progress();
  if (pool.gave_up())
    console.warn(
        "workers kept ending before their runs did, so no more are started; see that there is memory and room on the "
        "disk, and go on with --resume");
  return {count(study, folder, results), signals.received()};
}

std::optional<double> estimated_seconds(const ConfigFile& file) {
  int ends[2];
  if (::pipe(ends) != 0) return std::nullopt;
  const pid_t child = start_child([&]() -> int {
    double seconds = 0;
    try {
      seconds = time_run(file);
    } catch (const Error&) {  // a run that diverges at once cannot be timed
      return exit_failed;
    }
    return ::write(ends[1], &seconds, sizeof seconds) == sizeof seconds ? exit_done : exit_failed;
  });
  ::close(ends[1]);
  double seconds = 0;
  const bool read = ::read(ends[0], &seconds, sizeof seconds) == sizeof seconds;
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return read ? std::optional(seconds) : std::nullopt;
}

}  // namespace surd
