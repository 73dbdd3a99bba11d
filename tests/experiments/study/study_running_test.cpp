#include "experiments/program/text_format.hpp"
#include "experiments/study/execution/metric_value.hpp"
#include "experiments/study/execution/reuse.hpp"
#include "experiments/study/execution/study_folder.hpp"
#include "tests/experiments/program.hpp"
#include "tests/experiments/study/study_files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

namespace {

using namespace surd;
using namespace surd::test;
namespace fs = std::filesystem;

const std::string tuned_study = StudyFile::whole(
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

/// `surd ARGUMENTS` as a process of its own, whose output nobody reads.
pid_t start(const std::vector<std::string>& arguments) {
  std::vector<char*> words{const_cast<char*>(SURD_EXECUTABLE)};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, 1);
    ::dup2(nowhere, 2);
    ::execv(SURD_EXECUTABLE, words.data());
    ::_exit(127);
  }
  return child;
}

/// The processes that a process has started and that live.
std::vector<pid_t> children_of(pid_t parent) {
  std::ifstream list("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;) children.push_back(child);
  return children;
}

void wait_milliseconds(int count) { std::this_thread::sleep_for(std::chrono::milliseconds(count)); }

TEST_CASE(
    "a study with computed settings, combinations left out and a change runs to its report, and is the same again") {
  const std::string text = StudyFile::whole(
      std::string(study_rest) +
      "set: {optimizer.learning_rate: 1e-3 / rho}\nwithout: [{scale: one, rho: high}]\n"
      "hypotheses:\n  - {name: H, metric: loss, arm: {scale: one, rho: low}, against: {scale: sqrt_dim, rho: low}, "
      "expect: lower}\n");
  const std::string change = "changes: [{date: 2026-11-20, what: Two seeds, seen: nothing}]\n";
  const StudyRun study(text + change);
  const Outcome first = study.run("a", "--anyway");
  CAPTURE(first.output);
  CHECK(first.exit_code == 0);
  CHECK(
      contains(first.output,
               "arms        3: scale=one, rho=low; scale=sqrt_dim, rho=low;\n            scale=sqrt_dim, rho=high\n"));
  CHECK_FALSE(fs::exists(study.directory.path("a/runs/scale=one,rho=high")));
  const std::string runs = study.directory.path("a/runs/");
  CHECK(contains(read_file(runs + "scale=one,rho=low/seed-1/config.yaml"), "learning_rate: 0.002\n"));
  CHECK(contains(read_file(runs + "scale=sqrt_dim,rho=high/seed-2/config.yaml"), "learning_rate: 0.0005\n"));
  const std::string report = read_file(study.directory.path("a/report.md"));
  CHECK(contains(report, "| 2026-11-20 | Two seeds | nothing |"));
  CHECK(contains(report, "6 runs: 6 finished"));
  CHECK_FALSE(contains(report, "Effects of the factors"));
  CHECK(contains(read_file(study.directory.path("a/report.html")), "Known by then: nothing"));

  CHECK(contains(study.run("a", "--resume").output, "runs        0 to make"));
  study.write(text);
  const Outcome other = study.run("a", "--resume");
  CHECK(other.exit_code == 2);
  CHECK(contains(other.output, "changes.0.what"));
}

TEST_CASE("a study that declares a second look gets more seeds, and any other none") {
  const std::string text = StudyFile::whole(
      std::string(study_rest) +
      "hypotheses:\n  - {name: H, metric: loss, arm: {scale: one, rho: low}, against: {scale: sqrt_dim, rho: low}, "
      "expect: lower}\n");
  const StudyRun once(text), twice(text + "looks: 2\n");
  CHECK(once.run("a", "--anyway").exit_code == 0);
  const Outcome refused = program("study extend " + once.directory.path("a") + " --seeds 5");
  CHECK(refused.exit_code == 2);
  CHECK(contains(refused.output, "its verdicts may be taken once, which is used up"));
  CHECK(contains(refused.output, "begin a study with other seeds (from 3)"));

  const std::string folder = twice.directory.path("a");
  CHECK(twice.run("a", "--anyway").exit_code == 0);
  const Outcome extended = program("study extend " + folder + " --seeds 6");
  CAPTURE(extended.output);
  CHECK(extended.exit_code == 0);
  CHECK(contains(extended.output, "seeds       8 (1 ... 8)\nlooks       2 at most, for which p is multiplied by 2\n"));
  CHECK(contains(extended.output, "runs        24 to make, 8 made"));
  CHECK(contains(extended.output, "32 of 32 runs made"));
  CHECK(contains(read_file(folder + "/report.md"), "after Holm and for 2 looks)"));
  CHECK(contains(twice.run("a", "--resume").output, "runs        0 to make, 32 made"));
  CHECK(program("study extend " + folder + " --seeds 1").exit_code == 2);
  CHECK(program("study extend " + folder).exit_code == 2);
  const std::string page = read_file(folder + "/report.html");  // what makes it again
  CHECK(contains(page, " --anyway --out a-again\nsurd study extend a-again --seeds 6<"));
  CHECK(contains(read_file(once.directory.path("a/report.html")), " --anyway --out a-again<"));

  const std::string origin = folder + "/study.json", text_of_origin = read_file(origin);
  for (const char* damage :
       {"[[1]]", "[[9, 9]]", "[[-1]]", "[[1.5]]", "[[\"a\"]]", "[9]", "{\"a\": [9]}", "[[9], [10]]"}) {
    auto json = nlohmann::ordered_json::parse(text_of_origin);
    json["more_seeds"] = nlohmann::ordered_json::parse(damage);
    write_file_atomically(origin, json.dump());
    const Outcome report = program("study report " + folder);
    CAPTURE(damage);
    CAPTURE(report.output);
    CHECK(report.exit_code == 1);
    CHECK(contains(report.output, "study.json: 'more_seeds' "));
  }
}

TEST_CASE("copies of the files that a base extends must stay as they were") {
  const StudyRun study(StudyFile::whole("seeds: 1\n"));
  const std::string base = study.directory.write("base.yaml", "train: {batch_size: 5}\n");
  std::string text = read_file(study.file);
  text.insert(text.find("base:\n") + 6, "  extends: ./base.yaml\n");
  study.write(text);
  REQUIRE(study.run("a").exit_code == 0);
  write_file_atomically(study.directory.path("a/base/1.yaml"), "train: {batch_size: 6}\n");
  const Outcome changed = program("study report " + study.directory.path("a"));
  CHECK(changed.exit_code == 1);
  CHECK(contains(changed.output, "a/base: a file in it was changed after the study was begun; put it back"));
}

TEST_CASE("a study runs to its end, is not overwritten, and resumes to nothing") {
  const StudyRun study;
  const Outcome first = study.run("a", "--jobs 2");
  CAPTURE(first.output);
  CHECK(first.exit_code == 0);
  CHECK(contains(first.output, "arms        4: scale=one, rho=low;"));
  CHECK(contains(first.output, "runs        16 to make; with all of the tuning at most 32"));
  CHECK(contains(first.output, "0 diverged, 0 failed"));
  const auto files = study.result("a");
  CHECK(files.size() >= 4 * (2 + 2) * 4);
  CHECK_FALSE(fs::exists(study.directory.path("a/runs/scale=one,rho=low/seed-1/checkpoints")));
  for (const auto& entry : fs::recursive_directory_iterator(study.directory.path("a/runs")))
    CHECK(entry.path().extension() != ".claim");

  const Outcome again = study.run("a");
  CHECK(again.exit_code == 2);
  CHECK(contains(again.output, "holds a study already; --resume goes on with it"));
  const Outcome resumed = study.run("a", "--resume");
  CHECK(resumed.exit_code == 0);
  CHECK(contains(resumed.output, "runs        0 to make"));
  CHECK(study.result("a") == files);

  const Outcome status = program("study status " + study.directory.path("a"));
  CHECK(status.exit_code == 0);
  CHECK(contains(status.output, "scale=sqrt_dim, rho=high"));
  std::istringstream lines(status.output);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}

TEST_CASE("a study that was killed again and again, all of it or one worker, ends with the same files") {
  const StudyRun study;
  REQUIRE(study.run("whole", "--jobs 1").exit_code == 0);
  const auto whole = study.result("whole");
  std::mt19937 chance(20);
  for (int i = 0; i < 12; ++i) {
    const pid_t parent =
        start({"study", "run", study.file, "--out", study.directory.path("killed"), "--resume", "--jobs", "2"});
    wait_milliseconds(static_cast<int>(20 + chance() % 150));
    const auto workers = children_of(parent);
    if (i % 3 == 1 && !workers.empty()) {
      ::kill(workers[chance() % workers.size()], SIGKILL);
      wait_milliseconds(static_cast<int>(chance() % 80));
    }
    ::kill(parent, i % 4 == 3 ? SIGTERM : SIGKILL);
    ::waitpid(parent, nullptr, 0);
  }
  const Outcome last = study.run("killed", "--resume");
  CAPTURE(last.output);
  CHECK(last.exit_code == 0);
  CHECK(study.result("killed") == whole);
}

TEST_CASE("a signal stops a study, its workers and their runs") {
  const StudyRun study(StudyFile::whole("seeds: 2\n"));
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string out = study.directory.path("stopped" + std::to_string(signal));
    const pid_t parent = start({"study", "run", study.file, "--out", out, "--set", "train.updates=100000"});
    std::vector<pid_t> workers;
    for (int i = 0; i < 6000 && !fs::exists(out + "/runs/alone/seed-1/metrics.jsonl"); ++i) wait_milliseconds(5);
    workers = children_of(parent);
    CHECK_FALSE(workers.empty());
    ::kill(parent, signal);
    int status = 0;
    ::waitpid(parent, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 128 + signal);
    for (const pid_t worker : workers) CHECK(::kill(worker, 0) != 0);
    CHECK_FALSE(fs::exists(out + "/runs/alone/seed-1/outcome.json"));
    CHECK(program("study status " + out).exit_code == 0);
  }
}

