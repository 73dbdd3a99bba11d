#pragma once

#include "experiments/study/execution/study_folder.hpp"
#include "tests/experiments/program.hpp"
#include "tests/experiments/study/study_files.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

/// Studies that are run by the program itself.
namespace surd::test {

namespace fs = std::filesystem;

inline const std::string tuned_study = StudyFile::whole(
    std::string(study_rest) +
    "tuning: {metric: loss, seeds: 1, axes: [{name: rate, key: optimizer.learning_rate, values: [0.001, 0.01]}]}\n");

struct StudyRun : StudyFile {
  explicit StudyRun(const std::string& text = tuned_study) : file(write(text)) {}

  Outcome run(const std::string& folder, const std::string& more = "") const {
    return program("study run " + file + " --out " + directory.path(folder) + " " + more);
  }
  /// What the runs of a study left that does not depend on time.
  std::map<std::string, std::string> result(const std::string& folder) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(directory.path(folder) + "/runs")) {
      const std::string name = entry.path().filename();
      if (name == "metrics.jsonl" || name == "outcome.json" || name == "config.yaml" || name == "data.json")
        files[fs::relative(entry.path(), directory.path(folder))] = read_file(entry.path());
    }
    return files;
  }

  std::string file;
};

/// `surd ARGUMENTS` as a process of its own, in a group of its own, whose output nobody reads.
inline pid_t start(const std::vector<std::string>& arguments) {
  std::vector<char*> words{const_cast<char*>(SURD_EXECUTABLE)};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t output;
  posix_spawn_file_actions_init(&output);
  posix_spawn_file_actions_addopen(&output, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&output, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  // Returns when the program has begun: a signal after that cannot find a copy of this one, as it can after fork().
  const int failed = ::posix_spawn(&child, SURD_EXECUTABLE, &output, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&output);
  REQUIRE(failed == 0);
  return child;
}

/// The processes that a process has started and that live.
inline std::vector<pid_t> children_of(pid_t parent) {
  std::ifstream list("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;) children.push_back(child);
  return children;
}

inline void wait_milliseconds(int count) { std::this_thread::sleep_for(std::chrono::milliseconds(count)); }

}  // namespace surd::test
