#include "experiments/run/data/unknown_tokens.hpp"
#include "tests/experiments/run/small_run.hpp"
#include "tests/text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace {

using namespace surd;
using namespace surd::test;

const UnknownShares few = {{"train", {0, 0}}, {"valid", {0.01, 0.004}}, {"test", {0.0099, 0}}},
                    many = {{"train", {0, 0.0101}}, {"valid", {0.02, 0.25}}, {"test", {0.1, 0.3}}};

TEST_CASE("a generated text whose tokens are all known is not worth a line, files always are") {
  TextFormat generated, files;
  files.open_vocabulary = true;
  const UnknownShares none = {{"train", {0, 0}}};
  CHECK_FALSE(worth_telling(none, generated));
  CHECK(worth_telling(none, files));
  CHECK(worth_telling(few, generated));
  CHECK(worth_telling({{"train", {0, 0}}, {"test", {0, 0.001}}}, generated));
  TextFormat texts = files;
  texts.one_sided = true;
  CHECK(describe(few, texts) ==
        std::vector<std::string>{"unknown     0.00 % of train, 0.40 % of valid, 0.00 % of test"});
  CHECK(describe(few, files) ==
        std::vector<std::string>{"unknown     source 0.00 % of train, 1.00 % of valid, 0.99 % of test",
                                 "            target 0.00 % of train, 0.40 % of valid, 0.00 % of test"});
}

TEST_CASE("above 1 % of unknown tokens a warning names the worst side of a split and what would help") {
  TextFormat files;
  files.open_vocabulary = true;
  CHECK(warning_of(few, files).empty());
  CHECK(warning_of({}, files).empty());
  CHECK(warning_of({{"train", {0, 0.0101}}}, files).rfind("1.0 % of the target tokens of train are not", 0) == 0);
  const auto way_out = [&] {
    const std::string text = warning_of(many, files);
    CHECK(text.rfind("30.0 % of the target tokens of test are not in the vocabulary: ", 0) == 0);
    return text.substr(text.find("; ") + 2);
  };
  CHECK(way_out() == "cut words into subwords: task.subwords: {kind: bpe}");
  files.vocabulary.min_frequency = 3;
  files.vocabulary.size_limit = 8000;
  CHECK(way_out() ==
        "raise vocabulary_limit (8,000), or lower min_frequency (3), or cut words into subwords: "
        "task.subwords: {kind: bpe}");
  files.vocabulary = {};
  files.subwords.set<Words>("words", {"@@"});
  CHECK(way_out() == "cut all files by the same subwords, learned from the training split");
  files.subwords.select("characters");
  CHECK(way_out() == "see that all files write their characters alike (Unicode NFC)");
  CHECK(contains(warning_of(many, TextFormat()), "; make the training split larger"));
  files.one_sided = true;
  CHECK(warning_of({{"valid", {0, 0.25}}}, files).rfind("25.0 % of the tokens of valid are not in the", 0) == 0);
  CHECK(contains(warning_of({{"valid", {0, 0.25}}}, files), "and its loss is of that; "));
}

TEST_CASE("data.json keeps the share of unknown tokens of each split, and a run that lacks them is gone on with") {
  SmallRun run;
  std::string files;
  for (const char* side : {"source", "target"}) {
    for (const char* split : {"train", "valid"}) {
      const std::string name = fmt::format("{}_{}", split, side);
      files += fmt::format(", {}: {}", name, run.directory.write(name, "a b\nc a\nb\n"));
    }
    const std::string name = fmt::format("test_{}", side);
    const char* text = std::string(side) == "source" ? "a b c d\n" : "a d d\n";
    files += fmt::format(", {}: {}", name, run.directory.write(name, text));
  }
  run.directory.write("small.yaml", "task: {name: parallel_text" + files + "}\n" +
                                        std::string(small_config).substr(std::string(small_config).find("model:")));
  TrainArguments arguments = run.arguments("run");
  arguments.after_update = [](std::uint64_t update) {
    if (update == 5) throw Killed();
  };
  CHECK_THROWS_AS(run.train(arguments), Killed);
  const std::string path = run.directory.path("run/data.json");
  auto data = nlohmann::ordered_json::parse(read_file(path));
  CHECK(data["train"]["unknown"] == nlohmann::ordered_json{{"source", 0.0}, {"target", 0.0}});
  CHECK(data["test"]["unknown"]["source"] == 0.25);
  CHECK(data["test"]["unknown"]["target"] == doctest::Approx(2 / 3.0));
  for (auto& [name, split] : data.items()) split.erase("unknown");  // as it was written before
  run.directory.write("run/data.json", data.dump());
  CHECK(run.train(run.arguments("run", true)) == 0);
}

}  // namespace
