#include "../../data/temporary_directory.hpp"
#include "../program.hpp"
#include "experiments/run/metrics_reader.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

using namespace surd;
using namespace surd::test;

namespace {

struct Files {
  TemporaryDirectory folder;
  std::string reference = folder.write("reference", "a b c d e\nf g h i j\n\nk\n");
  std::string good = folder.write("good", "a b c d e\nf g h i x\n\nk\n");
  std::string bad = folder.write("bad", "a b x x x\nx x h i x\n\nx\n");
  std::string given = " --reference " + reference;
};

}  // namespace

TEST_CASE("bleu and chrf print a score with its signature") {
  const Files files;
  // 10 of 11 words, 7 of 8, 5 of 6 and 3 of 4 n-grams match.
  CHECK(program("bleu " + files.good + files.given).output ==
        "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:surd-0.1.0 = 83.97 90.9/87.5/83.3/75.0 (BP = 1.000 "
        "ratio = 1.000 hyp_len = 11 ref_len = 11)\n");
  CHECK(shell("cat " + files.good + " | " SURD_EXECUTABLE " bleu -" + files.given).output ==
        program("bleu " + files.good + files.given).output);
  CHECK(program("chrf " + files.reference + files.given + " --word-order 2").output ==
        "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:surd-0.1.0 = 100.00\n");
  const auto json = nlohmann::json::parse(program("bleu --json " + files.good + files.given).output);
  CHECK(json["score"].get<double>() == doctest::Approx(83.97).epsilon(1e-4));
  CHECK(json["name"] == "BLEU");
}

TEST_CASE("several systems are compared with the first") {
  const Files files;
  const Outcome outcome =
      program("bleu " + files.bad + " " + files.good + files.given + " --test randomization --trials 500 --seed 3");
  CHECK(outcome.exit_code == 0);
  CHECK(contains(outcome.output, "baseline\n"));
  CHECK(contains(outcome.output, "83.97"));
  CHECK(contains(outcome.output, "paired approximate randomization, 500 trials, seed 3"));
  const auto json = nlohmann::json::parse(program("chrf --json " + files.bad + " " + files.good + files.given).output);
  CHECK(json.size() == 2);
  CHECK(json[0]["p_value"].is_null());
  CHECK(json[1]["test"] == "randomization");
  CHECK(json[1]["trials"] == 10000);
  CHECK(contains(program("bleu " + files.good + " " + files.good + files.given).output, "1.0000\n"));
  CHECK(json[1]["p_value"].get<double>() <= 1);
  CHECK(json[1]["score"].get<double>() > json[0]["score"].get<double>());
}

TEST_CASE("files that cannot be scored are told with their names") {
  const Files files;
  const auto answer = [&](const std::string& arguments) {
    const Outcome outcome = program(arguments);
    CHECK(outcome.exit_code == 2);
    return outcome.output;
  };
  const std::string three = files.folder.write("three", "a\nb\nc\n"), empty = files.folder.write("empty", "");
  CHECK(answer("bleu " + three + files.given) == "error: " + three + ": has 3 lines and " + files.reference +
                                                     " has 4 lines; line n must be the reference of line n\n");
  CHECK(contains(answer("bleu " + three + " --reference " + empty), empty + ": holds no line"));
  CHECK(contains(answer("chrf " + files.folder.path("none") + files.given), "No such file"));
  CHECK(contains(answer("bleu " + files.good + files.given + " --tokenize 13b"), "did you mean '13a'?"));
  CHECK(contains(answer("bleu " + files.good), "--reference"));
  CHECK(contains(answer("bleu - - " + files.given), "standard input can be named once"));
  CHECK(contains(answer("bleu " + files.good + files.given + " --trials 9"), "is of a comparison"));
  CHECK(contains(answer("bleu " + files.folder.write("latin", "caf\xe9\n") + files.given), "iconv"));
}

