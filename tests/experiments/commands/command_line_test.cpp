#include "../../data/temporary_directory.hpp"
#include "../program.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

using namespace surd;
using namespace surd::test;

namespace {

namespace fs = std::filesystem;

const char* const tiny =
    "task: {name: copy, train_size: 300, valid_size: 20, test_size: 20, vocabulary: 9, max_length: 3}\n"
    "model: {d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: {width: 16}, dropout: 0.1}\n"
    "train: {updates: 12, batch_size: 16, evaluate_every: 4, checkpoint_every: 3, log_every: 1}\n";

/// A folder with tiny.yaml in it, and the train command for it.
struct Workplace {
  TemporaryDirectory folder;
  std::string config = folder.path("tiny.yaml");
  std::string run = folder.path("run");

  Workplace() { write_file_atomically(config, tiny); }
  std::string train(const std::string& more = "") const { return "train " + config + " --out " + run + " " + more; }
};

/// Pages are too long to be shown where they differ.
void check_page(const std::string& command, const std::string& page) {
  const bool same = program(command).output == read_file(SURD_SOURCE_DIR "/" + page);
  CHECK_MESSAGE(same, page << " is not what surd " << command << " prints: write it anew by ./dev pages");
}

}  // namespace

TEST_CASE("train, then eval, translate, score, samples and compare") {
  const Workplace place;
  const Outcome trained = program(place.train());
  CAPTURE(trained.output);
  REQUIRE(trained.exit_code == 0);
  CHECK(contains(trained.output, "embedding x4 = sqrt(16)"));
  CHECK(contains(trained.output, "scores x0.3536 = 1/sqrt(8)"));
  CHECK(contains(trained.output, "tie: decoder"));
  CHECK_FALSE(contains(trained.output, "\033["));  // no colours into a pipe
  for (const char* file :
       {"config.yaml", "metrics.jsonl", "summary.json", "vocabulary/source.txt", "vocabulary/target.txt",
        "checkpoints/best.safetensors", "checkpoints/update-00000012.safetensors"})
    CHECK_MESSAGE(fs::exists(place.run + "/" + file), file);

  const auto summary = nlohmann::json::parse(read_file(place.run + "/summary.json"));
  CHECK(summary["finished"] == true);
  CHECK(summary["updates"] == 12);
  CHECK(summary["diverged"].is_null());
  CHECK(summary["peak_memory_bytes"] > 0);

  const auto eval = nlohmann::json::parse(program("eval " + place.run + " --split valid --json").output);
  CHECK(eval["loss"] == doctest::Approx(summary["best"]["loss"].get<double>()).epsilon(1e-6));
  CHECK(eval["token_accuracy"].is_number());
  CHECK(eval["sequence_accuracy"].is_number());

  const Outcome translated = shell("printf 'a b\\nc\\n' | " SURD_EXECUTABLE " translate " + place.run + " --beam 3");
  CHECK(translated.exit_code == 0);
  CHECK(std::count(translated.output.begin(), translated.output.end(), '\n') == 2);

  write_file_atomically(place.folder.path("s"), "a b\n");
  write_file_atomically(place.folder.path("t"), "a b\n");
  const auto scored = nlohmann::json::parse(
      program("score " + place.run + " --source " + place.folder.path("s") + " --target " + place.folder.path("t"))
          .output);
  REQUIRE(scored["tokens"] == nlohmann::json({"a", "b", "</s>"}));
  double total = 0;
  for (const double log_probability : scored["log_probs"]) total += log_probability;
  CHECK(scored["total"].get<double>() == doctest::Approx(total));
  CHECK(total < 0);

  write_file_atomically(place.run + "/data.json", [&] {
    auto data = nlohmann::json::parse(read_file(place.run + "/data.json"));
    data["valid"]["xxh3"] = std::string(16, '0');
    return data.dump();
  }());
  CHECK_FALSE(contains(program("eval " + place.run).output, "warning"));
  for (const std::string command : {"eval ", "samples "})
    CHECK(contains(program(command + place.run + " --split valid").output,
                   "the data are not those that the run was begun with:\n  valid: other text in its"));

  const Outcome samples = program("samples " + place.run + " --count 2");
  CHECK(contains(samples.output, "reference"));
  CHECK_FALSE(contains(samples.output, "warning"));
  CHECK(contains(program("compare " + place.run).output, "valid loss"));
}