TEST_CASE("workers that are started by hand share the runs; none is made twice") {
  const StudyRun study;
  const StudyFolder folder(study.directory.path("shared"));
  const StudySource source{study.file, {}, false, {}};
  folder.freeze(source, load_study(source), false);
  const Outcome both =
      shell("for i in 1 2 3; do " + std::string(SURD_EXECUTABLE) + " study work " + folder.path() + " & done; wait");
  std::multiset<std::string> made;
  std::istringstream lines(both.output);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("finished", 0) == 0) made.insert(line.substr(10));
  StudyResults results(folder);
  const auto runs = plan(folder.study(), results.known());
  CHECK(made.size() == runs.size());
  for (const PlannedRun& run : runs) CHECK(made.count(run.id(folder.study())) == 1);
}

TEST_CASE("a claim is held once, is free when its process is dead, and is not given for a run that has ended") {
  const StudyRun study;
  const StudyFolder folder(study.directory.path("claims"));
  auto claim = folder.claim("arm/seed-1");
  REQUIRE(claim != nullptr);
  CHECK(folder.claim("arm/seed-1") == nullptr);
  CHECK(folder.claimed("arm/seed-1"));
  claim.reset();
  CHECK_FALSE(folder.claimed("arm/seed-1"));
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = folder.claim("arm/seed-1");
    const bool told = ::write(ready[1], held ? "1" : "0", 1) == 1;
    while (told) ::pause();
    ::_exit(1);
  }
  char held = '0';
  REQUIRE(::read(ready[0], &held, 1) == 1);
  CHECK(held == '1');
  CHECK(folder.claim("arm/seed-1") == nullptr);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(folder.claim("arm/seed-1") != nullptr);
  folder.end("arm/seed-1", RunResult::Status::finished, "", RunConfig());
  CHECK(folder.claim("arm/seed-1") == nullptr);
}

