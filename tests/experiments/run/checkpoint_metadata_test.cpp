#include "experiments/run/checkpoint_metadata.hpp"

#include "experiments/program/usage_error.hpp"
#include "experiments/run/run_folder.hpp"
#include "tests/experiments/run/small_run.hpp"
#include "tests/text.hpp"
#include "train/storage/average.hpp"
#include "train/storage/safetensors.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace surd;
using namespace surd::test;
namespace fs = std::filesystem;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a run whose config was changed by hand does not go on, and its checkpoints are not used") {
  SmallRun run;
  REQUIRE(run.train(run.arguments("whole")) == 0);
  TrainArguments arguments = run.arguments("run");
  arguments.after_update = [](std::uint64_t update) {
    if (update == 5) throw Killed();
  };
  CHECK_THROWS_AS(run.train(arguments), Killed);
  run.config = run.directory.path("run/config.yaml");
  const std::string path = run.directory.path("run"), text = read_file(run.config);
  const auto write = [&](const std::string& changed) { run.directory.write("run/config.yaml", changed); };
  const auto refusal = [&] { return message_of([&] { run.train(run.arguments("run", true)); }); };
  const auto unusable = [&] { return message_of([&] { const OpenRun opened(path, "best"); }); };

  write(replaced(text, "dropout: 0.1", "dropout: 0.3"));
  CHECK(contains(refusal(),
                 "update-00000004.safetensors was written, so the run cannot go on with them:\n"
                 "  model.dropout: 0.1 -> 0.3\nput them back as they were"));
  CHECK_NOTHROW(OpenRun(path, "best"));  // what it computes does not depend on that
  write(replaced(text, "scale: inv_sqrt_dim", "scale: one"));
  CHECK(contains(unusable(), "best.safetensors: was trained otherwise than " + path +
                                 " says:\n  model.attention.scale: inv_sqrt_dim -> one\n"
                                 "put its files back if they were changed; use another"));
  write(replaced(text, "label_smoothing: 0\n", "label_smoothing: 0.1\n"));
  CHECK(contains(refusal(), "\n  train.label_smoothing: 0 -> 0.1\n"));
  CHECK_NOTHROW(OpenRun(path, "best"));  // it does not depend on that
  write(text.substr(0, text.find("optimizer:")));
  CHECK(contains(refusal(), "\n  train.batch_size: 4 -> 64\n"));
  write(text.substr(0, text.find("  feed_forward:")));
  CHECK_FALSE(unusable().empty());

  write(text);
  CHECK(run.train(run.arguments("run", true)) == 0);
  CHECK(run.result("run") == run.result("whole"));
}

