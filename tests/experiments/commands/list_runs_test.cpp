#include "tests/experiments/study/study_process.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

using namespace surd;
using namespace surd::test;

namespace {

/// A folder with runs, of which only the files that are looked at are there.
struct RunsMadeByHand {
  TemporaryDirectory folder;

  void add(const std::string& name, std::size_t d_model, const std::string& summary) const {
    std::filesystem::create_directories(folder.path(name));
    folder.write(name + "/config.yaml", fmt::format("seed: 1\nmodel:\n  d_model: {}\n", d_model));
    folder.write(name + "/data.json", "{}");
    if (!summary.empty()) folder.write(name + "/summary.json", summary);
  }
  static std::string summary(bool finished, double loss, const std::string& diverged = "null") {
    return fmt::format(
        "{{\"finished\": {}, \"diverged\": {}, \"updates\": 300, \"parameters\": 99, \"wall_seconds\": 90, \"best\": "
        "{{\"loss\": {}}}, \"last\": {{\"loss\": {}, \"token_accuracy\": 0.5, \"bleu\": 31.25}}, \"splits\": {{}}}}",
        finished, diverged, loss / 2, loss);
  }
  std::string list(const std::string& more) const { return program("list runs " + folder.path() + " " + more).output; }
  std::map<std::string, nlohmann::json> by_name(const std::string& more = "") const {
    std::map<std::string, nlohmann::json> rows;
    for (const auto& row : nlohmann::json::parse(list(more + " --json"))) rows[row["name"].get<std::string>()] = row;
    return rows;
  }
};

std::vector<std::string> first_words(const std::string& table) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < table.size(); begin = table.find('\n', begin) + 1)
    words.push_back(table.substr(begin, table.find(' ', begin) - begin));
  return words;
}

}  // namespace

TEST_CASE("list runs finds runs at any depth and says how each of them stands") {
  const RunsMadeByHand runs;
  runs.add("a", 32, RunsMadeByHand::summary(true, 0.5));
  runs.add("deep/down/b", 64, RunsMadeByHand::summary(false, 0.25));
  runs.add("c", 16, RunsMadeByHand::summary(false, 2, "{\"update\": 7, \"where\": \"x\"}"));
  runs.add("killed", 16, "");
  runs.folder.write("killed/metrics.jsonl", "");
  std::filesystem::create_directory(runs.folder.path("killed/checkpoints"));
  runs.folder.write("killed/checkpoints/update-00000040.safetensors", "");
  runs.add("going", 16, "");
  runs.add("lost", 16, RunsMadeByHand::summary(true, 1));
  std::filesystem::remove(runs.folder.path("lost/config.yaml"));
  runs.add("torn", 16, "{\"finished\":");
  runs.add("failed", 16, "");
  runs.folder.write("failed/outcome.json",
                    "{\"status\": \"failed\", \"message\": \"\", \"updates\": 5, \"vocabulary\": 0, \"hashes\": {}}");
  runs.folder.write("notes.txt", "none of these");
  File lock(runs.folder.path("going/lock"), O_RDWR | O_CREAT);
  REQUIRE(lock.lock());

  const auto rows = runs.by_name();
  CHECK(rows.size() == 8);
  CHECK(rows.at("a")["status"] == "finished");
  CHECK(rows.at("a")["updates"] == 300);
  CHECK(rows.at("a")["loss"] == 0.5);
  CHECK(rows.at("a")["minutes"] == 1.5);
  CHECK(rows.at("a")["path"] == runs.folder.path("a"));
  CHECK(rows.at("deep/down/b")["status"] == "stopped");
  CHECK(rows.at("c")["status"] == "diverged");
  CHECK(rows.at("killed")["status"] == "stopped");
  CHECK(rows.at("killed")["updates"] == 40);  // of its checkpoint
  CHECK(rows.at("killed")["loss"].is_null());
  CHECK(rows.at("going")["status"] == "running");
  CHECK(rows.at("failed")["status"] == "failed");
  CHECK(rows.at("lost")["status"] == "damaged");
  CHECK(contains(rows.at("lost")["problem"].get<std::string>(), "lost: has no config.yaml"));
  CHECK(rows.at("torn")["status"] == "damaged");
  CHECK(contains(rows.at("torn")["problem"].get<std::string>(),
                 "torn/summary.json: is not a JSON object; remove it and write it anew by"));

  const std::string table = runs.list("");
  CAPTURE(table);
  CHECK(table.rfind("name         status    updates  loss    tokens %  BLEU   minutes  when  ", 0) == 0);
  CHECK(contains(table, "\na            finished  300      0.5000  50.00     31.25  1.5      20"));
  CHECK(contains(table, "\ngoing        running   -        -       -         -      -        20"));
}