TEST_CASE("runs that crash are failed ones with their reason; those that diverge are results") {
  const StudyRun study(StudyFile::whole("seeds: 1\n"));
  const StudyFolder folder(study.directory.path("crash"));
  const StudySource source{study.file, {}, false, {}};
  folder.freeze(source, load_study(source), false);
  // A file that grows beyond this kills the process with a signal.
  CHECK(shell("ulimit -f 2; " + std::string(SURD_EXECUTABLE) + " study work " + folder.path()).exit_code == 0);
  StudyResults results(folder);
  const RunResult* crashed = results.find("alone/seed-1");
  REQUIRE(crashed != nullptr);
  CHECK(crashed->status == RunResult::Status::failed);
  CHECK(contains(crashed->message, "signal 25 (File size limit exceeded)"));
  const Outcome resumed = study.run("crash", "--resume");
  CHECK(resumed.exit_code == 1);
  CHECK(contains(resumed.output, "failed      alone/seed-1"));

  const StudyRun hot(
      StudyFile::whole("arms: [{name: mild}, {name: hot, set: {optimizer.learning_rate: 1e+30}}]\nseeds: 1\n"));
  const Outcome outcome = hot.run("hot");
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK(contains(outcome.output, "1 finished, 1 diverged, 0 failed"));
  StudyResults ends(StudyFolder(hot.directory.path("hot")));
  REQUIRE(ends.find("arm=hot/seed-1") != nullptr);
  CHECK(contains(ends.find("arm=hot/seed-1")->message, "is not finite"));
  CHECK(ends.find("arm=hot/seed-1")->updates == 20);
  CHECK(ends.find("arm=hot/seed-1")->vocabulary == 10);
}