TEST_CASE("the resolved config repeats the run to the same bytes") {
  const Workplace place;
  REQUIRE(program(place.train("--set seed=7")).exit_code == 0);
  const std::string again = place.folder.path("again");
  REQUIRE(program("train " + place.run + "/config.yaml --out " + again).exit_code == 0);
  CHECK(read_file(place.run + "/config.yaml") == read_file(again + "/config.yaml"));
  CHECK(read_file(place.run + "/metrics.jsonl") == read_file(again + "/metrics.jsonl"));
  CHECK(read_file(place.run + "/checkpoints/best.safetensors") == read_file(again + "/checkpoints/best.safetensors"));
}

TEST_CASE("an existing folder is not overwritten, and a finished run says so") {
  const Workplace place;
  REQUIRE(program(place.train()).exit_code == 0);
  const Outcome second = program(place.train());
  CHECK(second.exit_code == 2);
  CHECK(contains(second.output, "exists already; --resume goes on with it, --out names another folder"));
  const Outcome resumed = program(place.train("--resume"));
  CHECK(resumed.exit_code == 0);
  CHECK(contains(resumed.output, "already finished"));
  const Outcome changed = program(place.train("--resume --set train.updates=20"));
  CHECK(changed.exit_code == 0);
  CHECK(contains(changed.output,
                 "after update 12: train.updates: 12 -> 20\nschedule    inverse_sqrt over 20 updates, factor"));
  // Lines that look alike under different keys are told apart.
  const Outcome moved =
      program(place.train("--resume --set model.embedding.scale=one --set model.positions.scale=sqrt_dim"));
  CHECK(moved.exit_code == 2);
  CHECK(contains(moved.output, "model.embedding.scale: sqrt_dim -> one"));
  CHECK(contains(moved.output, "model.positions.scale: one -> sqrt_dim"));
  const Outcome nothing = program("train " + place.config + " --resume --out " + place.folder.path("nothing"));
  CHECK(nothing.exit_code == 0);
  CHECK(contains(nothing.output, "holds no run to go on with; beginning one"));
  const Outcome folder = program("train --resume " + place.run + "/");
  CHECK(folder.exit_code == 2);
  CHECK(contains(folder.output, place.run +
                                    "/: is the folder of a run, where a config belongs; to go on with it, name "
                                    "its config, " +
                                    place.run + "/config.yaml, and --resume"));
  std::filesystem::remove(place.run + "/data.json");  // so it is any folder with a config
  CHECK(contains(program("train " + place.run).output, place.run + ": is a folder; name a YAML file"));
  std::filesystem::create_symlink("loop", place.folder.path("loop"));
  CHECK(program("train " + place.folder.path("loop")).exit_code == 2);
}

TEST_CASE("a run that is killed, or asked to stop, resumes to the same bytes") {
  const Workplace place;
  const std::string longer =
      "train " + place.config +
      " --set train.updates=6000 --set train.evaluate_every=1000 --set train.checkpoint_every=100 --out ";
  const std::string whole = place.folder.path("whole");
  REQUIRE(program(longer + whole).exit_code == 0);
  struct Stop {
    const char* signal;
    int exit_code;
  };
  for (const Stop stop : {Stop{"KILL", 137}, Stop{"INT", 130}, Stop{"TERM", 143}}) {
    const std::string stopped = place.folder.path(stop.signal);
    // Through a file, not a pipe, so that the program is what the shell waits for.
    const Outcome outcome =
        shell("exec 3>/dev/null; " SURD_EXECUTABLE " " + longer + stopped + " >&3 2>&3 & pid=$!; while ! ls " +
              stopped + "/checkpoints/update-*.safetensors >/dev/null 2>&1; do sleep 0.01; done; kill -" + stop.signal +
              " $pid; wait $pid");
    CHECK(outcome.exit_code == stop.exit_code);  // it was not over yet
    const Outcome resumed = program(longer + stopped + " --resume");
    CAPTURE(resumed.output);
    CHECK(resumed.exit_code == 0);
    CHECK(contains(resumed.output, "resuming after update"));
    for (const char* file : {"/metrics.jsonl", "/checkpoints/update-00006000.safetensors"})
      CHECK(read_file(stopped + file) == read_file(whole + file));
  }
}