TEST_CASE("rows are sorted by what a run measured or was set to, and columns are added") {
  const RunsMadeByHand runs;
  runs.add("a", 128, RunsMadeByHand::summary(true, 0.5));
  runs.add("b", 64, RunsMadeByHand::summary(true, 0.25));
  runs.add("c", 512, RunsMadeByHand::summary(true, 1));
  runs.add("d", 16, "");
  using Words = std::vector<std::string>;
  CHECK(first_words(runs.list("")) == Words{"name", "a", "b", "c", "d"});
  CHECK(first_words(runs.list("--sort loss")) == Words{"name", "b", "a", "c", "d"});
  CHECK(first_words(runs.list("--sort best.loss --reverse")) == Words{"name", "c", "a", "b", "d"});
  CHECK(first_words(runs.list("--sort model.d_model")) == Words{"name", "d", "b", "a", "c"});  // as numbers
  const auto rows = runs.by_name("--columns model.d_model,parameters");
  CHECK(rows.at("c")["model.d_model"] == 512);
  CHECK(rows.at("c")["parameters"] == 99);
  CHECK(rows.at("d")["parameters"].is_null());
  const std::string csv = runs.list("--csv --columns model.d_model");
  CHECK(csv.rfind("name,status,updates,loss,token_accuracy,bleu,minutes,when,model.d_model\n", 0) == 0);
  CHECK(contains(csv, "\na,finished,300,0.5,0.5,31.25,1.5,20"));
  CHECK(contains(csv, "\nd,stopped,,,,,,20"));
  const Outcome unknown = program("list runs " + runs.folder.path() + " --sort los");
  CHECK(unknown.exit_code == 2);
  CHECK(contains(unknown.output, "--sort: nothing here has 'los'; did you mean 'loss'?"));
  CHECK(contains(runs.list("--columns model.d_modle"), "--columns: nothing here has 'model.d_modle'; did you mean"));
}

TEST_CASE("a study is a row, its runs are listed in its folder, and folders without runs are no error") {
  const StudyRun study(StudyFile::whole("seeds: 2\nmetrics: [{name: loss}]\n"));
  REQUIRE(study.run("study").exit_code == 0);
  const auto list = [](const std::string& folder, const std::string& more = "") {
    return nlohmann::json::parse(program("list runs " + folder + " --json" + more).output);
  };
  const auto row = list(study.directory.path(), " --columns title");
  REQUIRE(row.size() == 1);
  CHECK(row[0]["name"] == "study");
  CHECK(row[0]["status"] == "finished");
  CHECK(row[0]["made"] == 2);
  CHECK(row[0]["planned"] == 2);
  CHECK(row[0]["title"] == "A study");
  const auto runs = list(study.directory.path("study"));
  REQUIRE(runs.size() == 2);
  CHECK(runs[0]["name"] == "runs/alone/seed-1");
  CHECK(runs[0]["status"] == "finished");
  CHECK(runs[1]["loss"].is_number());

  study.directory.write("study/study.json", "{}");  // damaged
  CHECK(list(study.directory.path())[0]["status"] == "damaged");
  const TemporaryDirectory empty;
  const Outcome none = program("list runs " + empty.path());
  CHECK(none.exit_code == 0);
  CHECK(contains(none.output, "there are no runs in "));
  CHECK(list(empty.path()).empty());
  const Outcome nowhere = program("list runs " + empty.path("nowhere"));
  CHECK(nowhere.exit_code == 2);
  CHECK(contains(nowhere.output, "is no folder"));
}