TEST_CASE("a study that was changed is not gone on with; its frozen copy needs no other file") {
  const StudyRun study("title: T\nbase: {extends: ./below.yaml, train: {updates: 4}}\nseeds: 1\n");
  study.directory.write("below.yaml",
                        "task: {name: copy, train_size: 20, valid_size: 5, test_size: 1}\n"
                        "model: {d_model: 8, heads: 2, encoder_layers: 1, decoder_layers: 1}\n");
  REQUIRE(study.run("a", "--set train.batch_size=5").exit_code == 0);
  const Outcome other = study.run("a", "--resume");
  CHECK(other.exit_code == 2);
  CHECK(contains(other.output, "base.train.batch_size: 5 -> (not read)"));
  study.directory.write("below.yaml", "model: {d_model: 16}\n");
  const Outcome changed = study.run("a", "--resume --set train.batch_size=5");
  CHECK(changed.exit_code == 2);
  CHECK(contains(changed.output, "base.model.d_model: 8 -> 16"));
  fs::remove(study.directory.path("below.yaml"));
  fs::remove(study.file);
  fs::remove_all(study.directory.path("a/runs/alone"));
  CHECK(program("study work " + study.directory.path("a")).exit_code == 0);
  CHECK(contains(read_file(study.directory.path("a/runs/alone/seed-1/config.yaml")), "d_model: 8"));
  const Outcome nothing = program("study status " + study.directory.path("a/runs"));
  CHECK(nothing.exit_code == 2);
  CHECK(contains(nothing.output, "is not the folder of a study"));
}

TEST_CASE("with --keep-checkpoints the runs can be used afterwards, and give the same numbers") {
  const StudyRun study(StudyFile::whole("seeds: 1\n"));
  REQUIRE(study.run("plain").exit_code == 0);
  REQUIRE(study.run("kept", "--keep-checkpoints").exit_code == 0);
  CHECK(study.result("kept") == study.result("plain"));
  CHECK(program("eval " + study.directory.path("kept/runs/alone/seed-1")).exit_code == 0);
}

TEST_CASE("what a study is judged by cannot change unseen") {
  const StudyRun study(StudyFile::whole("seeds: 1\n"));
  REQUIRE(study.run("out").exit_code == 0);
  const std::string file = study.directory.path("out/runs/alone/seed-1/metrics.jsonl"), text = read_file(file);
  std::ofstream(file) << text.substr(text.find('\n') + 1);  // without its first line
  const Outcome report = program("study report " + study.directory.path("out"));
  CHECK(report.exit_code == 1);
  CHECK(contains(report.output, "metrics.jsonl: was changed after the run; remove the run's folder"));
}

TEST_CASE("a metric on a further split is read from what the run left, which cannot change unseen") {
  const StudyRun study(StudyFile::whole("seeds: 1\nmetrics: [{name: loss}, {name: test_loss, split: test}]\n"));
  const std::string set = "--set 'train.evaluate_splits=[test, train]'";
  REQUIRE(study.run("out", set).exit_code == 0);
  REQUIRE(study.run("kept", set + " --keep-checkpoints").exit_code == 0);
  CHECK(study.result("kept") == study.result("out"));
  StudyResults results(StudyFolder(study.directory.path("out")));
  const RunResult* run = results.find("alone/seed-1");
  REQUIRE(run != nullptr);
  CHECK(run->splits.size() == 2);
  const Study read = load_study(study.file, {"train.evaluate_splits=[test]"});
  const auto loss = metric_value(read, read.metric("test_loss"), 0, *run);
  REQUIRE(loss.has_value());

  const Outcome evaluated =
      program("eval " + study.directory.path("kept/runs/alone/seed-1") + " --split test --checkpoint last --json");
  CAPTURE(evaluated.output);
  REQUIRE(evaluated.exit_code == 0);
  CHECK(nlohmann::json::parse(evaluated.output)["loss"] == loss->low);

  const std::string file = study.directory.path("out/runs/alone/seed-1/summary.json");
  auto summary = nlohmann::json::parse(read_file(file));
  summary["splits"]["test"]["loss"] = 0;
  write_file_atomically(file, summary.dump());
  StudyResults changed(StudyFolder(study.directory.path("out")));
  CHECK_THROWS_WITH_AS(changed.find("alone/seed-1"),
                       doctest::Contains("summary.json: was changed after the run; remove the run's folder"), Error);
}

TEST_CASE("what a run spent until a target is read from what it left") {
  const StudyRun study(
      StudyFile::whole("seeds: 1\nmetrics:\n  - {name: tokens, kind: tokens_to, target: 100}\n"
                       "  - {name: seconds, kind: seconds_to, target: 100}\n"));
  REQUIRE(study.run("out", "--set train.evaluate_every=5").exit_code == 0);
  const Study read = load_study(study.file);
  StudyResults results(StudyFolder(study.directory.path("out")));
  const RunResult* run = results.find("alone/seed-1");
  REQUIRE(run != nullptr);
  REQUIRE(run->metrics.evaluations.size() == 4);
  const auto tokens = metric_value(read, read.metric("tokens"), 0, *run);
  const auto seconds = metric_value(read, read.metric("seconds"), 0, *run);
  REQUIRE(tokens.has_value());
  REQUIRE(seconds.has_value());
  CHECK(tokens->known());
  CHECK(tokens->low >= 5 * 4 * 2);  // updates of four pairs of a token and the end at least
  CHECK(seconds->known());
  CHECK(seconds->low > 0);
  CHECK(seconds->low < run->summary.at("wall_seconds"));

  const std::string file = study.directory.path("out/runs/alone/seed-1/summary.json");
  auto summary = nlohmann::json::parse(read_file(file));
  summary["evaluation_seconds"]["5th"] = 1;
  write_file_atomically(file, summary.dump());
  StudyResults damaged(StudyFolder(study.directory.path("out")));
  CHECK_THROWS_WITH_AS(damaged.find("alone/seed-1"),
                       doctest::Contains("summary.json: 'evaluation_seconds' has '5th' for the number of an update; "),
                       Error);
}

