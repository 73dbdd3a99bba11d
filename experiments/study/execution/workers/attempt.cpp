#include "experiments/study/execution/workers/attempt.hpp"

#include "experiments/run/run_folder.hpp"
#include "experiments/study/execution/run_files.hpp"
#include "train/storage/checkpoint.hpp"
#include "train/storage/files.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

namespace surd {
namespace {

namespace fs = std::filesystem;

constexpr const char *failed_suffix = ".failed", *stopped_suffix = ".stopped", *unfinished_suffix = ".copy";

bool has_suffix(const std::string& name, const char* suffix) { return fs::path(name).extension() == suffix; }

/// The checkpoints of a run with the times at which they were written: the same again where none was written meanwhile.
std::vector<std::pair<std::string, fs::file_time_type>> checkpoints_of(const std::string& run) {
  std::vector<std::pair<std::string, fs::file_time_type>> times;
  const std::string folder = RunFolder(run).checkpoints();
  std::error_code gone;
  for (const std::string& name : names_in(folder))
    times.emplace_back(name, fs::last_write_time(folder + "/" + name, gone));
  return times;
}

/// The number in the name of the latest checkpoint says how far an attempt came; "" where it has none.
std::string latest_checkpoint(const std::string& run) {
  const std::vector<std::string> newest = Checkpoints(RunFolder(run).checkpoints(), 1).newest_first();
  return newest.empty() ? "" : fs::path(newest.front()).filename().string();
}

/// The attempt that came furthest.
std::optional<std::string> furthest(const std::string& attempts) {
  std::optional<std::string> best;
  for (const std::string& name : names_in(attempts)) {
    const std::string path = attempts + "/" + name;
    if (has_suffix(name, unfinished_suffix)) continue;
    if (latest_checkpoint(path) > (best ? latest_checkpoint(*best) : "")) best = path;
  }
  return best;
}

}  // namespace

Attempt::Attempt(const StudyFolder& study, std::string id, const std::string& worker, bool with_checkpoints)
    : study_(study), id_(std::move(id)) {
  const std::string attempts = study_.attempts(id_);
  const auto before = with_checkpoints ? furthest(attempts) : std::nullopt;
  const auto in_use = [&] {
    return path_exists(path_) || path_exists(path_ + failed_suffix) || path_exists(path_ + stopped_suffix);
  };
  for (std::size_t number = 1; path_.empty() || in_use(); ++number)
    path_ = fmt::format("{}/{}.{}", attempts, worker, number);
  make_folders(path_);
  if (before && !go_on_from(*before)) begin_again();
}

bool Attempt::go_on_from(const std::string& other) const {
  const std::string copy = path_ + unfinished_suffix;
  try {
    if (has_suffix(other, stopped_suffix)) return rename_folder(other, path_);
    const auto checkpoints = checkpoints_of(other);
    make_folders(copy);
    copy_run_files(other, copy, true);
    // The best checkpoint and the last one must be of one moment.
    const bool whole = checkpoints_of(other) == checkpoints && rename_folder(copy, path_);
    // Its worker may be writing to it, or publishing it: only what has another name is taken apart.
    if (!whole || (!has_suffix(other, failed_suffix) && std::rename(other.c_str(), copy.c_str()) == 0))
      remove_quietly(copy);
    return whole;
  } catch (const NoSpace&) {
    remove_quietly(copy);
    throw;
  } catch (const Error&) {  // it was removed, or published, meanwhile
    remove_quietly(copy);
    return false;
  }
}

void Attempt::begin_again() const {
  discard();
  make_folders(path_);
}

bool Attempt::publish(RunResult::Status status, const std::string& message, const RunConfig& config,
                      const std::string& reused_from) {
  write_outcome(path_, status, message, config, reused_from);
  const std::string run = study_.run(id_);
  make_folders(fs::path(run).parent_path());
  const bool first = rename_folder(path_, run);
  if (!first) {
    const std::vector<std::string> there = names_in(run);
    // That it holds nothing can only be a stale look at it.
    expect(there.empty() || std::find(there.begin(), there.end(), "outcome.json") != there.end(), run,
           "holds files, but no outcome.json, so it is not a run that ended; move it away, and surd study run --resume "
           "goes on");
    discard();
  }
  remove_failed();
  return first;
}

void Attempt::stop() {
  rename_folder(path_, path_ + stopped_suffix);
  path_ += stopped_suffix;
}

std::size_t Attempt::fail() {
  rename_folder(path_, path_ + failed_suffix);
  path_ += failed_suffix;
  std::size_t failed = 0;
  for (const std::string& name : names_in(study_.attempts(id_))) failed += has_suffix(name, failed_suffix);
  return failed;
}

bool Attempt::has_failed(const std::string& name) { return has_suffix(name, failed_suffix); }

bool Attempt::is_made_by(const std::string& name, const std::string& worker) { return fs::path(name).stem() == worker; }

void Attempt::discard() const { remove_quietly(path_); }

/// What other workers are at, or were when they died, goes with the folder of all attempts once the study is complete.
void Attempt::remove_failed() const {
  const std::string attempts = study_.attempts(id_);
  for (const std::string& name : names_in(attempts))
    if (has_suffix(name, failed_suffix)) remove_quietly(attempts + "/" + name);
  std::error_code not_empty;
  fs::remove(attempts, not_empty);
}

}  // namespace surd