TEST_CASE("a run that cannot be trained leaves no folder behind") {
  const Workplace place;
  for (const char* setting : {"--set model.positions.max_length=3", "--set 'optimizer.groups=[{match: nothing.*}]'"}) {
    const Outcome outcome = program(place.train(setting));
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 2);
    CHECK(contains(outcome.output, "must"));
    CHECK_FALSE(fs::exists(place.run));
  }
}

TEST_CASE("a standard error that cannot be written changes no exit code") {
  const Workplace place;
  CHECK(program("config check nosuch.yaml 2>/dev/full").exit_code == 2);
  CHECK(program(place.train("2>/dev/full")).exit_code == 0);
  CHECK(program("bench step --config nosuch 2>&-").exit_code == 2);
}

TEST_CASE("parameter groups are set in the config") {
  const Workplace place;
  const Outcome outcome =
      program(place.train("--set 'optimizer.groups=[{match: \"*.bias\", learning_rate_multiplier: 0}, {match: "
                          "\"*emb*\", epsilon: 1e-6}]'"));
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 0);
  for (const std::string name : {"sgd", "lion"}) {
    const Outcome without = program(
        place.train("--set optimizer.name=" + name + " --set 'optimizer.groups=[{match: \"*\", epsilon: 1e-6}]'"));
    CHECK(without.exit_code == 2);
    CHECK(contains(without.output, "must not set epsilon: " + name + " has none"));
  }
}

TEST_CASE("what a line becomes does not depend on the lines it is decoded with") {
  const Workplace place;
  REQUIRE(program(place.train()).exit_code == 0);
  const std::string translate = SURD_EXECUTABLE " translate " + place.run;
  const std::string lines = "printf 'a\\na b c a b c a b c a b c\\n' | ";
  CHECK(shell(lines + translate).output == shell(lines + translate + " --batch-size 1").output);
  // The lines before a bad one are translated all the same.
  const Outcome bad = shell("printf 'a\\n\\377\\n' | " + translate + " 2>/dev/null");
  CHECK(bad.exit_code == 1);
  CHECK(std::count(bad.output.begin(), bad.output.end(), '\n') == 1);
}

TEST_CASE("a second signal, of either kind, ends the process at once") {
  const Workplace place;
  const std::string large =
      " train " + place.config +
      " --set train.updates=3 --set task.train_size=20000 --set task.max_length=9"
      " --set train.batch_size=16000 --set train.accumulate=1000 --set train.checkpoint_every=1000 --out ";
  // An update takes minutes here: what comes after the first signal comes within it. That is noted once SIGINT is no
  // longer caught.
  const std::string until_noted =
      "while [ $((0x$(awk '/SigCgt/ {print $2}' /proc/$pid/status) & 2)) != 0 ]; do sleep 0.01; done; ";
  for (const char* second : {"INT", "TERM"}) {
    const std::string run = place.folder.path(second);
    const Outcome outcome =
        shell("exec 3>/dev/null; " SURD_EXECUTABLE + large + run + " >&3 2>&3 & pid=$!; while [ ! -e " + run +
              "/metrics.jsonl ]; do sleep 0.01; done; kill -INT $pid; " + until_noted + "kill -" + second +
              " $pid; wait $pid");
    CHECK(outcome.exit_code == (std::string(second) == "INT" ? 130 : 143));
    CHECK_FALSE(fs::exists(run + "/summary.json"));  // there was no time to write one
    CHECK(fs::is_empty(run + "/checkpoints"));
  }
}

TEST_CASE("options that nothing reads, and ends that no run reaches, are refused") {
  const Workplace place;
  const auto told = [&](const std::string& settings) {
    const Outcome outcome = program("config check " + place.config + " " + settings);
    return outcome.exit_code == 2 ? outcome.output : "";
  };
  const std::string bias = "--set 'model.attention.bias=query value' ";
  CHECK(contains(told("--set model.attention.bias=output --set model.attention.bias_std=1"),
                 "model.attention.bias_std=1: is not read here: it is read only when bias names query, key or value"));
  CHECK(contains(told(bias + "--set model.attention.output_bias_std=1"),
                 "model.attention.output_bias_std=1: is not read here: it is read only when bias names output"));
  CHECK(
      contains(told("--set model.attention.init.distribution=normal --set model.attention.init_fused=true"),
               "model.attention.init_fused=true: is not read here: it is read only when init.distribution is xavier"));
  CHECK(contains(told("--set train.stop_at=-1"), "train.stop_at=-1: is never reached"));
  CHECK(contains(told("--set train.metric=token_accuracy --set train.stop_at=50"), "stop_at=50: is never reached"));
  CHECK(contains(told("--set train.stop_at=1 --set train.stop_after=4"),
                 "train.stop_after=4: are more evaluations than the run has"));
  CHECK(contains(told("--set train.stop_after=3"), "train.stop_after=3: is not read here"));
  CHECK(program("config check " + place.config + " " + bias + "--set model.attention.bias_std=1").exit_code == 0);
  for (const char* reached : {"train.stop_after=3", "train.evaluate_every=1000"})  // an evaluation at the end, too
    CHECK(program("config check " + place.config + " --set train.stop_at=1 --set " + reached).exit_code == 0);
}

