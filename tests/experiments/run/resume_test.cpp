#include "experiments/program/exit_code.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/run/run_listener.hpp"
#include "tests/experiments/run/small_run.hpp"
#include "tests/text.hpp"
#include "train/storage/checkpoint.hpp"
#include "train/storage/safetensors.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace {

using namespace surd;
using namespace surd::test;
namespace fs = std::filesystem;

constexpr std::uint64_t updates = 10;

nlohmann::json summary_of(const SmallRun& run, const std::string& name) {
  auto summary = nlohmann::json::parse(read_file(run.directory.path(name) + "/summary.json"));
  for (const char* of_this_process : {"resumed_at", "wall_seconds", "evaluation_seconds", "evaluation_share",
                                      "tokens_per_second", "peak_memory_bytes"})
    summary.erase(of_this_process);
  return summary;
}

TEST_CASE("the train command, killed or stopped at any update and resumed, ends with the same bits") {
  for (const char* replicas : {"1", "2", "3"}) {
    SmallRun run;
    run.settings = {std::string("train.replicas=") + replicas};
    REQUIRE(run.train(run.arguments("whole")) == 0);
    const std::string whole = run.result("whole");
    for (std::uint64_t k = 1; k <= updates; ++k) {
      for (const int stop : {SIGKILL, SIGINT, SIGTERM}) {
        CAPTURE(replicas);
        CAPTURE(k);
        CAPTURE(stop);
        TrainArguments arguments = run.arguments("stopped");
        arguments.after_update = [&](std::uint64_t update) {
          if (update != k) return;
          if (stop == SIGKILL) throw Killed();  // nothing more is written, as if it were killed
          raise(stop);
        };
        if (stop == SIGKILL)
          CHECK_THROWS_AS(run.train(arguments), Killed);
        else
          CHECK(run.train(arguments) == (k == updates ? 0 : 128 + stop));  // after the last one it is finished
        CHECK(run.train(run.arguments("stopped", true)) == 0);
        CHECK(run.result("stopped") == whole);
        CHECK(summary_of(run, "stopped") == summary_of(run, "whole"));
        fs::remove_all(run.directory.path("stopped"));
      }
    }
  }
}

TEST_CASE("a run that was interrupted ends with the checkpoints of one that never was") {
  SmallRun run;
  run.settings = {"train.evaluate_every=10", "train.checkpoint_every=4"};
  REQUIRE(run.train(run.arguments("whole")) == 0);
  const auto checkpoints = [&](const char* name) { return names_in(run.directory.path(name) + "/checkpoints"); };
  CHECK(checkpoints("whole").size() == 3);  // the best, and those after 8 and 10 updates
  for (const std::uint64_t k : {5, 9}) {
    TrainArguments arguments = run.arguments("stopped");
    arguments.after_update = [&](std::uint64_t update) {
      if (update == k) raise(SIGTERM);
    };
    CHECK(run.train(arguments) == 128 + SIGTERM);
    CHECK(checkpoints("stopped").back() == fmt::format("update-{:08}.interrupted.safetensors", k));
    CHECK(run.train(run.arguments("stopped", true)) == 0);
    CHECK(checkpoints("stopped") == checkpoints("whole"));
    fs::remove_all(run.directory.path("stopped"));
  }
}

TEST_CASE("a run that is killed at every update, one after the other, ends with the same bits") {
  for (const std::string kind : {"encoder_decoder", "decoder_only"}) {
    CAPTURE(kind);
    SmallRun run;
    run.settings = {"train.checkpoint_every=1", "model.kind=" + kind};
    REQUIRE(run.train(run.arguments("whole")) == 0);
    for (std::uint64_t k = 2; k <= updates; ++k) {
      TrainArguments arguments = run.arguments("stopped", true);
      arguments.after_update = [&](std::uint64_t update) {
        if (update == k) throw Killed();
      };
      CHECK_THROWS_AS(run.train(arguments), Killed);
    }
    CHECK(run.train(run.arguments("stopped", true)) == 0);
    CHECK(run.result("stopped") == run.result("whole"));
  }
}

