#include "experiments/config/config_error.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/metrics_reader.hpp"
#include "tests/experiments/run/small_run.hpp"
#include "train/storage/safetensors.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

namespace {

using namespace surd;
using namespace surd::test;
namespace fs = std::filesystem;

TEST_CASE("metrics are read as they were written, and anything else names its line") {
  SmallRun run;
  REQUIRE(run.train(run.arguments("run")) == 0);
  const std::string path = run.directory.path("run/metrics.jsonl"), text = read_file(path);
  const Metrics metrics = read_metrics(path);
  CHECK(metrics.updates.size() == 5);
  REQUIRE(metrics.evaluations.size() == 4);
  CHECK(metrics.updates.back().update == 10);
  CHECK(metrics.evaluations.back().loss ==
        nlohmann::json::parse(read_file(run.directory.path("run/summary.json")))["last"]["loss"].get<double>());
  CHECK(decode_metrics(text.substr(0, text.size() - 1), "m").evaluations.size() == 3);  // its last line is torn
  const auto error_of = [](const std::string& lines) -> std::string {
    try {
      decode_metrics(lines, "m");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string good =
      R"({"event":"evaluation","update":1,"loss":null,"perplexity":1,"token_accuracy":0,"best":true})"
      "\n";
  CHECK(error_of(good).empty());
  CHECK(std::isnan(decode_metrics(good, "m").evaluations.front().loss));
  CHECK_FALSE(decode_metrics(good, "m").evaluations.front().trained_target_tokens.has_value());
  const std::string way_out = "; the file was changed by hand: put the line back, or train again into another folder";
  CHECK(error_of(good + "{}\n") == "m:2: has no 'event'" + way_out);
  CHECK(error_of("\n") == "m:1: is not a JSON object" + way_out);
  CHECK(error_of("[]\n") == "m:1: is not a JSON object" + way_out);
  CHECK(error_of("{\"event\":1}\n") == "m:1: 'event' is not a text" + way_out);
  CHECK(error_of("{\"event\":\"x\"}\n").find("neither") != std::string::npos);
  CHECK(error_of("{\"event\":\"update\",\"update\":-1}\n") == "m:1: 'update' is not a count" + way_out);
}

TEST_CASE("an evaluation tells the target tokens until then, and the summary the seconds") {
  SmallRun run;
  run.settings = {"train.log_every=1", "train.evaluate_at_start=true"};
  REQUIRE(run.train(run.arguments("run")) == 0);
  const Metrics metrics = read_metrics(run.directory.path("run/metrics.jsonl"));
  const auto summary = nlohmann::json::parse(read_file(run.directory.path("run/summary.json")));
  const auto& seconds = summary["evaluation_seconds"];
  double before = 0;
  REQUIRE(metrics.evaluations.size() == 5);
  CHECK(seconds.size() == 5);
  for (const EvaluationRecord& evaluation : metrics.evaluations) {
    std::uint64_t tokens = 0;
    for (const UpdateRecord& update : metrics.updates)
      if (update.update <= evaluation.update) tokens += update.target_tokens;
    CHECK(evaluation.trained_target_tokens == tokens);
    const double after = seconds[std::to_string(evaluation.update)];
    CHECK(after >= before);
    before = after;
  }
  CHECK(before <= summary["wall_seconds"].get<double>());
  CHECK(summary["evaluation_share"].get<double>() > 0);
  CHECK(summary["evaluation_share"].get<double>() < 1);
}

TEST_CASE("a finished run is evaluated on the splits it names, also where it was resumed") {
  SmallRun run;
  REQUIRE(run.train(run.arguments("without")) == 0);
  run.settings = {"train.evaluate_splits=[test, valid]"};
  REQUIRE(run.train(run.arguments("with")) == 0);
  const auto summary_of = [&](const char* name) {
    return nlohmann::json::parse(read_file(run.directory.path(name) + "/summary.json"));
  };
  CHECK(summary_of("without")["splits"].empty());
  const auto with = summary_of("with");
  REQUIRE(with["splits"].size() == 2);
  CHECK(with["splits"]["valid"] == with["last"]);
  CHECK(with["splits"]["test"] != with["last"]);
  CHECK(with["splits"]["test"]["loss"].is_number());
  CHECK(read_file(run.directory.path("with/metrics.jsonl")) == read_file(run.directory.path("without/metrics.jsonl")));

  TrainArguments arguments = run.arguments("killed");
  arguments.after_update = [](std::uint64_t update) {
    if (update == 7) throw Killed();
  };
  CHECK_THROWS_AS(run.train(arguments), Killed);
  REQUIRE(run.train(run.arguments("killed", true)) == 0);
  CHECK(summary_of("killed")["splits"] == with["splits"]);
  fs::remove(run.directory.path("with/summary.json"));
  REQUIRE(run.train(run.arguments("with", true)) == 0);
  CHECK(summary_of("with")["splits"] == with["splits"]);
}

TEST_CASE("the splits to evaluate are looked for before a run begins") {
  const auto complaint = [](const std::string& splits, const std::string& more = "seed=1") -> std::string {
    SmallRun run;
    run.settings = {"task.name=reverse", "model.positions.kind=learned", more,
                    "train.evaluate_splits=[" + splits + "]"};
    try {
      run.train(run.arguments("run"));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  const auto told = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(complaint("test, train").empty());
  CHECK(told(complaint("test_short"), "evaluate_splits=[test_short]: the task has no split 'test_short' with pairs"));
  CHECK(told(complaint("tset"), "; did you mean 'test'?"));
  CHECK(told(complaint("test, test"), "'test' stands there twice; remove one"));
  const std::string few = "model.positions.max_length=4";
  CHECK(complaint("test", few).empty());
  CHECK(told(complaint("test, test_long", few), "the length of the longest pair ('"));
  CHECK(told(complaint("test, test_long", few), "' of test_long); got 4"));
}

TEST_CASE("a run whose log is removed ends with an error at its next checkpoint") {
  SmallRun run;
  TrainArguments arguments = run.arguments("run");
  arguments.after_update = [&](std::uint64_t update) {
    if (update == 2) fs::remove(run.directory.path("run/metrics.jsonl"));
  };
  CHECK(
      contains(message_of([&] { run.train(arguments); }),
               "run/metrics.jsonl: was removed or changed while the run wrote to it; train again into another folder"));
}

TEST_CASE("a batch size of null is none, and no run without a size of batches begins") {
  SmallRun run;
  run.settings = {"train.batch_size=null"};
  CHECK(contains(message_of([&] { run.train(run.arguments("run")); }),
                 "train.batch_size=null: must be a number where batch_tokens is none"));
  CHECK_FALSE(fs::exists(run.directory.path("run")));
  run.settings = {"train.batch_size=null", "train.batch_tokens=50"};
  CHECK(run.train(run.arguments("run")) == 0);
}

TEST_CASE("a run does not go on with other data, and says what changed") {
  SmallRun run;
  const auto write = [&](const char* name, const char* text) { run.directory.write(name, text); };
  std::string files;
  for (const char* name :
       {"train_source", "train_target", "valid_source", "valid_target", "test_source", "test_target"}) {
    write(name, "a b\nc a\nb\n");
    files += std::string(", ") + name + ": " + run.directory.path(name);
  }
  run.directory.write("small.yaml", "task: {name: parallel_text" + files + "}\n" +
                                        std::string(small_config).substr(std::string(small_config).find("model:")));
  REQUIRE(run.train(run.arguments("whole")) == 0);
  TrainArguments arguments = run.arguments("run");
  arguments.after_update = [](std::uint64_t update) {
    if (update == 5) throw Killed();
  };
  CHECK_THROWS_AS(run.train(arguments), Killed);
  const auto refusal = [&]() -> std::string {
    try {
      run.train(run.arguments("run", true));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  write("train_source", "a b\nc c\nb\n");
  CHECK(refusal().find("\n  train: other text in its 3 pairs\nput the files back") != std::string::npos);
  write("train_source", "a b\nc a\nb\n");
  for (const char* name : {"valid_source", "valid_target"}) write(name, "a b\nc a\n");
  CHECK(refusal().find("\n  valid: 3 -> 2 pairs\n") != std::string::npos);
  for (const char* name : {"valid_source", "valid_target"}) write(name, "a b\nc a\nb\n");
  // Where one line ends and the next begins is part of the text.
  write("train_target", "a\nb c\na b\n");
  CHECK_FALSE(refusal().empty());
  write("train_target", "a b\nc a\nb\n");
  write("test_source", "a\na\na\n");  // training does not look at it
  CHECK(run.train(run.arguments("run", true)) == 0);
  CHECK(run.result("run") == run.result("whole"));
  run.settings = {"train.evaluate_splits=[test]"};  // unless it is told to
  arguments = run.arguments("other");
  arguments.after_update = [](std::uint64_t) { throw Killed(); };
  CHECK_THROWS_AS(run.train(arguments), Killed);
  write("test_source", "a\na\nb\n");
  try {
    run.train(run.arguments("other", true));
    FAIL("it went on");
  } catch (const UsageError& error) {
    CHECK(std::string(error.what()).find("\n  test: other text in its 3 pairs\n") != std::string::npos);
  }
}

TEST_CASE("data.json that was damaged by hand names its key") {
  SmallRun run;
  TrainArguments arguments = run.arguments("run");
  arguments.after_update = [](std::uint64_t) { throw Killed(); };
  CHECK_THROWS_AS(run.train(arguments), Killed);
  const auto error_with = [&](const char* text) -> std::string {
    run.directory.write("run/data.json", text);
    try {
      run.train(run.arguments("run", true));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(error_with("{").find("data.json: is not a JSON object; ") != std::string::npos);
  CHECK(error_with("{\"train\": 1}").find("data.json: 'train' is not an object; ") != std::string::npos);
  CHECK(error_with("{\"train\": {\"pairs\": \"x\"}}").find("'train.pairs' is not a count; ") != std::string::npos);
}

TEST_CASE("the probe's records are of one batch of an update") {
  SmallRun run;
  REQUIRE(run.train(run.arguments("run")) == 0);  // accumulates two
  std::map<std::string, int> seen;
  std::istringstream lines(read_file(run.directory.path("run/probe.jsonl")));
  for (std::string line; std::getline(lines, line);) {
    auto record = nlohmann::json::parse(line);
    if (record["what"] == "scores" || record["what"] == "weights") {
      record.erase("value");
      ++seen[record.dump()];
    }
  }
  CHECK(seen.size() == 3 * 3 * 6);  // updates (1, 5 and 10), attentions, statistics
  for (const auto& record : seen) CHECK_MESSAGE(record.second == 1, record.first);
}

TEST_CASE("the probe watches update 1 and every multiple, before and after each is applied") {
  SmallRun run;
  run.settings = {"probe.every=4", "train.replicas=2"};
  REQUIRE(run.train(run.arguments("run")) == 0);
  const std::set<int> watched = {1, 4, 8};
  std::map<std::string, std::set<int>> updates;
  std::istringstream lines(read_file(run.directory.path("run/probe.jsonl")));
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line);
    CHECK_MESSAGE(record["value"].is_number(), line);
    updates[record["statistic"]].insert(record["update"].get<int>());
  }
  for (const char* statistic : {"rms", "gradient_rms", "norm", "gradient_norm", "gradient_norm_input", "update_ratio",
                                "update_ratio_touched", "entropy", "own_input", "rho", "squared_norm", "p95"})
    CHECK_MESSAGE(updates[statistic] == watched, statistic);
}

TEST_CASE("watching changes no bit of training, and who does not watch has no probe.jsonl") {
  SmallRun run;
  run.settings = {"probe.every=0"};
  REQUIRE(run.train(run.arguments("off")) == 0);
  REQUIRE(run.train(run.arguments("off_again")) == 0);
  run.settings = {"probe.every=1"};
  REQUIRE(run.train(run.arguments("on")) == 0);
  const auto file = [&](const std::string& name) { return read_file(run.directory.path(name)); };
  CHECK_FALSE(fs::exists(run.directory.path("off/probe.jsonl")));
  for (const char* name : {"/checkpoints/best.safetensors", "/checkpoints/update-00000010.safetensors"}) {
    CHECK(file(std::string("off") + name) == file(std::string("off_again") + name));
    // Metadata tell how long probe.jsonl is; the tensors are the same.
    const TensorFile off = read_safetensors(run.directory.path(std::string("off") + name)),
                     on = read_safetensors(run.directory.path(std::string("on") + name));
    REQUIRE(off.tensors.size() == on.tensors.size());
    for (const auto& parameter : off.tensors)
      CHECK_MESSAGE(parameter.second == on.tensors.at(parameter.first), parameter.first);
  }
  CHECK(file("off/metrics.jsonl") == file("on/metrics.jsonl"));
}

TEST_CASE("an evaluation before the first update is logged as update 0, and once where the run is resumed") {
  SmallRun run;
  REQUIRE(run.train(run.arguments("without")) == 0);
  run.settings = {"train.evaluate_at_start=true"};
  REQUIRE(run.train(run.arguments("with")) == 0);
  TrainArguments arguments = run.arguments("killed");
  for (const std::uint64_t last : {2, 6}) {  // before the first checkpoint and after it
    arguments.resume = last == 6;
    arguments.after_update = [=](std::uint64_t update) {
      if (update == last) throw Killed();
    };
    CHECK_THROWS_AS(run.train(arguments), Killed);
  }
  REQUIRE(run.train(run.arguments("killed", true)) == 0);
  CHECK(run.result("killed") == run.result("with"));

  const std::string with = read_file(run.directory.path("with/metrics.jsonl"));
  const std::size_t first_line = with.find('\n') + 1;
  CHECK(with.substr(first_line) == read_file(run.directory.path("without/metrics.jsonl")));
  const EvaluationRecord start = decode_metrics(with, "with").evaluations.front();
  CHECK(start.update == 0);
  CHECK_FALSE(start.best);
}

TEST_CASE("a folder that the system does not show is an error with its name") {
  SmallRun run;
  fs::create_directory_symlink("circle", run.directory.path("circle"));  // to itself: root may not look either
  std::string message;
  try {
    run.train(run.arguments("circle"));
  } catch (const Error& error) {
    message = error.what();
  }
  CAPTURE(message);
  CHECK(message.find("circle: cannot be looked at: Too many levels of symbolic links; ") != std::string::npos);
}

}  // namespace