TEST_CASE("a run that ends early says why") {
  const Workplace place;
  const Outcome good = program(place.train("--set train.evaluate_every=1 --set train.stop_at=1000"));
  CHECK(contains(good.output, "finished after 1 updates, loss at stop_at 1000 in "));
  const Workplace other;
  const Outcome patient =
      program(other.train("--set train.evaluate_every=1 --set train.patience=1 --set optimizer.learning_rate=1e-30"));
  CHECK(contains(patient.output, "finished after 2 updates, out of patience: 1 evaluations without a better loss in "));
}

TEST_CASE("exit codes: 2 for usage and config, 3 for divergence, 1 for the rest") {
  const Workplace place;
  CHECK(program("").exit_code == 2);
  CHECK(program("train").exit_code == 2);
  CHECK(program("trian x").exit_code == 2);
  CHECK(contains(program("trian x").output, "there is no command 'trian'; did you mean 'train'?"));
  CHECK(contains(program("study rum").output, "there is no command 'study rum'; did you mean 'run'?"));
  CHECK(program("config check " + place.folder.path("missing.yaml")).exit_code == 2);
  CHECK(program("config check " + place.config).exit_code == 0);
  CHECK(program("eval " + place.folder.path("nowhere")).exit_code == 2);
  place.folder.write("thesis.txt", "years of work");
  const Outcome other = program("train " + place.config + " --resume --out " + place.folder.path());
  CHECK(other.exit_code == 2);
  CHECK(contains(other.output, "it is not the folder of a run"));
  CHECK(program("train " + place.config + " --out /dev/null/run").exit_code == 1);  // the system refuses

  const Outcome diverged = program(place.train("--set optimizer.learning_rate=1e30 --set train.clip_norm=null"));
  CAPTURE(diverged.output);
  CHECK(diverged.exit_code == 3);
  CHECK(contains(diverged.output, "diverged at update"));
  CHECK(contains(diverged.output, "is not finite"));
  const auto summary = nlohmann::json::parse(read_file(place.run + "/summary.json"));
  CHECK(summary["finished"] == false);
  CHECK(summary["diverged"]["update"].is_number());
  const Outcome evaluated = program("eval " + place.run);
  CHECK(evaluated.exit_code == 2);
  CHECK(
      contains(evaluated.output, "has no checkpoint: it diverged (train.checkpoint_every makes more); train it again"));
}

TEST_CASE("list, doctor, config show and reference") {
  for (const char* task : {"copy", "reverse", "lexical", "sort", "dates", "grammar", "addition", "parallel_text"})
    CHECK(contains(program("list tasks").output, task));
  CHECK(contains(program("list layers").output, "rms_norm"));
  CHECK(contains(program("list optimizers").output, "adamw"));
  CHECK(contains(program("list schedules").output, "inverse_sqrt"));
  CHECK(program("list nothing").exit_code == 2);
  const Outcome doctor = program("doctor");
  CHECK(doctor.exit_code == 0);
  CHECK(contains(doctor.output, "self_test      passed"));
  const Workplace place;
  const Outcome shown = program("config show " + place.config);
  CHECK(contains(shown.output, "scale: inv_sqrt_dim"));
  CHECK_FALSE(contains(shown.output, "#"));
  CHECK(contains(program("config show --comments " + place.config).output, "# the training loop\ntrain:"));
  CHECK(contains(program("config reference").output, "model.embedding.scale"));
  check_page("config reference --markdown", "docs/config.md");
  check_page("commands --markdown", "docs/commands.md");
}

TEST_CASE("the schemas that editors use are those that the program prints") {
  check_page("config schema", "experiments/config.schema.json");
  check_page("study schema", "experiments/study.schema.json");
}
