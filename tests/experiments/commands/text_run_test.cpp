#include "../../data/temporary_directory.hpp"
#include "../program.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

// A run of the task text: a language model, from its training to the texts it writes.

namespace {

using namespace surd::test;
using nlohmann::json;
using surd::read_file;

const std::string captions = "a dog runs\na cat sleeps\na dog sleeps\nan old cat runs\ntwo dogs run\na man runs\n";

/// A short run on six captions, made once.
struct TextRun {
  TemporaryDirectory folder;
  std::string path = folder.path("run"), output;
  std::string texts = folder.write("texts.txt", captions), config;

  explicit TextRun(const std::string& task = "", const std::string& train = "") {
    config = folder.write("text.yaml",
                          "task: {name: text, train: " + texts + ", valid: " + texts + ", test: " + texts + task +
                              "}\nmodel: {kind: decoder_only, d_model: 8, heads: 2, decoder_layers: 1, feed_forward: "
                              "{width: 8}}\ntrain: {updates: 6, batch_size: 4, evaluate_every: 3, checkpoint_every: 3" +
                              train + "}\n");
    const Outcome trained = program("train " + config + " --out " + path);
    REQUIRE(trained.exit_code == 0);
    output = trained.output;
  }
};

const TextRun& text_run() {
  static const TextRun run;
  return run;
}

std::vector<json> objects(const Outcome& outcome) {
  REQUIRE(outcome.exit_code == 0);
  std::vector<json> found;
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) found.push_back(json::parse(line));
  return found;
}

std::string refused(const std::string& arguments, int exit_code = 2) {
  const Outcome outcome = program(arguments);
  CHECK(outcome.exit_code == exit_code);
  return outcome.output;
}

TEST_CASE("a config that names where a file was moved to is not one that was changed") {
  const TextRun run;
  const std::string moved = run.folder.path("moved.txt"), config = run.path + "/config.yaml";
  REQUIRE(shell("mv " + run.texts + " " + moved + " && sed -i s,texts.txt,moved.txt, " + config).exit_code == 0);
  CHECK_FALSE(contains(program("show --json " + run.path).output, "was changed since"));
  CHECK(contains(program("train " + config + " --resume").output, "already finished"));
  REQUIRE(shell("sed -i s,moved.txt,gone.txt, " + config).exit_code == 0);
  CHECK(contains(program("show --json " + run.path).output, "was changed since the run was trained (task.test"));
}

TEST_CASE("a run of texts tells bits a byte, from its first lines to its evaluation") {
  const TextRun& run = text_run();
  CHECK(contains(run.output, "vocabulary  15\n"));
  CHECK(contains(run.output, "bits/byte "));
  const json eval = objects(program("eval " + run.path + " --json --split test")).at(0);
  const double bytes = static_cast<double>(captions.size());
  CHECK(eval["bits_per_byte"].get<double>() ==
        doctest::Approx(eval["loss"].get<double>() * eval["target_tokens"].get<double>() / std::log(2) / bytes));
  CHECK(eval["pairs"] == 6);
  CHECK_FALSE(eval.contains("bleu"));
  CHECK(contains(program("eval " + run.path).output, "6 texts of test, checkpoint best"));
  CHECK(contains(program("compare " + run.path + " " + run.path).output, "bits/byte"));
  CHECK(contains(program("list runs " + run.folder.path()).output, "bits/byte"));
}

