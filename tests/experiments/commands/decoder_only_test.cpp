#include "trained_run.hpp"

#include "train/storage/files.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace surd;
using namespace surd::test;

const std::string decoder_only = " --set model.kind=decoder_only";

/// The summed log-probabilities that a command printed, by their key, a line each.
std::vector<double> totals(const Outcome& outcome, const std::string& key) {
  REQUIRE(outcome.exit_code == 0);
  std::vector<double> found;
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);)
    if (const auto json = nlohmann::json::parse(line, nullptr, false); json.contains(key))
      found.push_back(json[key].get<double>());
  return found;
}

TEST_CASE("a decoder alone is trained, evaluated and translates as any model does") {
  const TrainedRun run(decoder_only + " --set train.evaluate_splits=[test] --set probe.every=1");
  CHECK(contains(run.output, "layers 1, decoder only"));
  CHECK_FALSE(contains(read_file(run.path + "/probe.jsonl"), "\"path\":\"\""));  // every op is of a module
  const Outcome eval = program("eval " + run.path + " --json --split test");
  CHECK(eval.exit_code == 0);
  CHECK(contains(eval.output, "\"pairs\""));
  CHECK(program("samples " + run.path + " --beam 2").exit_code == 0);
  CHECK(contains(run.translate("b\\nc b\\n", "--alignment " + run.folder.path("a.json")).output,
                 "has no encoder, so no attention to the source"));
}

TEST_CASE("what a decoder alone says of its translations is what it scores them with, whatever stands beside them") {
  // Long enough to end its translations: a score is of a finished one.
  const TrainedRun run(decoder_only + " --set model.d_model=16 --set train.updates=300 --set train.evaluate_every=100" +
                       " --set optimizer.learning_rate=0.01");
  const std::string sources = run.folder.write("sources", "b\nc b d\nd d\ne b c\n");
  const Outcome translated = program("translate " + run.path + " --beam 3 --scores < " + sources);
  REQUIRE(translated.exit_code == 0);
  std::string targets;
  std::vector<double> told;
  std::istringstream lines(translated.output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (second == std::string::npos) continue;
    told.push_back(std::stod(line.substr(first + 1, second - first - 1)));
    targets += line.substr(second + 1) + "\n";
  }
  REQUIRE(told.size() == 4);
  const std::vector<double> scored = totals(
      program("score " + run.path + " --source " + sources + " --target " + run.folder.write("t", targets)), "total");
  REQUIRE(scored.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(scored[i] == doctest::Approx(told[i]).epsilon(1e-4));
}

TEST_CASE("a decoder alone needs one vocabulary, and places for both sides together") {
  TemporaryDirectory folder;
  const auto refused = [&](const std::string& config) {
    const Outcome outcome = program("config check " + folder.write("wrong.yaml", config));
    CHECK(outcome.exit_code == 2);
    return outcome.output;
  };
  CHECK(contains(refused("task: {name: dates}\nmodel: {kind: decoder_only}\n"),
                 "decoder_only needs a shared vocabulary; set task.shared_vocabulary: true"));
  CHECK(contains(refused("task: {name: copy, max_length: 8}\n"
                         "model: {kind: decoder_only, positions: {kind: learned, max_length: 12}}\n"),
                 "must be at least 18"));
  CHECK(
      contains(refused("task: {name: copy}\nmodel: {kind: decoder_only, positions: {kind: learned, shared: false}}\n"),
               "must be true for kind: decoder_only"));
  CHECK(contains(refused("model: {kind: decoder}\n"), "encoder_decoder, decoder_only"));
}

}  // namespace
