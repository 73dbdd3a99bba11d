#include "experiments/run/data/run_data.hpp"

#include "tests/data/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <utility>

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

/// Takes another line of its file for each seed.
class OneOfItsLines : public Task {
 public:
  struct Options {
    std::string file;
    void fields(Fields& f) { f("file", file, "of one line a seed"); }
  };
  explicit OneOfItsLines(Options options) : options_(std::move(options)) {}
  TextFormat format() const override {
    TextFormat format;
    format.open_vocabulary = true;
    return format;
  }
  Corpus load(std::uint64_t seed) const override {
    std::ifstream file(options_.file);
    TextPair pair;
    for (std::uint64_t line = 0; line <= seed; ++line) std::getline(file, pair.source);
    pair.target = pair.source;
    Corpus corpus(format());
    for (const char* name : {"train", "valid", "test"}) corpus.splits.push_back({name, {pair}});
    return corpus;
  }

 private:
  Options options_;
};

TEST_CASE("a task with files of its own that takes the seed is given each one, and its files are looked at") {
  tasks().add<OneOfItsLines>("one_of_its_lines", "");
  const TextRun run;
  const std::string file = run.directory.write("lines", "a\nb\nc\n");
  RunConfig config =
      load_config(run.directory.write("own.yaml", "task: {name: one_of_its_lines, file: " + file + "}\nseed: 1\n"));
  const auto line = [&] { return load_data(config).corpus->split("train").pairs.front().source; };
  CHECK(line() == "b");
  ++config.seed;
  CHECK(line() == "c");
  run.directory.write("lines", "a\nb\nde\n");
  CHECK(line() == "de");
}

TEST_CASE("a file that cannot even be looked at is an error of its option") {
  const TextRun run;
  const std::string train = run.directory.path("train");
  std::filesystem::remove(train);
  std::filesystem::create_symlink("train", train);  // a loop
  CHECK_THROWS_WITH_AS(load_data(run.config()), doctest::Contains("cannot read"), OptionError);
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
  std::filesystem::last_write_time(train, written + std::chrono::seconds(1));
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
