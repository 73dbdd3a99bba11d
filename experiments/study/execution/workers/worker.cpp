#include "experiments/study/execution/workers/worker.hpp"

#include "experiments/program/exit_code.hpp"
#include "experiments/program/host_name.hpp"
#include "experiments/program/stopwatch.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/run/data/fingerprint.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/run/system_info.hpp"
#include "experiments/study/execution/reuse.hpp"
#include "experiments/study/execution/run_files.hpp"
#include "experiments/study/execution/study_results.hpp"
#include "experiments/study/execution/workers/attempt.hpp"
#include "experiments/study/execution/workers/child_process.hpp"
#include "experiments/study/execution/workers/run_process.hpp"
#include "experiments/study/execution/workers/run_times.hpp"
#include "train/storage/files.hpp"
#include "train/storage/hash.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <thread>

namespace surd {
namespace {

namespace fs = std::filesystem;

class Worker {
 public:
  Worker(const StudyFolder& folder, const Study& study, const StopSignals& signals, const WorkOptions& options,
         const RunEnded& run_ended)
      : folder_(folder),
        study_(study),
        signals_(signals),
        options_(options),
        run_ended_(run_ended),
        keep_checkpoints_(folder.keep_checkpoints()),
        retries_(folder.retries()),
        reusable_(folder.reuse(), keep_checkpoints_),
        leases_(folder.path(), options.lease),
        results_(folder, study),
        times_(folder) {
    system_info();  // which remembers the program's hash; each run is a fork of this process
  }

  WorkEnd work() {
    Stopwatch idle;
    while (true) {
      const Round round = look_and_make();
      if (round.complete) return WorkEnd::complete;
      if (signals_.received() != 0) return WorkEnd::stopped;
      if (round.made_any) {
        idle = Stopwatch();
        continue;
      }
      if (round.too_long || seconds_left() <= 0) {
        const bool hopeless = never_fits_ || lost_seconds_ > 0.9 * *options_.seconds;
        return hopeless && runs_ended_ == 0 ? WorkEnd::too_short : WorkEnd::no_time;
      }
      // Not before it is clear who lives: the next worker would have to listen anew.
      const bool enough = idle.seconds() >= options_.idle_seconds.value_or(std::numeric_limits<double>::infinity());
      if (enough && (round.heard_of_all || idle.seconds() >= *options_.idle_seconds + 2 * options_.lease.count()))
        return WorkEnd::idle;
      // The longer there was nothing to do, the less it matters when that is noticed.
      wait(std::clamp(idle.seconds() / 8, 0.1, std::clamp(options_.lease.count() / 4, 0.1, 30.0)));
    }
  }

 private:
  /// What came of walking once through the runs that are left.
  struct Round {
    bool complete = false;
    bool made_any = false;
    bool too_long = false;     ///< there are some that do not fit into the time left
    bool heard_of_all = true;  ///< nobody whose lease was in the way may be dead
  };
  enum class Made { not_ours, lost, ended, stopped };

  double seconds_left() const {
    return options_.seconds ? *options_.seconds - watch_.seconds() : std::numeric_limits<double>::infinity();
  }

  Round look_and_make() {
    const Leases::Seconds begun = leases_.now();
    leases_.expect_study();
    results_.refresh();
    std::vector<PlannedRun> left;
    for (PlannedRun& run : plan(study_, results_.known())) {
      if (!results_.ended(run.id(study_)))
        left.push_back(std::move(run));
      else if (options_.seconds)
        times_.learn(run.arm, run.id(study_));
    }
    Round round;
    round.complete = left.empty();
    never_fits_ = std::none_of(left.begin(), left.end(), [&](const PlannedRun& run) {
      return fits(run, options_.seconds.value_or(std::numeric_limits<double>::infinity()), 1);
    });
    constexpr double room = 1.2;
    // Every worker begins at another place, so that they hardly meet; and looks again what is left before it has asked
    // for many runs that are not.
    constexpr std::size_t most_misses = 32;
    if (!left.empty())
      std::rotate(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(chance_() % left.size()), left.end());
    std::size_t misses = 0;
    for (const PlannedRun& run : left) {
      // Where all the time is left, waiting for more of it would not help.
      if (!fits(run, seconds_left(), runs_begun_ == 0 ? 1 : room)) {
        round.too_long = true;
        continue;
      }
      if (has_just_failed(run.id(study_))) continue;
      const Made made = make(run);
      if (made == Made::stopped || signals_.received() != 0) break;
      round.made_any = round.made_any || made != Made::not_ours;
      misses = made == Made::not_ours ? misses + 1 : 0;
      if (misses == most_misses) break;
    }
    round.heard_of_all = leases_.heard_of_all(begun);
    return round;
  }