TEST_CASE("the command of a report makes the study again") {
  const StudyRun study(StudyFile::whole("seeds: 1\nquick: {set: {train.updates: 10}}\n"));
  const std::string file = study.directory.path("what's $HOME new.yaml");
  fs::rename(study.file, file);
  // Begun with a relative path, reported from somewhere else.
  const std::string there = "cd '" + fs::path(file).parent_path().string() + "' && " + SURD_EXECUTABLE;
  REQUIRE(shell(there + " study run \"what's \\$HOME new.yaml\" --quick --set 'train.batch_size=5' --out 'a b'")
              .exit_code == 0);
  REQUIRE(program("study report '" + study.directory.path("a b") + "'").exit_code == 0);
  const std::string page = read_file(study.directory.path("a b/report.html"));
  const std::string before = "To repeat it</h3><pre class=\"scroll\" tabindex=\"0\">";
  const std::size_t begin = page.find(before) + before.size();
  std::string command = page.substr(begin, page.find("</pre>", begin) - begin);
  for (const auto& [escaped, plain] : {std::pair("&#39;", "'"), std::pair("&apos;", "'"), std::pair("&amp;", "&")})
    command = replace_all(command, escaped, plain);
  REQUIRE(command.rfind("surd study run ", 0) == 0);
  const std::string elsewhere = study.directory.path("elsewhere");
  fs::create_directories(elsewhere);
  const Outcome again =
      shell("surd() { " + std::string(SURD_EXECUTABLE) + " \"$@\"; }; cd '" + elsewhere + "' && " + command);
  CHECK_MESSAGE(again.exit_code == 0, command << '\n' << again.output);
  const std::string run = "/runs/alone/seed-1/config.yaml";
  CHECK(read_file(elsewhere + "/a b-again" + run) == read_file(study.directory.path("a b") + run));
}

TEST_CASE("study export prints rows, or a table of verdicts") {
  const StudyRun study(StudyFile::whole(
      "seeds: 1\nmetrics: [{name: loss, kind: final_value}]\nhypotheses: [{name: The loss is low, kind: value, "
      "metric: loss, expect: at_most, formula: '9'}]\n"));
  REQUIRE(study.run("out", "--anyway").exit_code == 0);
  const std::string folder = study.directory.path("out");
  CHECK(program("study export " + folder).output.rfind("run,settings,seed,", 0) == 0);
  CHECK(contains(program("study export --latex " + folder).output, "  The loss is low & "));
  CHECK(contains(program("study export --markdown " + folder).output, "| The loss is low | "));
  const Outcome both = program("study export --markdown --latex " + folder);
  CHECK(both.exit_code == 2);
  CHECK(contains(both.output, "--markdown: is given beside --latex; give one of them"));
}

TEST_CASE("status and report know the folder of a group") {
  const StudyRun study(
      StudyFile::whole("seeds: 1\n"
                       "metrics: [{name: loss, kind: final_value}]\n"
                       "hypotheses:\n"
                       "  - {name: Low, claim: 3, kind: value, metric: loss, expect: at_most, formula: '9'}\n"
                       "  - {name: 'Is it <1>?', kind: value, metric: loss, expect: at_most, formula: '1'}\n"));
  study.directory.write("and #2.yaml", read_file(study.file));
  study.directory.write("group.yaml", "question: Is <it> so?\nstudies: [study, 'and #2']\n");
  const std::string folder = study.directory.path("all");
  REQUIRE(program("study run " + study.directory.path("group.yaml") + " --anyway --out " + folder).exit_code == 0);
  const Outcome status = program("study status " + folder);
  CHECK(status.exit_code == 0);
  CHECK(status.output.rfind("Is <it> so?\n\nstudy\nA study\n", 0) == 0);
  CHECK(contains(status.output, "\nand #2\n"));

  for (const char* file : {"/report.html", "/report.md", "/verdicts.json", "/study/report.html"})
    REQUIRE(fs::remove(folder + file));
  const Outcome report = program("study report " + folder);
  CHECK(report.exit_code == 0);
  CHECK(contains(report.output, "Is <it> so?\n  undecided  Claim 3: The factor balances tokens and positions\n"));
  CHECK(fs::exists(folder + "/study/report.html"));
  const std::string page = read_file(folder + "/report.html");
  CHECK(contains(page, "<h1>Is &lt;it&gt; so?</h1>"));
  CHECK(contains(page, "<p class=\"answer\">The claim is undecided.</p>"));
  CHECK(contains(page, "<a href=\"study/report.html#hypothesis-1\">Low</a>"));
  CHECK(contains(page, "<a href=\"and%20%232/report.html#hypothesis-2\">Is it &lt;1&gt;?</a>"));
  CHECK(contains(page, "<h2>Beside the claims</h2>"));
  CHECK_FALSE(contains(page, "Unfinished"));
  CHECK(contains(read_file(folder + "/verdicts.json"), "\"answer\": \"The claim is undecided.\""));

  fs::remove_all(folder + "/and #2");
  CHECK(contains(program("study status " + folder).output, "\nand #2: not begun\n"));
  REQUIRE(program("study report " + folder).exit_code == 0);
  CHECK(contains(read_file(folder + "/report.html"), "<strong>Unfinished:</strong> not begun: and #2; everything"));
  study.directory.write("all/group.json", "{\"question\": 3}");
  const Outcome damaged = program("study status " + folder);
  CHECK(damaged.exit_code == 1);
  CHECK(contains(damaged.output, "all/group.json"));
}