TEST_CASE("a damaged latest checkpoint is passed over, and the run still ends with the same bits") {
  SmallRun run;
  REQUIRE(run.train(run.arguments("whole")) == 0);
  TrainArguments arguments = run.arguments("stopped");
  arguments.after_update = [&](std::uint64_t update) {
    if (update == 9) throw Killed();
  };
  CHECK_THROWS_AS(run.train(arguments), Killed);
  const std::string latest = Checkpoints(run.directory.path("stopped/checkpoints"), 2).last_path();
  std::string bytes = read_file(latest);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file_atomically(latest, bytes);
  CHECK(run.train(run.arguments("stopped", true)) == 0);
  CHECK(run.result("stopped") == run.result("whole"));
}

TEST_CASE("temporary files of a killed run are removed on resume") {
  SmallRun run;
  REQUIRE(run.train(run.arguments("whole")) == 0);
  TrainArguments arguments = run.arguments("stopped");
  arguments.after_update = [&](std::uint64_t update) {
    if (update == 7) throw Killed();
  };
  CHECK_THROWS_AS(run.train(arguments), Killed);
  const std::vector<std::string> left = {"stopped/checkpoints/update-00000008.safetensors.tmp",
                                         "stopped/checkpoints/best.safetensors.tmp", "stopped/summary.json.tmp",
                                         "stopped/vocabulary/source.txt.tmp"};
  for (const std::string& name : left) run.directory.write(name, "torn");
  CHECK(run.train(run.arguments("stopped", true)) == 0);
  for (const std::string& name : left) CHECK_FALSE(fs::exists(run.directory.path(name)));
  CHECK(run.result("stopped") == run.result("whole"));
}

TEST_CASE("a run killed while it was set up begins again; a folder of something else is refused") {
  SmallRun run;
  REQUIRE(run.train(run.arguments("whole")) == 0);
  for (const bool resume : {false, true}) {
    fs::create_directories(run.directory.path("early/vocabulary"));
    fs::create_directories(run.directory.path("early/checkpoints"));
    run.directory.write("early/lock", "pid 1\n");
    run.directory.write("early/vocabulary/source.txt.tmp", "<pa");
    run.directory.write("early/config.yaml.tmp", "tas");
    run.directory.write("early/data.json", "{}");
    run.directory.write("early/data.json.tmp", "{");
    CHECK(run.train(run.arguments("early", resume)) == 0);
    CHECK(run.result("early") == run.result("whole"));
    fs::remove_all(run.directory.path("early"));
    fs::create_directories(run.directory.path("early"));
    run.directory.write("early/thesis.txt", "years of work");
    CHECK_THROWS_AS(run.train(run.arguments("early", resume)), Error);
    CHECK(read_file(run.directory.path("early/thesis.txt")) == "years of work");
    fs::remove_all(run.directory.path("early"));
  }
}

TEST_CASE("a NaN ends with exit code 3, and the last good checkpoint can be loaded and gone on from") {
  SmallRun run;
  run.settings = {"train.checkpoint_every=1", "optimizer.learning_rate=1e37", "train.clip_norm=null"};
  const TrainArguments arguments = run.arguments("diverged");
  CHECK(run.train(arguments) == exit_diverged);
  const auto summary = summary_of(run, "diverged");
  CHECK(summary["finished"] == false);
  const std::uint64_t at = summary["diverged"]["update"];
  CHECK_FALSE(summary["diverged"]["where"].get<std::string>().empty());
  CHECK(summary["updates"] == at - 1);
  REQUIRE(at > 1);
  const std::string last = Checkpoints(arguments.out + "/checkpoints", 2).last_path();
  CHECK(last.find("update-0000000" + std::to_string(at - 1)) != std::string::npos);
  CHECK_NOTHROW(OpenRun(arguments.out, "last"));
  CHECK(run.train(run.arguments("diverged", true)) == exit_diverged);  // at the same place
  CHECK(summary_of(run, "diverged")["diverged"] == summary["diverged"]);
}

TEST_CASE("a second process in the same folder is refused, a later one is not") {
  SmallRun run;
  TrainArguments arguments = run.arguments("run");
  std::string refused;
  arguments.after_update = [&](std::uint64_t update) {
    if (update != 5) return;
    try {
      train_command(run.arguments("run", true));
    } catch (const Error& error) {
      refused = error.what();
    }
    throw Killed();
  };
  CHECK_THROWS_AS(run.train(arguments), Killed);
  CAPTURE(refused);
  CHECK(refused.find("another process (pid " + std::to_string(::getpid()) + ") is training in this folder") !=
        std::string::npos);
  CHECK(run.train(run.arguments("run", true)) == 0);
}

