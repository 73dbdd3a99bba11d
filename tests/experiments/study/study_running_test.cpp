#include "experiments/study/execution/study_results.hpp"
#include "tests/experiments/study/study_process.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <random>
#include <set>
#include <sstream>

namespace {

using namespace surd;
using namespace surd::test;

/// Whether a worker has begun to train in the folder of an attempt.
bool begun_attempt(const std::string& study, const std::string& id) {
  const std::string attempts = StudyFolder(study).attempts(id);
  const std::vector<std::string> names = names_in(attempts);
  return !names.empty() && path_exists(attempts + "/" + names.front() + "/metrics.jsonl");
}

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

TEST_CASE("runs on data files that were changed meanwhile are not counted with the others") {
  const TemporaryDirectory files;
  const std::string lines = files.write("lines", "a b\nb a\nc a\n"), train = files.write("train", "a b\nb c\nc a\n");
  const StudyRun study(
      "title: T\nbase:\n"
      "  task: {name: parallel_text, train_source: " +
      train + ", train_target: " + train + ", valid_source: " + lines + ", valid_target: " + lines +
      ", test_source: " + lines + ", test_target: " + lines +
      "}\n"
      "  model: {d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: {width: 8}}\n"
      "  train: {updates: 2, batch_size: 2, evaluate_every: 1}\n"
      "seeds: 3\nmetrics: [{name: loss}]\n");
  REQUIRE(study.run("out").exit_code == 0);
  const std::string out = study.directory.path("out");
  REQUIRE(fs::remove_all(out + "/runs/alone/seed-2") > 0);
  REQUIRE(study.run("out", "--resume").exit_code == 0);  // they are what they were

  REQUIRE(fs::remove_all(out + "/runs/alone/seed-2") > 0);
  files.write("train", "a b\nb c\nc c\n");
  const Outcome changed = study.run("out", "--resume");
  CAPTURE(changed.output);
  CHECK(changed.exit_code == 1);
  CHECK(contains(changed.output, "3 of 3 runs made: 2 finished, 0 diverged, 1 failed"));
  CHECK(contains(changed.output, "the data are not those that the study's runs were made with before:"));
  CHECK(contains(changed.output, "train: "));
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
  CHECK(
      contains(refused.output, "(what is left of the runs it has: surd study work " + once.directory.path("a") + ")"));

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
  CHECK(contains(changed.output, "a/base/1.yaml: was changed after the study was begun, and its runs belong to what"));
  write_file_atomically(study.directory.path("a/base/1.yaml"), "train: {batch_size: 5}\n");

  // study.json and outcome.json cannot lose what guards the others.
  const auto edited = [&](const std::string& file, const std::function<void(nlohmann::ordered_json&)>& edit) {
    const std::string path = study.directory.path(file), before = read_file(path);
    auto json = nlohmann::ordered_json::parse(before);
    edit(json);
    write_file_atomically(path, json.dump(2) + "\n");
    const Outcome report = program("study report " + study.directory.path("a"));
    write_file_atomically(path, before);
    CAPTURE(report.output);
    CHECK((report.exit_code == 1) == contains(report.output, "error: "));
    return report.output;
  };
  for (const std::string key : {"hash", "base_hashes", "reuse", "set", "file"}) {
    CHECK(contains(edited("a/study.json", [&](auto& json) { json.erase(key); }), "a/study.json: "));
    CHECK(contains(edited("a/study.json", [&](auto& json) { json[key] = 5; }), "'" + key + "' is no"));
  }
  CHECK(contains(edited("a/study.json", [](auto& json) { json["base_hashes"].clear(); }),
                 "'base_hashes' has 0 of 1 files; it was changed or damaged"));
  CHECK(contains(edited("a/study.json", [](auto& json) { json["set"] = {"seed=7"}; }),
                 "'set' is not what the study was begun with; it was changed or damaged"));
  const std::string config = study.directory.path("a/runs/alone/seed-1/config.yaml"), own_config = read_file(config);
  write_file_atomically(config, own_config + "# and more\n");
  CHECK(
      contains(program("study report " + study.directory.path("a")).output, "config.yaml: was changed after the run"));
  write_file_atomically(config, own_config);
  const std::string outcome = "a/runs/alone/seed-1/outcome.json";
  const auto without_hash = [&](const char* key, const nlohmann::json& value) {
    return edited(outcome, [&](auto& json) { json.erase("hash"), json[key] = value; });
  };
  CHECK(contains(without_hash("hashes", nlohmann::json::object()), "metrics.jsonl: was changed after the run"));
  CHECK_FALSE(contains(edited(outcome, [](auto&) {}), "error: "));
  CHECK(
      contains(edited(outcome, [](auto& json) { json["vocabulary"] = 5; }), "outcome.json: was changed after the run"));
  // Older versions did not write these.
  CHECK_FALSE(contains(without_hash("vocabulary", 5), "error: "));
  CHECK_FALSE(
      contains(edited("a/study.json", [](auto& json) { json.erase("reuse"), json.erase("base_hashes"); }), "error: "));
}

TEST_CASE("runs that were moved to another arm or seed are noticed") {
  const StudyRun study(StudyFile::whole("arms: [{name: a}, {name: b, set: {model.embedding.scale: 2}}]\nseeds: 2\n"));
  REQUIRE(study.run("s").exit_code == 0);
  const std::string runs = study.directory.path("s/runs/");
  const auto readers = {"study report ", "study export ", "show "};
  const auto swap = [&](const std::string& one, const std::string& other) {
    fs::rename(runs + one, runs + "aside");
    fs::rename(runs + other, runs + one);
    fs::rename(runs + "aside", runs + other);
  };
  for (const auto& [one, other, key] : {std::tuple("arm=a", "arm=b", "model.embedding.scale: "),
                                        std::tuple("arm=a/seed-1", "arm=a/seed-2", "seed: 1 -> 2")}) {
    swap(one, other);
    for (const std::string command : readers) {
      const Outcome told = program(command + study.directory.path("s"));
      CAPTURE(command);
      CAPTURE(told.output);
      CHECK(told.exit_code == 1);
      CHECK(contains(told.output, "is not the config of this arm and seed:"));
      CHECK(contains(told.output, key));
    }
    swap(one, other);
  }
  for (const std::string command : readers) CHECK(program(command + study.directory.path("s")).exit_code == 0);
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
  for (const char* name : {"attempts", "leases", "workers"})
    CHECK_FALSE(fs::exists(study.directory.path("a") + "/" + name));

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
    for (int i = 0; i < 6000 && !begun_attempt(out, "alone/seed-1"); ++i) wait_milliseconds(5);
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

TEST_CASE("runs that crash are failed ones with their reason; those that diverge are results") {
  const StudyRun study(StudyFile::whole("seeds: 1\n"));
  const StudyFolder folder(study.directory.path("crash"));
  const StudySource source{study.file, {}, false, {}};
  folder.freeze(source, load_study(source), false);
  // A file that grows beyond this kills the process with a signal.
  const Outcome worker = shell("ulimit -f 2; " + std::string(SURD_EXECUTABLE) + " study work " + folder.path());
  CAPTURE(worker.output);
  CHECK(worker.exit_code == 1);
  CHECK(contains(worker.output, "will be tried again\n"));
  CHECK(contains(worker.output, "every run of the study has ended, 1 by failing"));
  StudyResults results(folder);
  const RunResult* crashed = results.find("alone/seed-1");
  REQUIRE(crashed != nullptr);
  CHECK(crashed->status == RunResult::Status::failed);
  CHECK(contains(crashed->message, "signal 25 (File size limit exceeded)"));
  const Outcome resumed = study.run("crash", "--resume");
  CHECK(resumed.exit_code == 1);
  CHECK(contains(resumed.output, "failed      alone/seed-1"));
  CHECK(contains(program("study retry " + folder.path()).output, "1 run that failed will be made again"));
  CHECK(contains(read_file(folder.path() + "/failed/alone/seed-1.1/outcome.json"), "\"failed\""));
  CHECK(study.run("crash", "--resume").exit_code == 0);
  CHECK(contains(program("study retry " + folder.path()).output, "no run has failed"));

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

TEST_CASE("the number of retries is that of the beginning") {
  const StudyRun study(StudyFile::whole("seeds: 1\n"));
  REQUIRE(study.run("out", "--retries 5").exit_code == 0);
  CHECK(study.run("out", "--resume --retries 5").exit_code == 0);
  const Outcome other = study.run("out", "--resume --retries 2");
  CHECK(other.exit_code == 2);
  CHECK(contains(other.output, "--retries: is fixed when a study is begun, and was 5 then"));
}

TEST_CASE("with --keep-checkpoints the runs can be used afterwards, and give the same numbers") {
  const StudyRun study(StudyFile::whole("seeds: 1\n"));
  REQUIRE(study.run("plain").exit_code == 0);
  REQUIRE(study.run("kept", "--keep-checkpoints").exit_code == 0);
  CHECK(study.result("kept") == study.result("plain"));
  const std::string run = study.directory.path("kept/runs/alone/seed-1");
  CHECK(program("eval " + run).exit_code == 0);
  const Outcome changed = program("train " + run + "/config.yaml --resume --set train.updates=40");
  CHECK(changed.exit_code == 2);
  CHECK(contains(changed.output, "is a run of a study, which counts it as it is"));
}

TEST_CASE("whoever counts the runs of a study plans by its probe where the tuning does") {
  const StudyRun study(StudyFile::whole(
      "seeds: 1\n"
      "tuning: {metric: std, seeds: 1, axes: [{name: rate, key: optimizer.learning_rate, values: [0.001, 0.01]}]}\n"
      "metrics:\n"
      "  - {name: std, kind: probe, path: encoder.0.self_attention, what: scores, statistic: std, at: last}\n"));
  REQUIRE(study.run("out", "--set probe.every=10").exit_code == 0);
  // One at the config's rate, two of the tuning, one at the rate that it chose.
  CHECK(contains(program("study status --json " + study.directory.path("out")).output, "\"planned\": 4"));
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

}  // namespace
