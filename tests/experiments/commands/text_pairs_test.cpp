#include "../../data/temporary_directory.hpp"
#include "../program.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

// Runs on pairs of texts: what is left out of them, what makes two runs different, and what is told of it.

namespace {

using namespace surd::test;
using nlohmann::json;

const std::string long_words = "aaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbb cccccccccccccccccccc";

/// Six short pairs, and one that is longer, which each split has.
struct TextPairs {
  TemporaryDirectory folder;
  std::string source = folder.write("text.en", "a b\nb c\nc a\na\nb\nc\na b c a b c a\n");
  std::string target = folder.write("text.de", "b a\nc b\na c\na\nb\nc\na c b a c b a\n");
  std::string config = write("text", source, target);

  std::string write(const std::string& name, const std::string& from, const std::string& to,
                    const std::string& more = "max_length: 5") const {
    std::string files;
    for (const char* split : {"train", "valid", "test"})
      files += std::string(split) + "_source: " + from + ", " + split + "_target: " + to + ", ";
    return folder.write(name + ".yaml",
                        "task: {name: parallel_text, " + files + more +
                            "}\nmodel: {d_model: 8, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: "
                            "{width: 8}}\ntrain: {updates: 4, batch_size: 4, evaluate_every: 2, checkpoint_every: 2, "
                            "log_every: 2}\n");
  }
  Outcome train(const std::string& name, const std::string& more = "") const {
    return program("train " + config + " --out " + folder.path(name) + " " + more);
  }
};

TEST_CASE("which pairs of which split are left out is told, and eval says it of the split it measures") {
  const TextPairs pairs;
  CHECK(contains(pairs.train("run").output, "left out of valid 1 overlong"));
  const Outcome eval = program("eval --split test " + pairs.folder.path("run"));
  CHECK(contains(eval.output, "6 pairs of test (1 overlong left out), checkpoint best"));
  const json told = json::parse(program("eval --json --split test " + pairs.folder.path("run")).output);
  CHECK(told["left_out"] == json{{"empty", 0}, {"overlong", 1}});
}

TEST_CASE("runs on other text, or from another checkpoint of the same name, are not repetitions of one run") {
  const TextPairs pairs;
  REQUIRE(pairs.train("one").exit_code == 0);
  REQUIRE(pairs.train("from-one", "--from " + pairs.folder.path("one")).exit_code == 0);
  pairs.folder.write("text.de", "a b\nb c\nc a\na\nb\nc\na b c a b c a\n");
  REQUIRE(pairs.train("other", "--set seed=2").exit_code == 0);
  const std::string compared = program("compare " + pairs.folder.path("one") + " " + pairs.folder.path("other")).output;
  CHECK(contains(compared, "text of train"));
  CHECK_FALSE(contains(compared, "2/2"));

  std::filesystem::remove_all(pairs.folder.path("one"));
  REQUIRE(pairs.train("one", "--set seed=3").exit_code == 0);
  REQUIRE(pairs.train("from-another", "--from " + pairs.folder.path("one")).exit_code == 0);
  CHECK(contains(program("compare " + pairs.folder.path("from-one") + " " + pairs.folder.path("from-another")).output,
                 "--from checksum"));
}

TEST_CASE("a run that begins with another says what of its config changes nothing, or does not go with that run") {
  const TextPairs pairs;
  REQUIRE(pairs.train("one").exit_code == 0);
  const std::string from = "--from " + pairs.folder.path("one");
  CHECK(contains(pairs.train("rare", from + " --set task.min_frequency=2").output,
                 "so this changes nothing:\n  task.min_frequency: 1 -> 2"));
  CHECK(contains(
      pairs.train("letters", from + " --set 'task.subwords={kind: characters}'").output,
      "other tokens than this config makes of text with the run's vocabularies:\n  task.subwords.kind: words -> "
      "characters"));
  const Outcome other = pairs.train("pieces", from + " --set 'task.subwords={kind: bpe, size: 20}'");
  CHECK(other.exit_code == 2);
  CHECK(contains(other.output, "let it say what the run's own config says of its task and tokens (task.subwords)"));
}

TEST_CASE("a run's own config means that run") {
  const TextPairs pairs;
  REQUIRE(pairs.train("one").exit_code == 0);
  const std::string own = pairs.folder.path("one/config.yaml");
  const Outcome anew = program("train " + own);
  CHECK(anew.exit_code == 2);
  CHECK(contains(anew.output, "is the config of a run; --resume goes on with that run"));
  CHECK(contains(program("train " + own + " --resume").output, "one is already finished; nothing to do"));
  // One that is only called so is a config like others.
  const std::string mine = pairs.folder.path("mine");
  std::filesystem::create_directory(mine);
  std::filesystem::copy(pairs.config, mine + "/config.yaml");
  CHECK(program("config check " + mine + "/config.yaml").exit_code == 0);
  CHECK(shell("cd " + mine + " && " SURD_EXECUTABLE " train config.yaml").exit_code == 0);
}

TEST_CASE("an average says that the run has gone on since") {
  const TextPairs pairs;
  REQUIRE(pairs.train("one").exit_code == 0);
  const std::string run = pairs.folder.path("one");
  REQUIRE(program("average " + run + " --last 2").exit_code == 0);
  CHECK_FALSE(contains(program("eval --checkpoint average " + run).output, "gone on"));
  const std::string config = surd::read_file(pairs.config);
  const Outcome over_config = program("average " + run + " --last 2 --out " + pairs.config);
  CHECK(over_config.exit_code == 2);
  CHECK(contains(over_config.output, pairs.config + "' is there and is no average; name another file"));
  CHECK(surd::read_file(pairs.config) == config);
  REQUIRE(pairs.train("one", "--resume --set train.updates=6").exit_code == 0);
  CHECK(contains(
      program("eval --checkpoint average " + run).output,
      "is of the updates 2,4, made when the run was at 4, and now it is at 6; surd average " + run + " --last 2"));
}

TEST_CASE("what surd eval measures is what surd translate writes, however long the reference is") {
  const TextPairs pairs;
  std::string words;
  for (int i = 0; i < 30; ++i) words += "a b ";  // of one word as long as translations become
  const std::string target = pairs.folder.write("long.de", long_words + "\n" + words + "c\n");
  const std::string source = pairs.folder.write("long.en", "a b c\na\n"), run = pairs.folder.path("long");
  const std::string config = pairs.write("long", source, target, "subwords: {kind: bpe, size: 40}");
  REQUIRE(program("train " + config + " --out " + run).exit_code == 0);
  const json eval = json::parse(program("eval --json " + run).output);
  REQUIRE(shell(SURD_EXECUTABLE " translate " + run + " < " + source + " > " + run + "/hypotheses").exit_code == 0);
  for (const std::string metric : {"bleu", "chrf"}) {
    const Outcome scored = program(metric + " " + run + "/hypotheses --reference " + target + " --json");
    CHECK(json::parse(scored.output)["score"].get<double>() == doctest::Approx(eval[metric].get<double>()));
  }
}

TEST_CASE("whose data are not there is told where they were, and of damaged ones what is wrong") {
  const TextPairs pairs;
  REQUIRE(pairs.train("one").exit_code == 0);
  pairs.folder.write("text.de", "b a\xFF\n");
  const Outcome damaged = program("eval " + pairs.folder.path("one"));
  CHECK(damaged.exit_code != 0);
  CHECK_FALSE(contains(damaged.output, "all files of its data are needed"));
  std::filesystem::remove(pairs.target);
  const Outcome missing = program("eval " + pairs.folder.path("one"));
  CHECK(missing.exit_code == 2);
  CHECK(contains(missing.output, "all files of its data are needed: task.train_target: cannot read"));
  CHECK(contains(missing.output, "write the new path into " + pairs.folder.path("one/config.yaml")));
}

TEST_CASE("a line to score has two columns") {
  const TextPairs pairs;
  REQUIRE(pairs.train("one").exit_code == 0);
  const Outcome scored = shell("printf 'a b\\tb a\\tb\\n' | " SURD_EXECUTABLE " score " + pairs.folder.path("one"));
  CHECK(scored.exit_code == 1);
  CHECK(contains(scored.output, "standard input:1: has more than one tab"));
}

}  // namespace
