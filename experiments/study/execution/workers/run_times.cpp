#include "experiments/study/execution/workers/run_times.hpp"

#include "experiments/run/run_folder.hpp"
#include "experiments/study/execution/run_files.hpp"
#include "train/storage/files.hpp"
#include "train/storage/json_object.hpp"

#include <algorithm>

namespace surd {

void RunTimes::Time::add(double seconds) {
  longest = std::max(longest, seconds);
  ++runs;
}

void RunTimes::add(std::size_t arm, double seconds) { times_[arm].add(seconds); }

std::optional<double> RunTimes::expected(std::size_t arm) const {
  const auto found = times_.find(arm);
  if (found == times_.end()) return std::nullopt;
  return found->second.longest;
}

void RunTimes::learn(std::size_t arm, const std::string& id) {
  constexpr std::size_t enough = 3;
  Time& time = times_[arm];
  if (time.runs >= enough) return;
  try {
    if (read_outcome(folder_.run(id)).status != RunResult::Status::finished) return;  // others may have been short
    const std::string file = RunFolder(folder_.run(id)).summary();
    time.add(JsonObject(read_file(file), file, "").real("wall_seconds"));
  } catch (const Error&) {  // it failed, and left none
  }
}

}  // namespace surd