const std::string two_arms =
    StudyFile::whole("arms: [{name: a}, {name: b, set: {model.embedding.scale: one}}]\nseeds: 2\n");
const std::string three_arms = StudyFile::whole(
    "axes: [{name: way, levels: [{name: none}, {name: one, set: {model.embedding.scale: one}}, {name: hot, set: "
    "{optimizer.learning_rate: 1e+30}}]}]\nseeds: 2\n");

/// Runs `first` in the folder "first", and has another study to run that may take its runs.
struct Reuse : StudyRun {
  explicit Reuse(const std::string& first = two_arms, const std::string& second = three_arms) : StudyRun(first) {
    REQUIRE(run("first").exit_code == 0);
    write(second);
  }
  std::string path(const std::string& name) const { return directory.path(name); }
  Outcome take(const std::string& folder, const std::string& more = "") const {
    return run(folder, "--reuse " + path("first") + " " + more);
  }
  /// Writes another value into the summary of a run of the first study.
  void set_fact(const std::string& id, const std::string& key, const nlohmann::json& value) const {
    const std::string file = path("first/runs/" + id + "/summary.json");
    auto summary = nlohmann::ordered_json::parse(read_file(file));
    REQUIRE(summary.contains(key));
    summary[key] = value;
    std::ofstream(file) << summary.dump(2) << "\n";
  }
  /// The run that a run was taken from, or "" where it was made.
  std::string source(const std::string& folder, const std::string& id) const {
    return StudyFolder(path(folder)).read_outcome(id).reused_from;
  }
};

TEST_CASE("a study takes equal runs from another study's folder, with their bytes, and then stands alone") {
  const Reuse study;
  REQUIRE(study.run("alone").exit_code == 0);
  const Outcome listed = study.take("second", "--dry-run");
  CHECK(contains(listed.output, "\n6 runs; 4 can be reused\n"));
  CHECK_FALSE(fs::exists(study.path("second")));
  const Outcome taken = study.take("second");
  CAPTURE(taken.output);
  CHECK(taken.exit_code == 0);
  CHECK(contains(taken.output, "runs        2 to make, 4 to reuse from other studies\n"));
  CHECK(contains(taken.output, "6 of 6 runs made: 4 finished, 2 diverged, 0 failed; 4 reused from other studies\n"));
  CHECK(study.source("second", "way=one/seed-2") == study.path("first/runs/arm=b/seed-2"));
  CHECK(study.source("second", "way=hot/seed-2").empty());
  auto files = study.result("alone"), again = study.result("second");
  CHECK(files.size() == again.size());
  for (const auto& [name, text] : files)
    if (fs::path(name).filename() != "outcome.json") CHECK(again[name] == text);
  const std::string other = "first/runs/arm=a/seed-1/", own = "second/runs/way=none/seed-1/";
  for (const char* name : {"metrics.jsonl", "summary.json", "log.txt", "vocabulary/target.txt"})
    CHECK(read_file(study.path(own + name)) == read_file(study.path(other + name)));

  CHECK(contains(program("study status " + study.path("second")).output, "; 4 reused"));
  CHECK(contains(read_file(study.path("second/report.md")), "0 not ended; 4 taken from other studies. 2 seeds"));
  CHECK(contains(read_file(study.path("second/verdicts.json")), "\"reused\": 4"));
  // Diverged runs are taken as well, and from a folder that took its own.
  const Outcome third = study.run("third", "--reuse " + study.path("second") + " --jobs 2");
  CHECK(contains(third.output, "4 finished, 2 diverged, 0 failed; 6 reused from other studies"));
  CHECK(StudyFolder(study.path("third")).read_outcome("way=hot/seed-1").message ==
        StudyFolder(study.path("second")).read_outcome("way=hot/seed-1").message);

  fs::remove_all(study.path("first"));
  CHECK(study.run("second", "--resume").exit_code == 0);
  CHECK(program("study report " + study.path("second")).exit_code == 0);
}

