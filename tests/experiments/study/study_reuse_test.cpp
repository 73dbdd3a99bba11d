#include "experiments/study/execution/reuse.hpp"
#include "experiments/study/execution/run_files.hpp"
#include "tests/experiments/study/study_process.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include <random>

namespace {

using namespace surd;
using namespace surd::test;

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
    return read_outcome(StudyFolder(path(folder)).run(id)).reused_from;
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
  CHECK(read_outcome(StudyFolder(study.path("third")).run("way=hot/seed-1")).message ==
        read_outcome(StudyFolder(study.path("second")).run("way=hot/seed-1")).message);

  fs::remove_all(study.path("first"));
  CHECK(study.run("second", "--resume").exit_code == 0);
  CHECK(program("study report " + study.path("second")).exit_code == 0);
}

TEST_CASE("a run that is reused brings its event files along") {
  const std::string text = two_arms + "set: {train.tensorboard: true}\n";
  const Reuse study(text, text);
  REQUIRE(study.take("second").exit_code == 0);
  const std::string id = "arm=a/seed-1", source = study.path("first/runs/" + id);
  REQUIRE(study.source("second", id) == source);
  std::size_t files = 0;
  for (const std::string& name : names_in(source)) {
    if (name.rfind("events.out.tfevents.", 0) != 0) continue;
    ++files;
    CHECK(read_file(study.path("second/runs/" + id + "/" + name)) == read_file(source + "/" + name));
  }
  CHECK(files == 1);
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
  outcome.erase("hash");
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
    CHECK_FALSE(read_outcome(folder.run(id)).reused_from.empty());
    fs::remove_all(folder.run(id));
  }
  fs::create_directories(folder.attempts("way=one/seed-1") + "/killed.1");  // as a worker that was killed leaves it
  CHECK(
      contains(study.run("second", "--resume").output, "runs        0 to make, 2 to reuse from other studies, 4 made"));
  CHECK_FALSE(fs::exists(folder.path() + "/attempts"));

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
  CHECK(read_outcome(StudyFolder(study.path("killed")).run("scale=one,rho=low/seed-1")).reused_from ==
        study.path("whole/runs/scale=one,rho=low/seed-1"));
}

}  // namespace