TEST_CASE("texts are packed into rows, with the probe on, and evaluated one by one") {
  const TextRun& run = text_run();
  const std::string packed = "train " + run.config + " --set train.batch_size=null --set train.batch_tokens=20 " +
                             "--set probe.every=2 --set train.log_every=1 --set train.packed_length=";
  const Outcome trained = program(packed + "10 --out " + run.folder.path("packed"));
  CHECK(trained.exit_code == 0);
  CHECK(contains(trained.output, "batches     20 tokens x 1, packed into rows of 10, padding "));
  CHECK(objects(program("eval " + run.folder.path("packed") + " --json --split test")).at(0)["pairs"] == 6);
  // In two parts, from the checkpoint of the third update, to the same bits.
  const std::string parts = packed + "10 --out " + run.folder.path("parts");
  CHECK(program(parts + " --set train.updates=3").exit_code == 0);
  CHECK(program(parts + " --resume").exit_code == 0);
  for (const char* file : {"/checkpoints/best.safetensors", "/metrics.jsonl", "/probe.jsonl"})
    CHECK(read_file(run.folder.path("parts") + file) == read_file(run.folder.path("packed") + file));
  CHECK(contains(refused(packed + "4 --out " + run.folder.path("short")),
                 "train.packed_length=4: must be at least 5, the length of the longest text; got 4"));
}

TEST_CASE("bits a byte do not depend on how the text is cut into tokens, where a model knows nothing of it") {
  // All logits are zero, so each of the n tokens costs log2(V); the bytes are the same however they are cut.
  const TextRun& run = text_run();
  for (const std::string subwords : {"words", "characters", "bytes"}) {
    const std::string path = run.folder.path(subwords);
    const Outcome trained =
        program("train " + run.config + " --out " + path + " --set 'task.subwords={kind: " + subwords +
                "}' --set 'model.embedding={tie: all, init: {distribution: normal, " +
                "std: 1e-30}}' --set train.updates=1 --set optimizer.learning_rate=1e-30");
    REQUIRE(trained.exit_code == 0);
    const double vocabulary = std::stod(between(trained.output, "vocabulary", "\n"));
    const json eval = objects(program("eval " + path + " --json")).at(0);
    const auto tokens = eval["target_tokens"].get<double>();
    if (subwords != "words") CHECK(tokens == captions.size());
    CHECK(eval["bits_per_byte"].get<double>() ==
          doctest::Approx(tokens * std::log2(vocabulary) / static_cast<double>(captions.size())));
  }
}

TEST_CASE("surd sample writes texts that begin with the prompt, the same for the same seed") {
  const TextRun& run = text_run();
  const Outcome drawn = program("sample " + run.path + " --prompt 'a dog' --count 4");
  CHECK(drawn.exit_code == 0);
  std::istringstream lines(drawn.output);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) CHECK(line.rfind("a dog", 0) == 0);
  CHECK(count == 4);
  CHECK(program("sample " + run.path + " --prompt 'a dog' --count 4").output == drawn.output);
  CHECK(program("sample " + run.path + " --prompt 'a dog' --count 4 --seed 2").output != drawn.output);
  const std::string two = program("sample " + run.path + " --prompt 'a dog' --count 2").output;
  CHECK(drawn.output.rfind(two, 0) == 0);
  const auto with = [&](const std::string& options) { return program("sample " + run.path + " " + options).output; };
  CHECK(with("--count 3 --top-k 1") == with("--count 3 --temperature 0"));
  CHECK(with("--count 3 --top-p 1e-9") == with("--count 3 --temperature 0"));
  CHECK(with("--count 20 --temperature 3") != with("--count 20 --temperature 0.3"));
  for (const json& text : objects(program("sample " + run.path + " --json --count 3 --max-length 2")))
    CHECK(text["tokens"].size() <= 2);
  const Outcome unknown =
      shell(SURD_EXECUTABLE " sample " + run.path + " --prompt 'a zebra dog' --count 1 2>/dev/null");
  CHECK(unknown.output.rfind("a zebra dog", 0) == 0);
}

TEST_CASE("a model that takes texts of any length ends its samples where the task ends its texts") {
  const TextRun& run = text_run();
  const std::string path = run.folder.path("endless");
  REQUIRE(program("train " + run.config + " --set model.positions.kind=none --set task.max_length=9 --set " +
                  "train.updates=1 --out " + path)
              .exit_code == 0);
  for (const json& text : objects(program("sample " + path + " --json --temperature 0 --count 1")))
    CHECK(text["tokens"].size() <= 10);
  for (const json& text : objects(program("sample " + path + " --json --temperature 0 --count 1 --max-length 40")))
    CHECK((text["finished"].get<bool>() || text["tokens"].size() == 40));
}

