#include "experiments/study/execution/workers/attempt.hpp"
#include "experiments/study/execution/workers/leases.hpp"
#include "tests/experiments/study/execution/begun_study.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <functional>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

/// Workers of a study as its users start them, on file systems that are worse than this machine's.
namespace {

using namespace surd;
using namespace surd::test;
using Json = nlohmann::ordered_json;

std::string preloaded(const std::string& settings) {
  return "ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=" SURD_FILE_SYSTEM " " + settings;
}

/// How often each run was made, by what the workers printed.
std::multiset<std::string> runs_made(const std::string& output) {
  std::multiset<std::string> made;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("finished", 0) == 0) made.insert(line.substr(10));
  return made;
}

const std::string two_arms_text = StudyFile::whole(
    "metrics: [{name: loss, kind: final_value}]\n"
    "arms: [{name: low}, {name: high, set: {optimizer.learning_rate: 0.01}}]\n"
    "hypotheses: [{name: H, metric: loss, arm: {arm: high}, against: {arm: low}, expect: lower}]\n");

TEST_CASE("where everybody is given every lock, and looks are stale, no run is made twice and none is damaged") {
  const std::string tuning =
      "tuning: {metric: loss, seeds: 2, axes: [{name: rate, key: optimizer.learning_rate, values: [0.001, 0.01], "
      "extensions: 0}]}\n";
  const std::string arms = "arms: [{name: low}, {name: high, set: {optimizer.learning_rate: 0.01}}]\n";
  const std::string other_arms = "arms: [{name: low}, {name: high, set: {train.batch_size: 5}}]\n";
  std::string tuned = two_arms_text + seeds(10) + tuning;
  tuned.replace(tuned.find(arms), arms.size(), other_arms);
  for (const char* settings : {"", "STALE=3"}) {
    for (const auto& [text, runs] :
         {std::pair(two_arms_text + seeds(20), 40), std::pair(tuned, 2 * (2 * 10 + 2 * 2))}) {
      const BegunStudy study(text);
      const Outcome all = study.workers(4, preloaded(settings));
      CAPTURE(settings);
      CAPTURE(all.output);
      CHECK(all.exit_code == 0);
      const auto made = runs_made(all.output);
      CHECK(made.size() == static_cast<std::size_t>(runs));
      CHECK(std::set<std::string>(made.begin(), made.end()).size() == made.size());
      CHECK(study.results() == study.undisturbed());
    }
  }
}

/// A worker as a process that can be stopped.
pid_t start_worker(const BegunStudy& study, const std::vector<std::string>& more) {
  std::vector<std::string> words{"study", "work", study.path()};
  words.insert(words.end(), more.begin(), more.end());
  return start(words);
}

int exit_code_of(pid_t process) {
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool training(const BegunStudy& study) {
  std::error_code gone;
  for (auto entry = fs::recursive_directory_iterator(study.path() + "/attempts", gone);
       !gone && entry != fs::recursive_directory_iterator(); entry.increment(gone))
    if (entry->path().filename() == "metrics.jsonl") return true;
  return false;
}

void wait_until(const std::function<bool()>& holds) {
  for (int i = 0; i < 6000 && !holds(); ++i) wait_milliseconds(5);
  REQUIRE(holds());
}

TEST_CASE("a worker that is suspended beyond its lease changes no outcome, and ends well") {
  const std::string text = two_arms_text + seeds(2) + "set: {train.updates: 150}\n";
  const BegunStudy study(text);
  const pid_t suspended = start_worker(study, {"--lease", "1s"});
  wait_until([&] { return training(study); });
  const std::vector<pid_t> runs = children_of(suspended);
  ::kill(suspended, SIGSTOP);
  for (const pid_t run : runs) ::kill(run, SIGSTOP);
  const Outcome other = shell(study.work("--lease 1s"));
  CAPTURE(other.output);
  CHECK(other.exit_code == 0);
  CHECK(runs_made(other.output).size() == 4);
  const auto outcomes = study.result("study");
  for (const pid_t run : runs) ::kill(run, SIGCONT);
  ::kill(suspended, SIGCONT);
  CHECK(exit_code_of(suspended) == 0);
  CHECK(study.result("study") == outcomes);
  CHECK(study.results() == study.undisturbed());
}

TEST_CASE("a signal to a worker's whole group stops it after an update, and another goes on from there") {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) {
    const BegunStudy study(StudyFile::whole(seeds(1) + "set: {train.updates: 2000, train.log_every: 1}\n"),
                           "--keep-checkpoints");
    const pid_t worker = start_worker(study, {});
    wait_until([&] { return training(study); });
    ::kill(-worker, signal);
    CHECK(exit_code_of(worker) == 75);
    const std::string attempts = study.folder().attempts("alone/seed-1");
    const std::vector<std::string> names = names_in(attempts);
    REQUIRE(names.size() == 1);
    const std::string log = read_file(attempts + "/" + names[0] + "/log.txt");
    CHECK(contains(log, "interrupted after update "));
    CHECK_FALSE(study.folder().ended("alone/seed-1"));
    if (signal != SIGTERM) continue;
    CHECK(shell(study.work()).exit_code == 0);
    CHECK(contains(read_file(study.folder().run("alone/seed-1") + "/log.txt"), "resuming after update "));
    CHECK(study.results() == study.undisturbed("--keep-checkpoints"));
  }
}

