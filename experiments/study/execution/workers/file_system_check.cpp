#include "experiments/study/execution/workers/file_system_check.hpp"

#include "experiments/program/exit_code.hpp"
#include "experiments/program/stopwatch.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/study/execution/workers/child_process.hpp"
#include "train/storage/files.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace surd {
namespace {

constexpr int rounds = 60, processes = 4;

/// A folder of this process's own that goes with it.
class Scratch {
 public:
  explicit Scratch(const std::string& folder)
      : path_(fmt::format("{}/.surd-doctor-{:08x}", folder, std::random_device{}())) {
    make_folders(path_);
  }
  ~Scratch() { remove_quietly(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// A pipe that tells numbers from children to their parent.
class Reports {
 public:
  Reports() { expect(::pipe(ends_.data()) == 0, "pipe", "cannot be made"); }
  ~Reports() {
    for (const int end : ends_) ::close(end);
  }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  void tell(int number) const {
    expect(::write(ends_[1], &number, sizeof number) == sizeof number, "pipe", "cannot be written");
  }
  /// In the parent, once its children are there: so that hear() ends where they do.
  void only_hear() { ::close(std::exchange(ends_[1], -1)); }
  int hear() const {
    int number = 0;
    expect(::read(ends_[0], &number, sizeof number) == sizeof number, "pipe", "cannot be read");
    return number;
  }

 private:
  std::array<int, 2> ends_{};
};

/// Lets processes do `attempt`, which says whether it succeeded, at once, round after round, and finds out whether one
/// of them did in each.
FileSystemCheck race(const std::string& name, const std::string& what,
                     const std::function<bool(int process, int round)>& attempt) {
  Reports reports;
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process)
    children.push_back(start_child([&, process]() -> int {
      for (int round = 0; round < rounds; ++round) {
        bool won = false;
        try {
          won = attempt(process, round);
        } catch (const Error&) {  // a system that refuses what is needed has no winner
        }
        reports.tell(won ? round : -1);
      }
      return exit_done;
    }));
  reports.only_hear();
  std::array<int, rounds> winners{};
  for (int report = 0; report < rounds * processes; ++report)
    if (const int round = reports.hear(); round >= 0) ++winners.at(static_cast<std::size_t>(round));
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  int fair = 0;
  for (const int count : winners) fair += count == 1;
  return {name, fair == rounds,
          fmt::format("{} processes {}, {} times: one of them did in {}", processes, what, rounds, fair)};
}

/// Leases are links where files can have a second name.
FileSystemCheck links(const Scratch& scratch) {
  const std::string file = scratch.path("linked");
  static_cast<void>(create_file(file, ""));
  if (::link(file.c_str(), scratch.path("first").c_str()) != 0)
    return {"link", true, "files cannot have a second name here; leases are made as files are (create)"};
  return race("link", "gave a file one second name", [&](int, int round) {
    return ::link(file.c_str(), scratch.path(fmt::format("link-{}", round)).c_str()) == 0;
  });
}

/// A file that was looked for in vain before it was made.
FileSystemCheck visibility(const Scratch& scratch) {
  constexpr double longest = 60;
  const std::string file = scratch.path("seen");
  Reports reports;
  static_cast<void>(path_exists(file));
  const pid_t child = start_child([&]() -> int {
    create_file(file, "text");
    reports.tell(0);
    return exit_done;
  });
  reports.only_hear();
  reports.hear();
  const Stopwatch watch;
  bool seen = false;
  while (!seen && watch.seconds() < longest) {
    try {
      seen = path_exists(file) && read_file(file) == "text";
    } catch (const Error&) {  // not all of it is there
    }
    if (!seen) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::waitpid(child, nullptr, 0);
  return {"visibility", seen,
          seen ? fmt::format("what a process made was seen by another after {:.2f} s", watch.seconds())
               : fmt::format("what a process made was not seen by another within {} s", longest)};
}

}  // namespace

std::vector<FileSystemCheck> check_file_system(const std::string& folder) {
  expect_usage(is_folder(folder), folder, "is no folder");
  const Scratch scratch(folder);
  std::vector<FileSystemCheck> checks;
  checks.push_back(race("create", "made a file of one name",
                        [&](int, int round) { return create_file(scratch.path(fmt::format("file-{}", round)), ""); }));
  checks.push_back(race("rename", "gave a folder of theirs one name", [&](int process, int round) {
    const std::string own = scratch.path(fmt::format("own-{}-{}", process, round));
    make_folders(own);
    static_cast<void>(create_file(own + "/outcome", ""));
    return rename_folder(own, scratch.path(fmt::format("run-{}", round)));
  }));
  checks.push_back(links(scratch));
  checks.push_back(visibility(scratch));
  const auto room = static_cast<double>(available_bytes(folder));
  checks.push_back({"room", room > 1e8, fmt::format("{:.1f} GB are free", room / 1e9)});
  return checks;
}

}  // namespace surd