TEST_CASE("a run is made again where code, processor or data are others, its log changed, or it was resumed") {
  const Reuse study;
  study.set_fact("arm=a/seed-1", "git_commit", "0123456789ab");
  study.set_fact("arm=a/seed-2", "cpu", "another one");
  const std::string log = study.path("first/runs/arm=b/seed-1/metrics.jsonl"), text = read_file(log);
  std::ofstream(log) << text << text;
  study.set_fact("arm=b/seed-2", "resumed_at", 10);
  CHECK(contains(study.take("second", "--dry-run").output, "; 0 can be reused"));
  const Outcome made = study.take("second");
  CHECK(made.exit_code == 0);
  CHECK_FALSE(contains(made.output, "reuse"));
  CHECK(study.source("second", "way=none/seed-1").empty());

  std::ofstream(log) << text;
  study.set_fact("arm=b/seed-2", "resumed_at", 0);
  CHECK(contains(study.take("third", "--dry-run").output, "; 2 can be reused"));
  const std::string failed = study.path("first/runs/arm=b/seed-1/outcome.json");
  auto outcome = nlohmann::ordered_json::parse(read_file(failed));
  outcome["status"] = "failed";
  std::ofstream(failed) << outcome.dump();
  CHECK(contains(study.take("third", "--dry-run").output, "; 1 can be reused"));
  fs::remove(study.path("first/runs/arm=b/seed-2/data.json"));
  CHECK(contains(study.take("third", "--dry-run").output, "; 0 can be reused"));
  // A run that should keep its parameters is not taken from a study that kept none.
  CHECK(contains(study.run("kept", "--keep-checkpoints --dry-run --reuse " + study.path("second")).output,
                 "; 0 can be reused"));
}

TEST_CASE("runs on files are taken only while the files are what they were") {
  const StudyFile texts;
  const auto write = [&](const std::string& words) {
    for (const char* name : {"a.txt", "b.txt"}) texts.directory.write(name, words);
  };
  write("one two\nthree four\nfive six\nseven eight\n");
  std::string task = "{name: parallel_text";
  for (const char* split : {"train", "valid", "test"})
    task += fmt::format(", {0}_source: {1}, {0}_target: {2}", split, texts.directory.path("a.txt"),
                        texts.directory.path("b.txt"));
  const std::string study_text = "title: T\nseeds: 2\nbase:\n  task: " + task +
                                 "}\n  model: {d_model: 8, heads: 2, encoder_layers: 1, decoder_layers: 1}\n"
                                 "  train: {updates: 2, batch_size: 2}\n";
  const Reuse study(study_text, study_text);
  CHECK(contains(study.take("second", "--dry-run").output, "; 2 can be reused"));
  write("one two\nthree four\nfive six\nseven nine\n");
  CHECK(contains(study.take("second", "--dry-run").output, "; 0 can be reused"));
}

TEST_CASE("what can be taken is remembered, for --resume and further workers, and a wrong folder is told at once") {
  const Reuse study;
  const StudyFolder folder(study.path("second"));
  const StudySource source{study.file, {}, false, {}};
  folder.freeze(source, load_study(source), false, {study.path("first")});
  const Outcome worked = program("study work " + folder.path());
  CAPTURE(worked.output);
  CHECK(contains(worked.output,
                 "finished  way=one/seed-1\n          reused from " + study.path("first/runs/arm=b/seed-1")));
  for (const char* id : {"way=none/seed-2", "way=one/seed-1"}) {
    CHECK_FALSE(folder.read_outcome(id).reused_from.empty());
    fs::remove_all(folder.run(id));
  }
  fs::create_directories(unfinished_copy(folder.run("way=one/seed-1")));  // as a worker that was killed leaves it
  CHECK(
      contains(study.run("second", "--resume").output, "runs        0 to make, 2 to reuse from other studies, 4 made"));
  CHECK_FALSE(fs::exists(unfinished_copy(folder.run("way=one/seed-1"))));

  // One that is named later is remembered too.
  REQUIRE(study.run("late", "--set train.updates=21").exit_code == 0);
  fs::remove_all(study.path("late/runs/way=one"));
  REQUIRE(study.run("other", "--set train.updates=21").exit_code == 0);
  const Outcome late = study.run("late", "--set train.updates=21 --resume --reuse " + study.path("other"));
  CHECK(contains(late.output, "; 2 reused from other studies"));
  CHECK(StudyFolder(study.path("late")).reuse() == std::vector<std::string>{study.path("other")});

  const auto refused = [&](const std::string& name, const std::string& reason) {
    const Outcome outcome = study.run("new", "--reuse " + study.path(name));
    CHECK(outcome.exit_code == 2);
    CHECK(contains(outcome.output, reason));
    CHECK_FALSE(fs::exists(study.path("new")));
  };
  refused("nowhere", "there is no such folder");
  refused("first/runs", "is not the folder of a study");
  CHECK(contains(study.run("second", "--resume --reuse " + folder.path()).output, "is the study's own folder"));
  // All studies of a group at once: here the folder that holds every study of this test.
  CHECK(contains(study.run("group", "--dry-run --reuse " + study.directory.path(".")).output, "; 6 can be reused"));
}