TEST_CASE("what surd sample says of a text is what surd score gives it") {
  const TextRun& run = text_run();
  std::string texts;
  std::vector<double> told;
  for (const json& text : objects(program("sample " + run.path + " --count 20 --json"))) {
    if (!text["finished"].get<bool>()) continue;
    texts += text["text"].get<std::string>() + "\n";
    told.push_back(text["log_probability"].get<double>());
  }
  REQUIRE(told.size() > 5);
  const std::string file = run.folder.write("sampled.txt", texts);
  const std::vector<json> of_file = objects(program("score " + run.path + " --target " + file));
  const std::vector<json> of_input = objects(program("score " + run.path + " < " + file));
  CHECK(of_file == of_input);
  REQUIRE(of_file.size() == told.size());
  for (std::size_t i = 0; i < told.size(); ++i)
    CHECK(of_file[i]["total"].get<double>() == doctest::Approx(told[i]).epsilon(1e-4));
}

TEST_CASE("a run of texts that ended early and is resumed comes to what one without a break does") {
  const TextRun& run = text_run();
  const std::string part = run.folder.path("part");
  REQUIRE(program("train " + run.config + " --set train.updates=3 --out " + part).exit_code == 0);
  REQUIRE(program("train " + run.config + " --set train.updates=6 --out " + part + " --resume").exit_code == 0);
  const auto last_update = [](const std::string& path) {
    const std::string log = TemporaryDirectory::read(path + "/metrics.jsonl");
    const auto begin = log.find(R"("event":"update","update":6)");
    REQUIRE(begin != std::string::npos);
    return log.substr(begin);
  };
  CHECK(contains(last_update(part), "bits_per_byte"));
  CHECK(last_update(part) == last_update(run.path));
}

TEST_CASE("what needs a source is refused of texts, with what to do instead") {
  const TextRun& run = text_run();
  CHECK(contains(refused("translate " + run.path + " < /dev/null"), "surd sample writes some"));
  CHECK(contains(refused("samples " + run.path), "surd sample writes some"));
  CHECK(contains(refused("score " + run.path + " --source " + run.texts + " --target " + run.texts),
                 "is of texts alone; give --target"));
  CHECK(contains(refused("config check " + run.config + " --set model.kind=encoder_decoder"),
                 "must be decoder_only for the task text"));
  CHECK(contains(refused("config check " + run.config + " --set train.evaluate_bleu=true"), "train.evaluate_bleu"));
  CHECK(contains(refused("config check " + run.config + " --set train.metric=sequence_accuracy"),
                 "is of translations, and the task text has none"));
  CHECK(contains(refused("eval " + run.path + " --beam 4"), "is of texts alone, which are not translated"));
  CHECK(contains(refused("sample " + run.path + " --top-p 0"), "--top-p"));
  CHECK(contains(refused("sample " + run.path + " --top-k 0"), "--top-k"));
  CHECK(contains(refused("sample " + run.path + " --temperature -1"), "--temperature"));
  CHECK(contains(refused("sample " + run.path + " --prompt \"$(printf '\\377')\""), "UTF-8"));
}

TEST_CASE("a run that translates has no texts to sample") {
  const TemporaryDirectory folder;
  const std::string config =
      folder.write("copy.yaml",
                   "task: {name: copy, train_size: 60, valid_size: 8, test_size: 8, vocabulary: 9, max_length: 3}\n"
                   "model: {kind: decoder_only, d_model: 8, heads: 2, decoder_layers: 1, feed_forward: {width: 8}}\n"
                   "train: {updates: 1, batch_size: 16}\n");
  REQUIRE(program("train " + config + " --out " + folder.path("run")).exit_code == 0);
  CHECK(contains(refused("sample " + folder.path("run")), "is of a task with sources"));
}

}  // namespace
