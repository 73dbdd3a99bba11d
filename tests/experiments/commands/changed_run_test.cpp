// What is told of a run whose files were changed after it was trained.
#include "tests/experiments/commands/trained_run.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using namespace surd;
using namespace surd::test;

namespace {

void replace_in(const std::string& file, const std::string& before, const std::string& after) {
  std::string text = read_file(file);
  REQUIRE(contains(text, before));
  write_file_atomically(file, text.replace(text.find(before), before.size(), after));
}

}  // namespace

TEST_CASE("a config that was changed by hand is told of, and does not change when a finished run ends") {
  const TrainedRun run, other(" --set seed=2");
  const std::string config = run.path + "/config.yaml", resume = "train " + config + " --resume";
  const std::string text = read_file(config);
  const auto told = [&](const std::string& command) {
    return contains(program(command).output, config + " was changed since the run was trained (train.updates: 4 -> 8)");
  };
  const std::vector<std::string> readers = {"compare " + run.path + " " + other.path,
                                            "plot " + run.path + " --out " + run.folder.path("curves.svg"),
                                            "list runs " + run.folder.path(""), "show --json " + run.path};
  for (const std::string& command : readers) CHECK_FALSE(told(command));
  replace_in(config, "updates: 4", "updates: 8");
  for (const std::string& command : readers) {
    CAPTURE(command);
    CHECK(told(command));
  }
  const Outcome resumed = program(resume);
  CHECK(resumed.exit_code == 2);
  CHECK(contains(resumed.output, "--resume: " + config + " was changed since the run was trained"));
  CHECK(contains(resumed.output, "put it back as it was; what is to change is said by --set"));
  CHECK(program(resume + " --set train.updates=9").exit_code == 2);
  write_file_atomically(config, text);
  REQUIRE(program(resume + " --set train.updates=8").exit_code == 0);
  CHECK(read_file(config) != text);
  for (const std::string& command : readers) CHECK_FALSE(told(command));  // the run changed it itself
}

TEST_CASE("a run that is not finished does not go on with a config that was changed by hand") {
  const TrainedRun run;
  const std::string config = run.path + "/config.yaml";
  replace_in(run.path + "/summary.json", "\"finished\": true", "\"finished\": false");
  replace_in(config, "updates: 4", "updates: 8");
  const Outcome resumed = program("train " + config + " --resume");
  CHECK(resumed.exit_code == 2);
  CHECK(contains(resumed.output, "was changed since the run was trained (train.updates: 4 -> 8)"));
  // Of an older version's run nobody knows.
  replace_in(run.path + "/summary.json", "\"settings\"", "\"other\"");
  CHECK(program("train " + config + " --resume").exit_code == 0);
}

TEST_CASE("a log that lost its end is not taken for a whole one") {
  const TrainedRun run;
  const std::string log = run.path + "/metrics.jsonl", text = read_file(log);
  const std::string short_log = log + ": ends with the evaluation after update 2, and " + run.path +
                                "/summary.json knows of one after update 4: lines are missing; put the file back";
  write_file_atomically(log, text.substr(0, text.size() - 5));
  for (const std::string& command : {"export " + run.path + " --format csv", "plot " + run.path}) {
    const Outcome outcome = program(command);
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code != 0);
    CHECK(contains(outcome.output, short_log));
  }
  write_file_atomically(log, text);
  CHECK(program("export " + run.path + " --format csv").exit_code == 0);
}

TEST_CASE("a run whose checkpoints are gone does not begin again over its log") {
  const TrainedRun run;
  std::filesystem::remove_all(run.path + "/checkpoints");
  const std::string log = read_file(run.path + "/metrics.jsonl");
  const Outcome resumed = program("train " + run.path + "/config.yaml --resume --set train.updates=8");
  CAPTURE(resumed.output);
  CHECK(resumed.exit_code == 2);
  CHECK(contains(resumed.output, run.path + "/checkpoints: holds no checkpoint, though " + run.path +
                                     "/metrics.jsonl says that the run had come to update 4; put one back"));
  CHECK(read_file(run.path + "/metrics.jsonl") == log);

  const TrainedRun seldom(" --set train.checkpoint_every=4 --set train.log_every=50");
  std::filesystem::copy_file(seldom.path + "/checkpoints/best.safetensors", seldom.folder.path("best"));
  std::filesystem::remove_all(seldom.path + "/checkpoints");
  const std::string resume = "train " + seldom.path + "/config.yaml --resume --set train.updates=8";
  CHECK(contains(program(resume).output, "holds no checkpoint, though"));  // the best one was saved after 2 updates
  std::filesystem::create_directory(seldom.path + "/checkpoints");
  std::filesystem::copy_file(seldom.folder.path("best"), seldom.path + "/checkpoints/best.safetensors");
  const Outcome went_on = program(resume);
  CAPTURE(went_on.output);
  CHECK(went_on.exit_code == 0);
}
