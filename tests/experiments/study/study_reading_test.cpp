#include "experiments/config/settings.hpp"
#include "experiments/study/execution/plan.hpp"
#include "experiments/study/file/claims.hpp"
#include "experiments/study/file/study_group.hpp"
#include "tests/experiments/program.hpp"
#include "tests/experiments/study/study_files.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

using namespace surd;
using namespace surd::test;

TEST_CASE("a study is read: arms are every combination of the levels, the last axis fastest") {
  const StudyFile file;
  const Study study = file.load(StudyFile::whole(std::string(study_rest) + study_tuning));
  REQUIRE(study.arms.size() == 4);
  CHECK(study.arms[1].name == "scale=one, rho=high");
  CHECK(study.arms[2].levels == std::vector<std::size_t>{1, 0});
  CHECK(study.seeds == std::vector<std::uint64_t>{1, 2});
  CHECK(study.tuning->seeds == std::vector<std::uint64_t>{1001, 1002});
  CHECK(study.numbers(0) == std::map<std::string, double>{{"rho", 0.5}});
  CHECK(study.select({{"rho", "high"}}) == std::vector<std::size_t>{1, 3});
  CHECK(study.select({{"regime", "tuned"}}).size() == 4);
  CHECK(study.metric("loss").lower_is_better);
  CHECK_FALSE(study.metric("accuracy").lower_is_better);
  CHECK_THROWS_WITH_AS(study.metric("lost"), "study: there is no metric 'lost'; did you mean 'loss'?", Error);
  const RunConfig config = study.config(3, {{"optimizer.learning_rate", "0.25", {}}}, 7);
  CHECK(config.seed == 7);
  CHECK(config.model.embedding.scale.text() == "sqrt_dim");
  CHECK(contains(to_yaml(config), "learning_rate: 0.25"));
}

TEST_CASE("--set changes the base, a level goes over it, and a base may extend a preset or a file") {
  const StudyFile file;
  file.directory.write("below.yaml", "train: {updates: 7}\nmodel: {d_model: 32}\nseed: 5\n");
  const std::string text =
      "title: T\nbase:\n  extends: ./below.yaml\n  train: {batch_size: 3}\n"
      "arms: [{name: a}, {name: b, set: {model.heads: 2, task: {max_length: 4}}}]\n";
  const Study study = file.load(text, {"model.heads=8", "train.log_every=3"});
  CHECK(study.config(0, {}, 1).train.updates == 7);
  CHECK(study.config(0, {}, 1).seed == 1);
  CHECK(study.config(0, {}, 1).model.heads == 8);
  CHECK(study.config(1, {}, 1).model.heads == 2);
  CHECK(study.config(1, {}, 1).train.log_every == 3);
  CHECK(file.load("title: T\nbase: {extends: t5}\n").arms.front().name == "alone");
  CHECK_THROWS_WITH_AS(file.load(text, {"seed=4"}),
                       doctest::Contains("--set seed=4: the runs have the study's seeds; set 'seeds' in its file"),
                       ConfigError);
}

TEST_CASE("--quick cuts seeds, settings and levels, and the hypotheses about levels that are gone") {
  const StudyFile file;
  const std::string text =
      StudyFile::whole(std::string(study_rest) + study_tuning +
                       "hypotheses:\n"
                       "  - {name: A, metric: loss, arm: {scale: one}, against: {scale: sqrt_dim}, expect: lower}\n"
                       "  - {name: B, metric: loss, arm: {rho: low}, against: {rho: high}, expect: lower}\n"
                       "quick: {seeds: 1, tuning_seeds: [1005], set: {train.updates: 3}, levels: {rho: [low]}}\n");
  const Study quick = file.load(text, {}, true), full = file.load(text);
  CHECK(full.hypotheses.size() == 2);
  CHECK(full.arms.size() == 4);
  CHECK(quick.quick);
  CHECK(quick.arms.size() == 2);
  CHECK(quick.seeds.size() == 1);
  CHECK(quick.tuning->seeds == std::vector<std::uint64_t>{1005});
  REQUIRE(quick.hypotheses.size() == 1);
  CHECK(quick.hypotheses[0].name == "A");
  CHECK(quick.config(0, {}, 1).train.updates == 3);
  CHECK(full.config(0, {}, 1).train.updates == 20);
}