TEST_CASE("a run with a limit of time ends like any other, and knows when it is resumed what it has taken") {
  SmallRun run;
  run.settings = {"train.minutes=1e-9"};
  REQUIRE(run.train(run.arguments("short")) == 0);
  const nlohmann::json summary = summary_of(run, "short");
  CHECK(summary["finished"] == true);
  CHECK(summary["updates"] == 1);
  CHECK(summary["best_update"] == 1);  // it was evaluated
  CHECK(fs::exists(run.directory.path("short/checkpoints/update-00000001.safetensors")));
  fs::remove(run.directory.path("short/summary.json"));
  REQUIRE(run.train(run.arguments("short", true)) == 0);  // its time is over
  CHECK(summary_of(run, "short")["updates"] == 1);

  run.settings = {"train.minutes=10"};
  TrainArguments arguments = run.arguments("long");
  arguments.after_update = [](std::uint64_t update) {
    if (update == 5) raise(SIGTERM);
  };
  CHECK(run.train(arguments) == 128 + SIGTERM);
  const TensorFile saved =
      read_safetensors(run.directory.path("long/checkpoints/update-00000005.interrupted.safetensors"));
  const LogPosition position = LogPosition::parse(saved.metadata.at("log_position"), "a checkpoint");
  REQUIRE(position.seconds.has_value());
  CHECK(*position.seconds > 0);
  CHECK(position.text() == saved.metadata.at("log_position"));
  CHECK(run.train(run.arguments("long", true)) == 0);
  CHECK(summary_of(run, "long")["updates"] == updates);
  for (const char* damaged : {"1,2,", "1,2,x", "1,2,3,4", "1"})
    CHECK_THROWS_AS(LogPosition::parse(damaged, "a checkpoint"), Error);
}

TEST_CASE("a run begins with the parameters and the vocabulary of another") {
  SmallRun run;
  REQUIRE(run.train(run.arguments("first")) == 0);
  // Without a step of its own, it ends where the other did.
  run.settings = {"train.updates=1", "optimizer.learning_rate=1e-30", "task.train_size=25", "seed=2"};
  for (const std::string from : {"first", "first/checkpoints/update-00000010.safetensors"}) {
    TrainArguments arguments = run.arguments("second");
    arguments.from = run.directory.path(from);
    REQUIRE(run.train(arguments) == 0);
    const auto checkpoint = [&](const std::string& path) {
      std::map<std::string, Tensor> parameters;
      for (auto& [name, tensor] : read_safetensors(run.directory.path(path)).tensors)
        if (!is_optimizer_slot(name)) parameters[name] = tensor;
      return parameters;
    };
    CHECK(checkpoint("second/checkpoints/update-00000001.safetensors") ==
          checkpoint(from == "first" ? "first/checkpoints/best.safetensors" : from));
    CHECK(read_file(run.directory.path("second/vocabulary/source.txt")) ==
          read_file(run.directory.path("first/vocabulary/source.txt")));
    CHECK(contains(read_file(run.directory.path("second/origin.json")), " --from " + arguments.from));
    fs::remove_all(run.directory.path("second"));
  }
  // Killed before its first checkpoint, it begins again with these parameters, and not with random ones.
  run.settings = {};
  TrainArguments whole = run.arguments("whole"), killed = run.arguments("killed");
  whole.from = killed.from = run.directory.path("first");
  REQUIRE(run.train(whole) == 0);
  killed.after_update = [](std::uint64_t) { throw Killed(); };
  CHECK_THROWS_AS(run.train(killed), Killed);
  REQUIRE(run.train(run.arguments("killed", true)) == 0);
  CHECK(run.result("killed") == run.result("whole"));
  CHECK(run.result("whole") != run.result("first"));
  killed = run.arguments("killed again");
  killed.from = run.directory.path("first");
  killed.after_update = [](std::uint64_t) { throw Killed(); };
  CHECK_THROWS_AS(run.train(killed), Killed);
  const std::string best = run.directory.path("first/checkpoints/best.safetensors"), bytes = read_file(best);
  fs::copy_file(run.directory.path("whole/checkpoints/update-00000010.safetensors"), best,
                fs::copy_options::overwrite_existing);  // as a better one of the first run would be
  CHECK(contains(message_of([&] { run.train(run.arguments("killed again", true)); }), "holds other parameters than"));
  write_file_atomically(best, bytes);
  REQUIRE(run.train(run.arguments("killed again", true)) == 0);
  CHECK(run.result("killed again") == run.result("whole"));

  TrainArguments arguments = run.arguments("second");
  for (const std::string from : {"nowhere", "small.yaml", ""}) {
    arguments.from = run.directory.path(from);
    CHECK_THROWS_AS(run.train(arguments), UsageError);
  }
  run.settings = {"model.d_model=16"};
  arguments = run.arguments("second");
  arguments.from = run.directory.path("first");
  CHECK_THROWS_AS(run.train(arguments), UsageError);
  CHECK_FALSE(fs::exists(run.directory.path("second")));
}

