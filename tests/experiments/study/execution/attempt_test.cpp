#include "experiments/study/execution/workers/attempt.hpp"

#include "experiments/study/execution/run_files.hpp"
#include "tests/data/temporary_directory.hpp"
#include "tests/text.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>

#include <filesystem>

namespace surd {
namespace {

using test::contains;
using test::TemporaryDirectory;
namespace fs = std::filesystem;

void write(const std::string& path, const std::string& text) { write_file_atomically(path, text); }

TEST_CASE("of two attempts at a run the first that ends counts, and is never changed again") {
  const TemporaryDirectory directory;
  const StudyFolder study(directory.path());
  Attempt slow(study, "arm/seed-1", "worker", false), fast(study, "arm/seed-1", "worker", false);
  CHECK(slow.path() != fast.path());
  write(slow.log(), "slow\n");
  write(fast.log(), "fast\n");
  CHECK_FALSE(study.ended("arm/seed-1"));
  CHECK(fast.publish(RunResult::Status::finished, "", RunConfig()));
  CHECK(study.ended("arm/seed-1"));
  const std::string outcome = read_file(study.outcome("arm/seed-1"));
  CHECK_FALSE(slow.publish(RunResult::Status::failed, "too late", RunConfig()));
  CHECK(read_file(study.outcome("arm/seed-1")) == outcome);
  CHECK(read_file(study.run("arm/seed-1") + "/log.txt") == "fast\n");
  CHECK(read_outcome(study.run("arm/seed-1")).status == RunResult::Status::finished);
  CHECK_FALSE(fs::exists(slow.path()));
  CHECK_FALSE(fs::exists(study.attempts("arm/seed-1")));
}

TEST_CASE("a run is not put over files of which nobody knows where they come from") {
  const TemporaryDirectory directory;
  const StudyFolder study(directory.path());
  fs::create_directories(study.run("arm/seed-1"));
  write(study.run("arm/seed-1") + "/thesis.txt", "years of work");
  Attempt attempt(study, "arm/seed-1", "worker", false);
  const std::string message = test::message_of([&] { attempt.publish(RunResult::Status::finished, "", RunConfig()); });
  CHECK(contains(message, "seed-1: holds files, but no outcome.json"));
  CHECK(read_file(study.run("arm/seed-1") + "/thesis.txt") == "years of work");
  CHECK(fs::exists(attempt.path()));
}

TEST_CASE("attempts that failed are counted, by whichever worker they were made") {
  const TemporaryDirectory directory;
  const StudyFolder study(directory.path());
  for (std::size_t i = 1; i <= 3; ++i) {
    Attempt attempt(study, "arm/seed-1", "worker-" + std::to_string(i % 2), false);
    CHECK(attempt.fail() == i);
  }
  Attempt last(study, "arm/seed-1", "worker-1", false);
  CHECK(last.fail() == 4);
  CHECK(last.publish(RunResult::Status::failed, "again", RunConfig()));
  CHECK(read_outcome(study.run("arm/seed-1")).message == "again");
  CHECK_FALSE(fs::exists(study.attempts("arm/seed-1")));
}

TEST_CASE("with checkpoints an attempt goes on from the one that came furthest") {
  const TemporaryDirectory directory;
  const StudyFolder study(directory.path());
  const auto begun = [&](const std::string& worker, const std::string& checkpoint, const std::string& metrics) {
    const Attempt attempt(study, "arm/seed-1", worker, false);
    fs::create_directories(attempt.path() + "/checkpoints");
    if (!checkpoint.empty()) write(attempt.path() + "/checkpoints/update-" + checkpoint + ".safetensors", checkpoint);
    write(attempt.path() + "/metrics.jsonl", metrics);
    write(attempt.path() + "/outcome.json", "{}");
    return attempt.path();
  };
  const std::string ten = begun("a", "00000010", "ten"), twenty = begun("b", "00000020", "twenty");
  begun("c", "", "none");
  Attempt next(study, "arm/seed-1", "d", true);
  CHECK(read_file(next.path() + "/metrics.jsonl") == "twenty");
  CHECK(names_in(next.path() + "/checkpoints") == std::vector<std::string>{"update-00000020.safetensors"});
  CHECK_FALSE(fs::exists(next.path() + "/outcome.json"));
  CHECK(fs::exists(ten));
  CHECK_FALSE(fs::exists(twenty));
  next.stop();
  Attempt after(study, "arm/seed-1", "d", true);
  CHECK(read_file(after.path() + "/metrics.jsonl") == "twenty");
  CHECK_FALSE(fs::exists(next.path()));
  CHECK(after.fail() == 1);
  const Attempt again(study, "arm/seed-1", "d", true);
  CHECK(read_file(again.path() + "/metrics.jsonl") == "twenty");
  CHECK(fs::exists(after.path()));  // it is counted
  const Attempt without(study, "arm/seed-1", "d", false);
  CHECK(names_in(without.path()).empty());
}

}  // namespace
}  // namespace surd