TEST_CASE("a study says what was changed since it was written, and what was known by then") {
  const StudyFile file;
  const Study study = file.load(StudyFile::whole(
      "changes:\n"
      "  - {date: 2024-02-29, what: Ten seeds for six, seen: nothing}\n"
      "  - date: 2026-11-20\n    what: A second task\n    seen: the losses of copy, not those of reverse\n"
      "  - {date: 2026-11-20, what: A margin, seen: the same}\n"));
  REQUIRE(study.amendments.size() == 3);
  CHECK(study.amendments[0].date == "2024-02-29");
  CHECK(study.amendments[1].what == "A second task");
  CHECK(study.amendments[1].seen == "the losses of copy, not those of reverse");
  CHECK(file.load(StudyFile::whole()).amendments.empty());
}

TEST_CASE("docs/studies.md ends with every key there is") {
  // What follows its heading is written by: surd study reference
  const std::string page = read_file(SURD_SOURCE_DIR "/docs/studies.md");
  const std::string keys = program("study reference").output;
  CHECK(keys.size() > 5000);
  REQUIRE(page.size() > keys.size());
  CHECK(page.substr(page.size() - keys.size()) == keys);
}

TEST_CASE("claims are data: docs/studies.md lists those that studies may name") {
  std::string list;
  for (const auto& [number, text] : read_claims(SURD_SOURCE_DIR "/experiments/studies/claims.yaml")) {
    list += fmt::format("{}. {}.\n", number, text);
    CHECK(claim_text(number) == text);
  }
  CHECK(claim_text(0).empty());
  CHECK(claim_text(18).empty());
  CHECK(contains(list, "\n16. "));
  CHECK(contains(read_file(SURD_SOURCE_DIR "/docs/studies.md"), "\n\n" + list + "\n"));
}

TEST_CASE("what is wrong with the claims is told with its line, and a list of studies does without them") {
  const TemporaryDirectory directory;
  const auto complaint = [&](const std::string& text) -> std::string {
    try {
      read_claims(directory.write("claims.yaml", text));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(contains(complaint("{}"), "claims: is required"));
  CHECK(contains(complaint("claims:\n  - {number: 1}\n"), "claims.yaml:2:5: claims[0].text: is required"));
  CHECK(contains(complaint("claims:\n  - {text: All is well}\n"), "claims.yaml:2:5: claims[0].number: is required"));
  CHECK(contains(complaint("claims:\n  - {number: 1, txt: A}\n"), "did you mean 'text'?"));
  CHECK(contains(complaint("claims: [{number: 1, text: A}, {number: 1, text: B}]"), "must have numbers that differ"));

  const std::string studies = "SURD_STUDIES=" + directory.path("") + " ";
  const std::string study = directory.write("study.yaml", StudyFile::whole());  // which names claim 3
  CHECK_FALSE(contains(shell(studies + SURD_EXECUTABLE " study list").output, "claims"));
  const Outcome damaged = shell(studies + SURD_EXECUTABLE " study run " + study + " --out " + directory.path("out"));
  CHECK(damaged.exit_code != 0);
  CHECK(contains(damaged.output, "must have numbers that differ"));
  std::filesystem::remove(directory.path("claims.yaml"));
  const Outcome missing = shell(studies + SURD_EXECUTABLE " study run " + study + " --out " + directory.path("out"));
  CHECK(missing.exit_code != 0);
  CHECK(contains(missing.output, "claims.yaml: "));
}

TEST_CASE("what is wrong with a group of studies is told with its place") {
  const StudyFile file;
  file.write(StudyFile::whole());
  const auto told = [&](const std::string& studies) -> std::string {
    const std::string group = file.directory.write("group.yaml", "question: Q?\nstudies: " + studies + "\n");
    try {
      static_cast<void>(load_study_group(group));
    } catch (const ConfigError& error) {
      return std::string(error.what()).substr(group.size() - std::string("group.yaml").size());
    }
    return "";
  };
  CHECK(told("[study]") == "");
  CHECK(told("[study, '']") == "group.yaml:2:18: studies: there is no study '' beside this file");
  CHECK(told("['studdy']") ==
        "group.yaml:2:11: studies: there is no study 'studdy' beside this file; did you mean 'study'?");
  CHECK(told("[study.yaml]") == "group.yaml:2:11: studies: 'study.yaml' is the name of a file; write study");
  CHECK(told("[study, [study]]") == "group.yaml:2:18: studies: must be a name such as r01-ledger; got a list");
  CHECK(told("[study, 'study']") == "group.yaml:2:18: studies: 'study' stands there twice; remove one");
  CHECK(told("[group]") == "group.yaml:2:11: studies: 'group' has studies itself; name those");
  CHECK(told("[]") == "group.yaml:2:10: studies: must be a list of names such as [r01-ledger]");
}

}  // namespace