TEST_CASE("a finished run goes on to a later end, and says so") {
  SmallRun run;
  run.settings = {"train.updates=16"};
  REQUIRE(run.train(run.arguments("whole")) == 0);
  run.settings = {};
  REQUIRE(run.train(run.arguments("run")) == 0);
  run.settings = {"train.updates=8"};
  CHECK_THROWS_AS(run.train(run.arguments("run", true)), UsageError);
  run.settings = {"train.updates=16", "model.dropout=0.2"};
  CHECK_THROWS_AS(run.train(run.arguments("run", true)), UsageError);
  run.settings = {"train.updates=16"};
  TrainArguments arguments = run.arguments("run", true);
  arguments.after_update = [](std::uint64_t) { throw Killed(); };
  CHECK_THROWS_AS(run.train(arguments), Killed);  // it has the new end by then
  CHECK(summary_of(run, "run")["finished"] == false);
  CHECK(summary_of(run, "run")["best"].is_object());  // what other commands read is there
  CHECK(run.train(run.arguments("run", true)) == 0);
  const auto last = [&](const char* name) {
    return read_safetensors(run.directory.path(name) + "/checkpoints/update-00000016.safetensors").tensors;
  };
  CHECK(last("run") == last("whole"));  // its schedule does not depend on the end
  const nlohmann::json summary = summary_of(run, "run");
  CHECK(summary["finished"] == true);
  CHECK(summary["updates"] == 16);
  const RunOrigin origin = RunFolder(run.directory.path("run")).read_origin();
  REQUIRE(origin.ends.size() == 1);
  CHECK(origin.ends.front().text() == "after update 10: train.updates: 10 -> 16");
  CHECK(load_config(run.directory.path("run/config.yaml")).train.updates == 16);
  CHECK(run.train(run.arguments("run", true)) == 0);  // there is nothing more to do
  CHECK(summary_of(run, "run") == summary);

  // One that was out of patience goes on with more of it.
  run.settings = {"train.patience=1", "train.stop_at=1e9", "train.stop_after=1"};
  REQUIRE(run.train(run.arguments("early")) == 0);
  CHECK(summary_of(run, "early")["updates"] == 3);
  run.settings = {"train.stop_at=1e-9", "train.stop_after=1"};
  CHECK(run.train(run.arguments("early", true)) == 0);
  CHECK(summary_of(run, "early")["updates"] == 10);
}

struct FullDisk : SystemCalls {
  std::int64_t available(const char*) override { return free; }
  std::int64_t free = 0;
};

TEST_CASE("a disk without room for the checkpoints is an error before the first update") {
  SmallRun run;
  FullDisk disk;
  const ReplacedSystemCalls replaced(disk);
  TrainArguments arguments = run.arguments("run");
  bool updated = false;
  arguments.after_update = [&](std::uint64_t) { updated = true; };
  std::string error;
  try {
    run.train(arguments);
  } catch (const Error& e) {
    error = e.what();
  }
  CAPTURE(error);
  CHECK(error.find("free") != std::string::npos);
  CHECK(error.find("train.keep_checkpoints") != std::string::npos);
  CHECK_FALSE(updated);
  disk.free = -1;  // the system does not say
  CHECK(run.train(arguments) == 0);

  // What a finished run of the same size used was enough.
  std::uintmax_t used = 0;
  for (const auto& entry : fs::directory_iterator(arguments.out + "/checkpoints")) used += entry.file_size();
  disk.free = static_cast<std::int64_t>(used);
  CHECK_THROWS_AS(run.train(run.arguments("other")), Error);  // one more is needed while it is written
  disk.free = static_cast<std::int64_t>(3 * used);
  CHECK(run.train(run.arguments("other")) == 0);
}

}  // namespace