TEST_CASE("checkpoints are not used with other vocabularies, or in the folder of another model") {
  SmallRun run;
  REQUIRE(run.train(run.arguments("run")) == 0);
  run.settings = {"optimizer.learning_rate=0.01"};
  REQUIRE(run.train(run.arguments("faster")) == 0);
  run.settings = {"model.attention.scale=one"};
  REQUIRE(run.train(run.arguments("other")) == 0);
  const std::string path = run.directory.path("run");
  const auto best_of = [&](const std::string& name) {
    return run.directory.path(name + "/checkpoints/best.safetensors");
  };
  CHECK_NOTHROW(OpenRun(path, best_of("faster")));
  CHECK(contains(message_of([&] { const OpenRun opened(path, best_of("other")); }),
                 "\n  model.attention.scale: one -> inv_sqrt_dim\n"));

  const std::string text = read_file(run.directory.path("run/vocabulary/source.txt"));
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1, before = text.rfind('\n', last - 2) + 1;
  for (const char* name : {"run/vocabulary/source.txt", "run/vocabulary/target.txt"})
    run.directory.write(name, text.substr(0, before) + text.substr(last) + text.substr(before, last - before));
  CHECK(contains(message_of([&] { const OpenRun opened(path, "best"); }), "says:\n  other vocabularies\n"));

  // One that began with a checkpoint and was killed before its own first begins again with the same, or not at all.
  run.settings = {};
  TrainArguments arguments = run.arguments("begun");
  arguments.from = best_of("faster");
  arguments.after_update = [](std::uint64_t) { throw Killed(); };
  CHECK_THROWS_AS(run.train(arguments), Killed);
  for (const char* file_name : {"begun/vocabulary/source.txt", "begun/vocabulary/target.txt"})
    run.directory.write(file_name, read_file(run.directory.path("run/vocabulary/source.txt")));
  CHECK(contains(message_of([&] { run.train(run.arguments("begun", true)); }),
                 "was trained with other tokens than this config makes of text with the run's vocabularies"));

  TensorFile file = read_safetensors(best_of("run"));
  REQUIRE(file.metadata.erase("vocabulary") == 1);  // as of an older version
  REQUIRE(file.metadata.erase("settings") == 1);
  TensorFileView view;
  view.metadata = file.metadata;
  for (const auto& [tensor_name, tensor] : file.tensors) view.tensors.emplace_back(tensor_name, &tensor);
  write_file_atomically(best_of("run"), encode_safetensors(view));
  CHECK_NOTHROW(OpenRun(path, "best"));
}

TEST_CASE("elements of lists count, and keys that a newer version brings have their defaults") {
  const auto config = [](const std::string& text) {
    return ConfigFile(YamlDocument::parse("task: {name: copy}\n" + text, "config.yaml")).config;
  };
  const TextCodec codec{TextFormat(), Vocabulary(), Vocabulary()};
  const std::string group = "optimizer: {groups: [{match: '*', learning_rate_multiplier: 0}]}\n";
  const RunConfig plain = config(""), grouped = config(group);
  const auto changes = [&](const RunConfig& before, const RunConfig& after) {
    return difference("a checkpoint", checkpoint_metadata(before, codec), after, codec, Compared::all);
  };
  CHECK(contains(changes(plain, grouped), "optimizer.groups.0.learning_rate_multiplier: (not read) -> 0"));
  CHECK(contains(changes(grouped, plain), "optimizer.groups.0.learning_rate_multiplier: 0 -> (not read)"));
  CHECK(changes(grouped, grouped).empty());

  Checkpoints::Metadata older = checkpoint_metadata(plain, codec);
  nlohmann::json told = nlohmann::json::parse(older["settings"]);
  REQUIRE(told.erase("model.dropout") == 1);
  older["settings"] = told.dump();
  CHECK(difference("a checkpoint", older, plain, codec, Compared::all).empty());
  CHECK(difference("a checkpoint", older, config("model: {dropout: 0.2}\n"), codec, Compared::all) ==
        "\n  model.dropout: 0 -> 0.2");
  Checkpoints::Metadata damaged = older;
  damaged["settings"] = "[]";
  CHECK_THROWS_WITH_AS(difference("a checkpoint", damaged, plain, codec, Compared::all),
                       "a checkpoint: is not a JSON object; the settings in its metadata were changed by hand", Error);
}

TEST_CASE("how a model began and learned does not make it another") {
  const auto config = [](const std::string& text) {
    return ConfigFile(YamlDocument::parse("task: {name: copy}\n" + text, "config.yaml")).config;
  };
  const TextCodec codec{TextFormat(), Vocabulary(), Vocabulary()};
  const Checkpoints::Metadata metadata = checkpoint_metadata(config(""), codec);
  const auto changes = [&](const std::string& text) {
    return difference("a checkpoint", metadata, config(text), codec, Compared::model);
  };
  for (const char* same :
       {"model: {dropout: 0.3}\n", "model: {embedding: {init: {std: one}}}\n",
        "model: {embedding: {zero_padding: true}}\n", "model: {embedding: {learning_rate_multiplier: 2}}\n",
        "model: {attention: {output_gain: inv_sqrt_dim}}\n", "model: {positions: {max_length: 99}}\n",
        "optimizer: {learning_rate: 1}\n", "train: {label_smoothing: 0.1}\n"})
    CHECK_MESSAGE(changes(same).empty(), same);
  for (const char* other : {"model: {embedding: {scale: one}}\n", "model: {attention: {absorb_scale: true}}\n",
                            "model: {norm: {placement: post}}\n", "model: {heads: 2}\n"})
    CHECK_MESSAGE(!changes(other).empty(), other);
}