  /// With checkpoints a run may be made in parts.
  bool fits(const PlannedRun& run, double seconds, double room) const {
    return seconds > 0 && (keep_checkpoints_ || room * times_.expected(run.arm).value_or(0) <= seconds);
  }

  /// What made a run fail may pass: it is given some time.
  bool has_just_failed(const std::string& id) const {
    const auto failed = failed_here_.find(id);
    return failed != failed_here_.end() && failed->second.seconds() < options_.lease.count() / 60;
  }

  /// What made a run fail here may be of this machine alone, and then all would fail before the others came to them.
  bool is_for_others(const std::string& id) {
    const std::vector<std::string> attempts = names_in(folder_.attempts(id));
    const std::string host = host_name();
    return std::any_of(attempts.begin(), attempts.end(),
                       [&](const std::string& name) { return Attempt::has_failed(name) && is_of_host(name, host); }) &&
           leases_.others_are_there();
  }

  /// Makes a run, or takes it from another study, unless another worker has it.
  Made make(const PlannedRun& run) {
    const std::string id = run.id(study_);
    leases_.expect_study();
    if (!leases_.take(id) && !leases_.take_over(id)) return Made::not_ours;
    if (folder_.ended(id)) {
      leases_.settle(id);
      return Made::not_ours;
    }
    if (is_for_others(id)) {
      failed_here_[id] = Stopwatch();
      leases_.give_back(id);
      return Made::not_ours;
    }
    try {
      const Made made = attempt(run, id);
      if (folder_.ended(id))
        leases_.settle(id);
      else
        leases_.give_back(id);
      return made;
    } catch (...) {
      leases_.give_back(id);
      throw;
    }
  }

  Made attempt(const PlannedRun& run, const std::string& id) {
    Attempt attempt(folder_, id, leases_.worker(), keep_checkpoints_);
    std::optional<ConfigFile> file;
    try {
      file.emplace(study_.config_file(run.arm, run.settings, run.seed));
    } catch (const ConfigError& error) {  // by extending a grid the tuning came to a value that is not allowed
      publish(attempt, {id, RunResult::Status::failed, error.what(), ""}, study_.config(run.arm, {}, run.seed));
      return Made::ended;
    }
    if (take_from_another(attempt, id, file->config)) return Made::ended;
    const Stopwatch watch;
    ++runs_begun_;
    bool lost = false, told = false;
    std::optional<std::string> other;  // of the data, once the run has read them
    const auto look_at_data = [&] {
      if (!other && path_exists(RunFolder(attempt.path()).data())) other = other_data(attempt, file->config);
      return other && !other->empty();
    };
    const pid_t child = start_child([&] { return make_run(attempt, *file, keep_checkpoints_); });
    std::uint64_t asked = 0;
    const ChildEnd end = wait_for_child(child, [&] {
      lost = lost || !leases_.renew();
      ++asked;
      const bool looks = (asked & (asked - 1)) == 0;  // ever more seldom, for the file server's sake
      if (lost || (looks && look_at_data())) return ChildWish::kill;
      told = told || signals_.received() != 0 || seconds_left() <= 0;
      return told ? ChildWish::stop : ChildWish::go_on;
    });
    told = told || signals_.received() != 0;  // the signal may have ended the child before this process asked
    if (!path_exists(attempt.path())) return Made::lost;  // taken away by one that has taken the run over
    if (lost) {
      set_aside(attempt);
      return Made::lost;
    }
    if (told && was_stopped(end)) {
      if (!keep_checkpoints_) lost_seconds_ = std::max(lost_seconds_, watch.seconds());
      set_aside(attempt);
      return Made::stopped;
    }
    if (end.signal == 0 && end.code == exit_done) times_.add(run.arm, watch.seconds());
    look_at_data();
    note(attempt, id, end, other.value_or(""), file->config);
    return Made::ended;
  }

  /// A run that did not come to its end goes on another time where it has checkpoints.
  void set_aside(Attempt& attempt) const {
    if (keep_checkpoints_)
      attempt.stop();
    else
      attempt.discard();
  }

  /// Takes a run from another study; false where none has it.
  bool take_from_another(Attempt& attempt, const std::string& id, const RunConfig& config) {
    const auto source = reusable_.find(config);
    if (!source) return false;
    if (!reusable_.copy(*source, attempt.path())) {
      attempt.begin_again();
      return false;
    }
    if (!other_data(attempt, config).empty()) {
      attempt.begin_again();
      return false;
    }
    publish(attempt, {id, source->outcome.status, source->outcome.message, source->path()}, config);
    return true;
  }