TEST_CASE("BLEU is the same in training, in eval and of the translations themselves") {
  const TemporaryDirectory folder;
  std::string sources, targets;
  for (const char* first : {"a", "b", "c", "d"})
    for (const char* second : {"a", "b", "c", "d"}) {
      sources += fmt::format("{0} {1} {0} {1} {0}, {1}\n", first, second);
      targets += fmt::format("{1} {0} {1} {0} {1}. {0}\n", first, second);
    }
  const std::string source = folder.write("source", sources), target = folder.write("target", targets);
  const std::string files = all_splits(source, target);
  const std::string config = folder.write(
      "run.yaml",
      "task: {name: parallel_text" + files +
          "}\n"
          "model: {d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: {width: 16}}\n"
          "optimizer: {learning_rate: 0.01}\nschedule: {name: constant}\n"
          "train: {updates: 40, batch_size: 16, evaluate_every: 20, evaluate_bleu: true, metric: bleu,\n"
          "        evaluate_splits: [test]}\n");
  const std::string run = folder.path("run");
  const Outcome trained = program("train " + config + " --out " + run);
  CAPTURE(trained.output);
  REQUIRE(trained.exit_code == 0);
  CHECK(contains(trained.output, "  BLEU "));
  const auto evaluations = read_metrics(run + "/metrics.jsonl").evaluations;
  REQUIRE(evaluations.size() == 2);
  const EvaluationRecord& last = evaluations[1];
  REQUIRE((last.bleu && last.chrf));
  CHECK(last.best == (*last.bleu > *evaluations[0].bleu));
  CHECK(*last.chrf > 0);

  const auto eval = nlohmann::json::parse(program("eval --json --checkpoint last " + run).output);
  CHECK(eval["bleu"] == *last.bleu);  // the splits are alike
  CHECK(eval["chrf"] == *last.chrf);
  CHECK(contains(eval["bleu_signature"], "tok:13a"));
  const auto summary = nlohmann::json::parse(read_file(run + "/summary.json"));
  CHECK(summary["splits"]["test"]["bleu"] == *last.bleu);
  CHECK(summary["last"]["chrf"] == *last.chrf);
  std::istringstream compared(program("compare " + run).output);
  std::string heads, row;
  std::getline(compared, heads);
  std::getline(compared, row);
  CHECK(heads == "finished  valid loss  tokens %  sequences %  BLEU    chrF2");
  CHECK(row.substr(45) == fmt::format("{:<6.2f}  {:.2f}", *last.bleu, *last.chrf));
  auto better_before = summary;
  better_before["best"]["bleu"] = 98.7;
  write_file_atomically(run + "/summary.json", better_before.dump());
  const Outcome best = program("compare --evaluation best " + run);
  CHECK(contains(best.output, "  98.70  "));
  CHECK(contains(best.output, "at their best\nevaluation"));
  CHECK_FALSE(contains(program("compare " + run).output, "98.70"));
  write_file_atomically(run + "/summary.json", summary.dump());
  REQUIRE(program("train " + config + " --set seed=2 --out " + run + "-2").exit_code == 0);
  const Outcome of_seeds = program("compare " + run + " " + run + "-2");
  CHECK(of_seeds.exit_code == 0);
  CHECK(contains(of_seeds.output, "2/2"));
  CHECK_FALSE(contains(of_seeds.output, "made twice"));
  std::filesystem::copy(run, run + "-3", std::filesystem::copy_options::recursive);
  CHECK(contains(program("compare " + run + " " + run + "-3").output, "they count as two, and are one run made twice"));
  const Outcome none = program("compare " + folder.path("nothing"));
  CHECK(none.exit_code == 2);
  CHECK(contains(none.output, "left out: " + folder.path("nothing") + ": is not the folder of a run"));
  CHECK(contains(none.output, "none of the folders is a run that has ended"));
  const std::string translations = shell(SURD_EXECUTABLE " translate --checkpoint last " + run + " < " + source).output;
  const auto of_file = nlohmann::json::parse(
      program("bleu --json " + folder.write("t", translations) + " --reference " + target).output);
  CHECK(of_file["score"] == *last.bleu);
  CHECK(contains(program("config check " + config + " --set train.evaluate_bleu=false").output,
                 "train.metric: bleu needs evaluate_bleu: true"));
}