TEST_CASE("a signal to all processes of a study that is run stops each run after an update") {
  const BegunStudy study(StudyFile::whole(seeds(1) + "set: {train.updates: 100000, train.log_every: 1}\n"),
                         "--keep-checkpoints");
  const pid_t program =
      start({"study", "run", study.file, "--anyway", "--resume", "--jobs", "1", "--out", study.path()});
  wait_until([&] { return training(study); });
  std::vector<pid_t> all = children_of(program);
  REQUIRE(all.size() == 1);
  const std::vector<pid_t> runs = children_of(all[0]);
  REQUIRE(runs.size() == 1);
  all.insert(all.begin(), program);
  all.push_back(runs[0]);
  for (const pid_t process : all) ::kill(process, SIGTERM);
  CHECK(exit_code_of(program) == 128 + SIGTERM);
  const std::string attempts = study.folder().attempts("alone/seed-1");
  const std::vector<std::string> names = names_in(attempts);
  REQUIRE(names.size() == 1);
  CHECK(contains(read_file(attempts + "/" + names[0] + "/log.txt"), "interrupted after update "));
}

/// A worker of another machine that lives as long as this object.
class WorkerElsewhere {
 public:
  explicit WorkerElsewhere(const BegunStudy& study)
      : heartbeat_(study.path() + "/workers/" + name), thread_([this] {
          for (int beats = 0; !over_; ++beats) {
            write_file_atomically(heartbeat_, std::to_string(beats));
            wait_milliseconds(100);
          }
        }) {}
  ~WorkerElsewhere() {
    over_ = true;
    thread_.join();
  }
  static constexpr const char* name = "elsewhere-1-00000001";