TEST_CASE("a joint tuning runs to its report, which says how flat the optimum is") {
  const StudyRun study(StudyFile::whole(
      "arms: [{name: a}, {name: b, set: {model.embedding.scale: one}}]\nseeds: 1\n"
      "metrics:\n  - {name: loss, kind: final_value}\n"
      "tuning: {metric: loss, seeds: 2, search: jointly, settings: 3, axes: [{name: rate, key: "
      "optimizer.learning_rate, values: [0.001, 0.01]}, {name: decay, key: train.clip_norm, values: [0.5, 1]}]}\n"));
  const Outcome outcome = study.run("a");
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK(contains(outcome.output, "3 of 4 settings jointly"));
  CHECK(contains(outcome.output, "with all of the tuning at most 16"));
  const std::string report = read_file(study.directory.path("a/report.md"));
  CHECK(
      contains(report,
               "| Arm | Best | At the edge of the grid | Settings tried | Ahead of the next by | Others not told apart "
               "| Runs |\n"));
  CHECK(contains(report, "| yes | 3 | "));
  const auto verdicts = nlohmann::json::parse(read_file(study.directory.path("a/verdicts.json")));
  REQUIRE(verdicts["tuned"].size() == 2);
  CHECK(verdicts["tuned"][1]["flatness"]["tried"] == 3);
  CHECK(verdicts["tuned"][1]["flatness"]["ahead"].get<double>() >= 0);
  CHECK(verdicts["tuned"][1]["flatness"]["not_told_apart"].is_number());
  const std::string page = read_file(study.directory.path("a/report.html"));
  CHECK(contains(page, "Each point is the best of the settings with this rate that were tried."));
  CHECK(contains(page, "How flat the optimum is: arm=a: "));
}

TEST_CASE("a study that takes runs and is killed again and again ends as one that was never killed") {
  const Reuse study(two_arms, tuned_study);
  REQUIRE(study.run("whole", "--jobs 1").exit_code == 0);
  fs::create_directories(study.path("killed/runs"));  // what is left where it was killed before study.json was written
  CHECK(StudyFolder(study.path("killed")).only_prepared());
  std::mt19937 chance(7);
  const std::string sources = "--reuse " + study.path("whole") + " --reuse " + study.path("first");
  for (int i = 0; i < 10; ++i) {
    const pid_t parent = start({"study", "run", study.file, "--out", study.path("killed"), "--resume", "--jobs", "2",
                                "--reuse", study.path("whole"), "--reuse", study.path("first")});
    wait_milliseconds(static_cast<int>(20 + chance() % 100));
    ::kill(parent, SIGKILL);
    ::waitpid(parent, nullptr, 0);
  }
  const Outcome last = study.run("killed", "--resume " + sources);
  CAPTURE(last.output);
  CHECK(last.exit_code == 0);
  auto whole = study.result("whole"), killed = study.result("killed");
  CHECK(whole.size() == killed.size());
  for (const auto& [name, text] : whole)
    if (fs::path(name).filename() != "outcome.json") CHECK(killed[name] == text);
  CHECK(StudyFolder(study.path("killed")).read_outcome("scale=one,rho=low/seed-1").reused_from ==
        study.path("whole/runs/scale=one,rho=low/seed-1"));
}

TEST_CASE("the folder of a group and that of a study are told apart") {
  const StudyRun study(StudyFile::whole("seeds: 1\n"));
  study.directory.write("group.yaml", "question: A question?\nstudies: [study]\n");
  const std::string group = "study run " + study.directory.path("group.yaml") + " --out ";
  REQUIRE(program(group + study.directory.path("all")).exit_code == 0);
  const Outcome work = program("study work " + study.directory.path("all"));
  CHECK(work.exit_code == 2);
  CHECK(contains(work.output, "is the folder of a group of studies; name one of them in it: study"));
  const Outcome inside = program(group + study.directory.path("all/study") + " --resume");
  CHECK(inside.exit_code == 2);
  CHECK(contains(inside.output, "holds a single study; name another folder by --out"));
}

}  // namespace