TEST_CASE("a run with learned subwords is used, interrupted and resumed, and takes and gives plain text") {
  const TemporaryDirectory folder;
  std::string lines;
  for (const char* first : {"laufen", "schreiben", "sehen", "größer"})
    for (const char* second : {"läufer", "schreiber", "seher", "große"})
      lines += fmt::format("{} {}.\n", first, second);
  const std::string text = folder.write("text", lines);
  const std::string files = all_splits(text, text);
  for (const std::string shared : {"true", "false"}) {
    const std::string config = folder.write(
        "run.yaml",
        "task: {name: parallel_text, subwords: {kind: bpe, size: 40}, shared_vocabulary: " + shared + files +
            "}\n"
            "model: {d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: {width: 16}}\n"
            "train: {updates: 4, batch_size: 8, evaluate_every: 2, checkpoint_every: 2}\n");
    const std::string run = folder.path("run-" + shared), other = folder.path("other-" + shared);
    const Outcome trained = program("train " + config + " --out " + run);
    CAPTURE(trained.output);
    REQUIRE(trained.exit_code == 0);
    CHECK(contains(trained.output, ", bpe\n"));
    CHECK(contains(trained.output, "unknown     source 0.00 %"));
    for (const std::string command : {"eval ", "samples "}) CHECK(program(command + run).exit_code == 0);
    const std::string translated = shell(SURD_EXECUTABLE " translate " + run + " < " + text).output;
    CHECK(std::count(translated.begin(), translated.end(), '\n') == 16);
    CHECK_FALSE(contains(translated, "\xe2\x96\x81"));  // no marks of pieces

    const std::string lower = folder.path("lower-" + shared);
    REQUIRE(program("train " + config + " --set task.lowercase=true --out " + lower).exit_code == 0);
    CHECK(contains(program("eval " + lower + " --json").output, "case:lc"));
    CHECK(contains(program("eval " + run + " --json").output, "case:mixed"));
    const std::string small = shell("printf 'ein hund' | " SURD_EXECUTABLE " translate " + lower).output;
    CHECK(small == shell("printf 'Ein HUND' | " SURD_EXECUTABLE " translate " + lower).output);

    const std::string last = "/checkpoints/update-00000004.safetensors";
    std::filesystem::copy(run, other, std::filesystem::copy_options::recursive);
    for (const std::string& name : {last, std::string("/checkpoints/best.safetensors"), std::string("/summary.json")})
      std::filesystem::remove(other + name);  // as if it had been killed after update 2
    const Outcome resumed = program("train " + config + " --resume --out " + other);
    CAPTURE(resumed.output);
    CHECK(resumed.exit_code == 0);
    CHECK(contains(resumed.output, "resuming after update 2"));
    for (const std::string& name : {last, std::string("/metrics.jsonl")})
      CHECK(read_file(other + name) == read_file(run + name));
    write_file_atomically(run + "/vocabulary/source.model", "damaged");
    CHECK(contains(program("eval " + run).output, "source.model: is not a model of SentencePiece"));
  }
  const Outcome missing = program("config check " + folder.path("run.yaml") +
                                  " --set task.train_source=nope --set model.embedding.tie=all");
  CHECK(missing.exit_code == 2);
  CHECK(contains(missing.output, "task.train_source=nope: cannot read 'nope'"));
  CHECK(contains(missing.output, "model.embedding.tie=all: all needs a shared vocabulary"));  // all at once
  const Outcome small = program("config check " + folder.path("run.yaml") + " --set task.subwords.size=3");
  CHECK(small.exit_code == 2);
  CHECK(contains(small.output, "task.subwords.size=3: SentencePiece cannot learn 3 pieces"));
}

TEST_CASE("asking for BLEU does not change how many sentences are right") {
  const TemporaryDirectory folder;
  std::string sources, targets;
  for (int i = 0; i < 32; ++i) {
    sources += "x\n";
    for (int k = 0; k < 40; ++k) targets += fmt::format("t{} ", k);
    targets += "\n";
  }
  const std::string source = folder.write("source", sources), target = folder.write("target", targets);
  const std::string files = all_splits(source, target);
  const std::string config = folder.write(
      "run.yaml",
      "task: {name: parallel_text" + files +
          "}\n"
          "model: {d_model: 32, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: {width: 32}}\n"
          "optimizer: {learning_rate: 0.01}\nschedule: {name: constant}\n"
          "train: {updates: 120, batch_size: 8, evaluate_every: 120}\n");
  const std::string run = folder.path("run");
  const Outcome trained = program("train " + config + " --out " + run);
  CAPTURE(trained.output);
  REQUIRE(trained.exit_code == 0);
  const auto last = read_metrics(run + "/metrics.jsonl").evaluations.back();
  CHECK(last.sequence_accuracy == 1);
  CHECK(nlohmann::json::parse(program("eval --json " + run).output)["sequence_accuracy"] == 1);
}
