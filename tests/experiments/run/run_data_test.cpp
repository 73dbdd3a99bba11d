#include "experiments/run/data/run_data.hpp"

#include "tests/data/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>

namespace {

using namespace surd;
using namespace surd::test;

struct TextRun {
  TemporaryDirectory directory;

  TextRun() {
    for (const char* name : {"train", "valid", "test"}) directory.write(name, "a b\nc a\nb\n");
  }
  RunConfig config(const std::string& more = "") const {
    std::string task = "task: {name: parallel_text";
    for (const std::string name : {"train", "valid", "test"})
      for (const char* side : {"source", "target"})
        task += fmt::format(", {}_{}: {}", name, side, directory.path(name));
    return load_config(directory.write("config.yaml", task + more + "}\n"));
  }
};

TEST_CASE(
    "configs that differ in nothing that their data depend on share them, whatever their seeds where it is files") {
  const TextRun run;
  RunConfig config = run.config();
  const RunData data = load_data(config);
  CHECK(data.corpus->split("train").pairs.size() == 3);
  CHECK(data.dataset->split("train").size() == 3);
  ++config.seed;
  config.model.d_model *= 2;
  const RunData other = load_data(config);
  CHECK(other.corpus == data.corpus);
  CHECK(other.dataset == data.dataset);
  CHECK(load_data(run.config(", lowercase: true")).corpus != data.corpus);

  const TemporaryDirectory generated;
  RunConfig copy = load_config(generated.write("config.yaml", "task: {name: copy}\n"));
  const RunData first = load_data(copy);
  CHECK(load_data(copy).dataset == first.dataset);
  ++copy.seed;
  CHECK(load_data(copy).dataset != first.dataset);
}

TEST_CASE("files that changed are read anew, also where they are as long as before") {
  const TextRun run;
  const RunConfig config = run.config();
  const std::string train = run.directory.path("train");
  const auto written = std::filesystem::last_write_time(train);
  const RunData before = load_data(config);
  run.directory.write("train", "a b\nc a\nc\n");
  std::filesystem::last_write_time(train, written + std::chrono::seconds(1));
  const RunData changed = load_data(config);
  CHECK(before.corpus->split("train").pairs.back().source == "b");
  CHECK(changed.corpus->split("train").pairs.back().source == "c");
  run.directory.write("train", "a b\nc a\nb\na\n");
  std::filesystem::last_write_time(train, written);
  CHECK(load_data(config).corpus->split("train").pairs.size() == 4);
}

TEST_CASE("data that cannot be loaded are not kept, nor are those before") {
  const TextRun run;
  const RunConfig config = run.config();
  const RunData before = load_data(config);
  std::filesystem::rename(run.directory.path("train"), run.directory.path("elsewhere"));
  CHECK_THROWS_AS(load_data(config), OptionError);
  CHECK_THROWS_AS(load_data(config), OptionError);
  std::filesystem::rename(run.directory.path("elsewhere"), run.directory.path("train"));
  CHECK(load_data(config).corpus != before.corpus);
}

TEST_CASE("with given vocabularies data are their own") {
  const TextRun run;
  const RunConfig config = run.config();
  const RunData data = load_data(config);
  std::filesystem::create_directories(run.directory.path("vocabulary"));
  data.dataset->codec.save(run.directory.path("vocabulary"));
  const RunData given = load_data(config, run.directory.path("vocabulary"));
  CHECK(given.dataset != data.dataset);
  CHECK(given.dataset->split("train").front().source == data.dataset->split("train").front().source);
  CHECK(load_data(config).dataset == data.dataset);
}

}  // namespace