TEST_CASE("files that were moved, logs, and the end of a run do not make its checkpoints those of another") {
  const TemporaryDirectory directory;
  const auto config = [](const std::string& folder, const std::string& rest) {
    std::string text = "task: {name: parallel_text, subwords: {kind: words}";
    for (const char* name :
         {"train_source", "train_target", "valid_source", "valid_target", "test_source", "test_target"})
      text += fmt::format(", {}: {}/{}", name, folder, name);
    return ConfigFile(YamlDocument::parse(text + "}\n" + rest, "config.yaml")).config;
  };
  const TextCodec codec{TextFormat(), Vocabulary(), Vocabulary()};
  const Checkpoints::Metadata metadata = checkpoint_metadata(config("here", ""), codec);
  const auto changes = [&](const RunConfig& after) {
    return difference("a checkpoint", metadata, after, codec, Compared::all);
  };
  CHECK(contains(changes(config("nowhere", "")), "task.test_source: here/test_source -> nowhere/test_source"));
  for (const char* name :
       {"train_source", "train_target", "valid_source", "valid_target", "test_source", "test_target"})
    directory.write(name, "a\n");
  CHECK(changes(config(directory.path(),
                       "train: {updates: 7, patience: 3, log_every: 1, tensorboard: true}\n"
                       "probe: {every: 2}\n"))
            .empty());
  CHECK(changes(config("here", "train: {clip_norm: 2}\n")) == "\n  train.clip_norm: 1 -> 2");
}

TEST_CASE("what is refused leaves the folder as it was; an average tells what its checkpoints do") {
  SmallRun run;
  REQUIRE(run.train(run.arguments("run")) == 0);
  const std::string folder = run.directory.path("run"), best = folder + "/checkpoints/best.safetensors";
  const std::string text = read_file(folder + "/config.yaml");
  fs::remove(best);
  fs::remove(folder + "/summary.json");  // which knows as well
  run.config = run.directory.write("run/config.yaml", replaced(text, "d_model: 8\n", "d_model: 16\n"));
  run.settings = {"train.updates=12"};
  CHECK(contains(message_of([&] { run.train(run.arguments("run", true)); }), "\n  model.d_model: 8 -> 16\n"));
  CHECK_FALSE(fs::exists(best));

  run.directory.write("run/config.yaml", text);
  const OpenRun opened(folder, "last");
  const std::string average = folder + "/checkpoints/average.safetensors";
  const std::vector<std::string> latest = Checkpoints(folder + "/checkpoints", 2).newest_first();
  average_checkpoints(latest, average, expect_same_model(folder, opened.config, opened.codec));
  Checkpoints::Metadata told = read_safetensors(average).metadata;
  CHECK(told.at("settings") == read_safetensors(latest.front()).metadata.at("settings"));
  CHECK(told.count("state") == 0);
  run.config = run.directory.write("small.yaml", small_config);
  run.settings = {"model.attention.scale=one"};
  REQUIRE(run.train(run.arguments("other")) == 0);
  const std::string other = run.directory.path("other/checkpoints/best.safetensors");
  CHECK(contains(
      message_of([&] {
        average_checkpoints({latest.front(), other}, average, expect_same_model(folder, opened.config, opened.codec));
      }),
      "model.attention.scale: one -> inv_sqrt_dim"));
}

}  // namespace