  /// In what the files that a run read differ from what the study's first run read from them (with its seed, where the
  /// task takes one), a line a split; "" where they do not, and of generated data.
  std::string other_data(const Attempt& attempt, const RunConfig& config) const {
    const auto task = config.task.make();
    if (!task->format().open_vocabulary) return "";
    std::string files = task->takes_seed() ? fmt::format("seed={}\n", config.seed) : "";
    for (const auto& [key, value] : settings_of(config))
      if (key.rfind("task.", 0) == 0 && is_file(value)) files += key + "=" + value + "\n";
    const std::string first = folder_.data() + "/" + hash_of(files), name = "/data.json";
    const std::string own = RunFolder(attempt.path()).data(), text = read_file(own);
    make_folders(folder_.data());
    if (!path_exists(first))  // a folder appears with all that it holds, on any file system
      make_whole_folder(first, [&](const std::string& unfinished) { write_file_atomically(unfinished + name, text); });
    const Fingerprint now = parse_fingerprint(text, own);
    std::vector<std::string> splits;
    for (const auto& [split, found] : now) splits.push_back(split);
    return difference(parse_fingerprint(read_file(first + name), first + name), now, splits);
  }

  /// `other`: see other_data().
  void note(Attempt& attempt, const std::string& id, const ChildEnd& end, const std::string& other,
            const RunConfig& config) {
    if (!other.empty()) {
      remove_quietly(RunFolder(attempt.path()).checkpoints());  // from which no other attempt may go on
      return note_failure(attempt,
                          {id, RunResult::Status::failed,
                           fmt::format("the data are not those that the study's runs were made with before:{}\nput the "
                                       "files back, or begin the study anew in another folder",
                                       other),
                           ""},
                          config);
    }
    if (end.signal == 0 && end.code == exit_done)
      return publish(attempt, {id, RunResult::Status::finished, "", ""}, config);
    if (end.signal == 0 && end.code == exit_diverged)
      return publish(attempt, {id, RunResult::Status::diverged, divergence(attempt), ""}, config);
    if (end.code == exit_unfinished) {
      const std::string last = last_lines(attempt);  // all of the disk may be full, or only what a checkpoint needs
      set_aside(attempt);
      throw NoSpace(
          fmt::format("{}: there is no space for {}; make room, and go on with --resume or another surd study work{}{}",
                      folder_.path(), id, last.empty() ? "" : "\n", last));
    }
    note_failure(attempt, {id, RunResult::Status::failed, failure(attempt, end), ""}, config);
  }

  void note_failure(Attempt& attempt, RunEnd failed, const RunConfig& config) {
    if (attempt.fail() <= retries_) {
      failed.tried_again = true;
      failed_here_[failed.id] = Stopwatch();
      run_ended_(failed);
    } else {
      publish(attempt, failed, config);
    }
  }

  void publish(Attempt& attempt, const RunEnd& end, const RunConfig& config) {
    if (!keep_checkpoints_) {
      std::error_code ignored;
      fs::remove(RunFolder(attempt.path()).checkpoints(), ignored);  // it is empty
    }
    if (!attempt.publish(end.status, end.message, config, end.reused_from)) return;
    ++runs_ended_;
    run_ended_(end);
  }

  void wait(double seconds) {
    const Stopwatch watch;
    while (watch.seconds() < seconds && signals_.received() == 0 && seconds_left() > 0) {
      leases_.renew();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  const StudyFolder& folder_;
  const Study& study_;
  const StopSignals& signals_;
  const WorkOptions& options_;
  const RunEnded& run_ended_;
  bool keep_checkpoints_;
  std::size_t retries_;
  ReusableRuns reusable_;
  Leases leases_;
  StudyResults results_;
  RunTimes times_;
  std::minstd_rand chance_{std::random_device{}()};
  Stopwatch watch_;
  std::size_t runs_begun_ = 0, runs_ended_ = 0;
  double lost_seconds_ = 0;  // the longest that was spent on a run in vain
  std::map<std::string, Stopwatch> failed_here_;
  bool never_fits_ = false;  // none of the runs left fits into all the time that there was
};

/// Whether all runs have ended of the study as it is by now: it may have been extended, or runs are made again.
bool is_complete(const StudyFolder& folder) {
  const Study study = folder.study();
  StudyResults results(folder, study);
  const std::vector<PlannedRun> runs = plan(study, results.known());
  return std::all_of(runs.begin(), runs.end(), [&](const PlannedRun& run) { return results.ended(run.id(study)); });
}

}  // namespace

WorkEnd work_on(const StudyFolder& folder, const Study& study, const StopSignals& signals, const WorkOptions& options,
                const RunEnded& run_ended) {
  folder.upgrade();
  try {
    const WorkEnd end = Worker(folder, study, signals, options, run_ended).work();
    if (end == WorkEnd::complete && is_complete(folder)) folder.tidy();
    return end;
  } catch (const Error&) {
    // The worker that made the last run may be removing what this one writes to.
    if (!folder.begun() || !is_complete(folder)) throw;
    return WorkEnd::complete;
  }
}

}  // namespace surd
