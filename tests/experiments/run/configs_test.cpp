#include "../../data/temporary_directory.hpp"
#include "../program.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

using namespace surd::test;

namespace {

namespace fs = std::filesystem;

const fs::path configs = fs::path(SURD_SOURCE_DIR) / "experiments/configs";

}  // namespace

TEST_CASE("every sample config runs for a few updates") {
  const TemporaryDirectory folder;
  // parallel_text and text read files; this one stands for the corpus a user would name.
  std::string lines, sides, texts;
  for (int i = 0; i < 40; ++i) lines += "ein kleiner satz mit wort" + std::to_string(i % 7) + "\n";
  const std::string path = folder.write("lines", lines);
  for (const std::string split : {"train", "valid", "test"}) {
    texts += " --set task." + split + "=" + path;
    for (const std::string side : {"source", "target"}) sides += " --set task." + split + "_" + side + "=" + path;
  }
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(configs)) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    const std::string name = entry.path().stem().string();
    const Outcome outcome = program("train " + entry.path().string() + " --out " + folder.path(name) +
                                    " --set train.updates=2 --set train.evaluate_sequences=2" +
                                    (name == "multi30k" ? sides : "") + (name == "captions" ? texts : ""));
    CAPTURE(name);
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 0);
  }
  CHECK(count >= 8);
}

TEST_CASE("every key of a sample config has a comment") {
  for (const auto& entry : fs::directory_iterator(configs)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      const auto first = line.find_first_not_of(' ');
      if (first == std::string::npos || line[first] == '#') continue;
      CAPTURE(entry.path().string());
      CAPTURE(line);
      CHECK(line.find(" #") != std::string::npos);
    }
  }
}