 private:
  std::string heartbeat_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

TEST_CASE("what failed on one machine is left to the others as long as there are any") {
  const BegunStudy study(StudyFile::whole(seeds(1) + "set: {train.updates: 3000}\n"));
  fs::create_directories(study.path() + "/workers");
  const auto failed = [&] {
    std::size_t count = 0;
    for (const std::string& name : names_in(study.folder().attempts("alone/seed-1")))
      count += Attempt::has_failed(name);
    return count;
  };
  pid_t worker = 0;
  {
    const WorkerElsewhere elsewhere(study);
    worker = start_worker(study, {"--lease", "1s"});
    wait_until([&] { return training(study); });
    for (const pid_t run : children_of(worker)) ::kill(run, SIGKILL);
    wait_until([&] { return failed() == 1; });
    wait_milliseconds(2000);
    CHECK(names_in(study.folder().attempts("alone/seed-1")).size() == 1);
    CHECK(children_of(worker).empty());
  }
  CHECK(exit_code_of(worker) == 0);
  CHECK(study.results() == study.undisturbed());
}

TEST_CASE("a run of the tuning that is killed, or finds no space, leaves the choice as it was") {
  const BegunStudy study(tuned_study, "--retries 1000");
  const auto undisturbed = study.undisturbed();
  const std::string full = study.directory.path("full");
  std::mt19937 chance(3);
  for (int i = 0; i < 12; ++i) {
    const pid_t worker = ::fork();
    if (worker == 0) {
      ::setenv("LD_PRELOAD", SURD_FILE_SYSTEM, 1);
      ::setenv("FULL", full.c_str(), 1);
      ::setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
      const int nowhere = ::open("/dev/null", O_RDWR);
      ::dup2(nowhere, STDOUT_FILENO);
      ::dup2(nowhere, STDERR_FILENO);
      ::execl(SURD_EXECUTABLE, SURD_EXECUTABLE, "study", "work", study.path().c_str(), nullptr);
      ::_exit(127);
    }
    wait_milliseconds(static_cast<int>(20 + chance() % 60));
    if (i % 2 == 0) {
      for (const pid_t run : children_of(worker)) ::kill(run, SIGKILL);
      wait_milliseconds(20);
    } else {
      write_file_atomically(full, "");
      wait_milliseconds(30);
    }
    ::kill(worker, SIGTERM);
    exit_code_of(worker);
    fs::remove(full);
  }
  const Outcome last = shell(study.work());
  CAPTURE(last.output);
  CHECK(last.exit_code == 0);
  CHECK(study.results() == undisturbed);
}

TEST_CASE("two --resume at once both come to the end") {
  const BegunStudy study(two_arms_text + seeds(6));
  const std::string resume = std::string(SURD_EXECUTABLE) + " study run " + study.file + " --anyway --resume --out " +
                             study.path() + " && echo done well";
  const Outcome both = shell("( " + resume + " ) & ( " + resume + " ) & wait");
  CAPTURE(both.output);
  const std::size_t first = both.output.find("done well");
  REQUIRE(first != std::string::npos);
  CHECK(both.output.find("done well", first + 1) != std::string::npos);
  CHECK(study.results() == study.undisturbed());
}

TEST_CASE("workers that are killed at random again and again leave what one does that is not") {
  const BegunStudy study(two_arms_text + seeds(200));
  const auto undisturbed = study.undisturbed();
  std::mt19937 chance(11);
  std::vector<pid_t> workers;
  for (int i = 0; i < 16; ++i) workers.push_back(start_worker(study, {}));
  for (int i = 0; i < 200; ++i) {
    wait_milliseconds(static_cast<int>(chance() % 60));
    pid_t& worker = workers[chance() % workers.size()];
    ::kill(worker, SIGKILL);
    ::waitpid(worker, nullptr, 0);
    worker = start_worker(study, {});
  }
  for (const pid_t worker : workers) CHECK(exit_code_of(worker) == 0);
  CHECK(study.results() == undisturbed);
}

TEST_CASE("a run that finds no space is not one that failed") {
  const BegunStudy study(two_arms_text + seeds(1), "--retries 0");
  const Outcome worker = shell(preloaded("ROOM=500") + " " + study.work());
  CAPTURE(worker.output);
  CHECK(worker.exit_code == 1);
  CHECK(contains(worker.output, "study: there is no space for arm="));
  CHECK(contains(worker.output, "cannot write: No space left on device"));
  CHECK(contains(program("study status " + study.path()).output, "runs        0 of 2 made"));
  CHECK(shell(study.work()).exit_code == 0);
  CHECK(contains(program("study status " + study.path()).output, "runs        2 of 2 made"));
  CHECK(contains(program("study status --json " + study.path()).output, "\"failed\": 0"));
}

/// How many calls that go to the server a worker makes until it ends.
std::size_t calls_of_worker(const BegunStudy& study, const std::string& options) {
  const std::string count = study.directory.path("count");
  fs::remove(count);
  const Outcome worker = shell(preloaded("COUNT=" + count) + " " + study.work(options));
  CAPTURE(worker.output);
  CHECK((worker.exit_code == 0 || worker.exit_code == 75));
  return std::stoul(read_file(count));
}

TEST_CASE("a worker with nothing to do asks as little of 10,000 runs as of 1,000") {
  const auto calls = [](std::size_t arms) {
    std::string text = "arms:\n";
    for (std::size_t arm = 1; arm <= arms; ++arm)
      text += fmt::format("  - {{name: a{0}, set: {{optimizer.learning_rate: 1e-{0}}}}}\n", arm);
    const BegunStudy study(StudyFile::whole(text + seeds(1000)));
    fs::create_directories(study.path() + "/workers");
    const WorkerElsewhere other(study);
    const std::string lease =
        Json{{"worker", WorkerElsewhere::name}, {"pid", 1}, {"started", "1"}, {"machine", "another"}}.dump();
    for (std::size_t arm = 1; arm <= arms; ++arm) {
      const std::string folder = study.path() + "/leases/arm=a" + std::to_string(arm);
      fs::create_directories(folder);
      for (int seed = 1; seed <= 1000; ++seed) std::ofstream(folder + "/seed-" + std::to_string(seed)) << lease;
    }
    return calls_of_worker(study, "--idle 3s");
  };
  const std::size_t few = calls(1), many = calls(10);
  CAPTURE(few);
  CAPTURE(many);
  CHECK(many < 2 * few);
  CHECK(many < 10'000);
}

TEST_CASE("a worker makes as many calls a run of many runs as of few") {
  const auto calls = [](std::size_t runs) {
    const BegunStudy study(StudyFile::whole(seeds(runs)));
    return calls_of_worker(study, "");
  };
  const std::size_t ten = calls(10), forty = calls(40);
  CAPTURE(ten);
  CAPTURE(forty);
  CHECK(forty < 4 * ten);
  CHECK(forty < 40 * 100);
}

}  // namespace
