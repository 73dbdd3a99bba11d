#include "trained_run.hpp"

#include "train/storage/files.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <vector>

using namespace surd;
using namespace surd::test;

namespace {

namespace fs = std::filesystem;

/// A run whose every reference ends in a word of its own, which min_frequency keeps out of the vocabulary: its model
/// has learned to write <unk> there.
struct RunWithUnknownWords {
  TemporaryDirectory folder;
  std::string path = folder.path("run"), output;

  RunWithUnknownWords() {
    std::string sources, targets;
    for (const char* first : {"a", "b", "c"})
      for (const char* second : {"a", "b", "c"}) {
        const std::string pair = fmt::format("{} {}", first, second);
        sources += pair + "\n";
        targets += fmt::format("{} rare-{}-{}\n", pair, first, second);
      }
    const std::string source = folder.write("source", sources), target = folder.write("target", targets);
    const std::string files = all_splits(source, target);
    const std::string config = folder.write(
        "run.yaml",
        "task: {name: parallel_text, min_frequency: 2" + files +
            "}\n"
            "model: {d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: {width: 16}}\n"
            "optimizer: {learning_rate: 0.01}\nschedule: {name: constant}\n"
            "train: {updates: 300, batch_size: 9, evaluate_every: 300}\n");
    const Outcome trained = program("train " + config + " --out " + path);
    output = trained.output;
    CAPTURE(output);
    REQUIRE(trained.exit_code == 0);
  }
};

std::string without_line(const std::string& text, std::size_t number) {
  std::size_t begin = 0;
  while (number-- > 1) begin = text.find('\n', begin) + 1;
  return text.substr(0, begin) + text.substr(text.find('\n', begin) + 1);
}

}  // namespace

TEST_CASE("what is no ordinary line of standard input") {
  const TrainedRun run;
  const Outcome endless = shell(SURD_EXECUTABLE " translate " + run.path + " </dev/zero");
  CHECK(endless.exit_code == 1);
  CHECK(contains(endless.output, "standard input:1: a line has more than 16 MiB; is that text?"));
  const std::string plain = run.translate("a b\\nc\\n").output;
  CHECK(run.translate("\\357\\273\\277a b\\r\\nc").output == plain);  // a byte order mark, CRLF, no last newline
  for (const char* batch : {"--batch-size 1", "--batch-size 2", "--batch-size 64"}) {
    const std::string blanks = run.translate("a b\\n\\n \\nc\\n\\n", batch).output;
    CAPTURE(blanks);
    CHECK(blanks == without_line(plain, 2) + "\n\n" + without_line(plain, 1) + "\n");
  }
  const Outcome invalid = run.translate("a b\\nc\\nb \\377\\n");
  CHECK(invalid.exit_code == 1);
  CHECK(contains(invalid.output, plain));  // the lines before it
  CHECK(contains(invalid.output, "error: standard input:3:3: invalid UTF-8 (byte 0xff)"));
  const Outcome folder = shell(SURD_EXECUTABLE " translate " + run.path + " < " + run.folder.path());
  CHECK(folder.exit_code == 1);
  CHECK(contains(folder.output, "standard input: line 1 cannot be read: Is a directory"));
  CHECK(run.translate("").exit_code == 0);
}

TEST_CASE("a checkpoint that cannot be used is answered with those there are") {
  const TrainedRun run;
  const std::string holds = "holds best.safetensors, update-00000002.safetensors, update-00000004.safetensors";
  const Outcome nonsense = program("eval " + run.path + " --checkpoint nonsense");
  CHECK(nonsense.exit_code == 2);
  CHECK(contains(nonsense.output, "there is no file 'nonsense'; --checkpoint takes best, last, average or a file"));
  CHECK(contains(nonsense.output, holds));

  std::string bytes = read_file(run.checkpoints + "best.safetensors");
  bytes[bytes.size() - 3] = static_cast<char>(bytes[bytes.size() - 3] ^ 1);
  write_file_atomically(run.checkpoints + "best.safetensors", bytes);
  for (const std::string command : {"eval ", "translate "}) {
    const Outcome damaged = shell(SURD_EXECUTABLE " " + command + run.path + " < /dev/null");
    CHECK(damaged.exit_code == 1);
    CHECK(contains(damaged.output, "best.safetensors: the checksum does not match"));
    CHECK(contains(damaged.output, holds));
  }
  CHECK(program("eval " + run.path + " --checkpoint last").exit_code == 0);
  CHECK(program("eval " + run.path + " --checkpoint " + run.checkpoints + "update-00000002.safetensors").exit_code ==
        0);
  fs::remove_all(run.path + "/checkpoints");
  const Outcome none = program("eval " + run.path);
  CHECK(none.exit_code == 2);
  CHECK(contains(none.output, "has no checkpoint any more; train it again into another folder"));
}

TEST_CASE("a pair too long to be evaluated is told with its place") {
  const TrainedRun run(
      " --set task.name=reverse --set model.positions.kind=learned --set model.positions.max_length=4");
  CHECK(program("eval " + run.path).exit_code == 0);
  const Outcome evaluated = program("eval " + run.path + " --split test_long");
  CHECK(evaluated.exit_code == 1);
  CHECK(contains(evaluated.output, "of test_long: "));
  CHECK(contains(evaluated.output, "tokens are more than the model's longest sequence of 4"));
}

TEST_CASE("a split or a run that is not there is a mistake of usage") {
  const TrainedRun run;
  CHECK(program("eval " + run.path + " --split train").exit_code == 0);
  for (const std::string command : {"eval ", "samples "}) {
    const Outcome split = program(command + run.path + " --split vaild");
    CHECK(split.exit_code == 2);
    CHECK(contains(split.output,
                   "--split: there is no split 'vaild'; there are train, valid, test; did you mean 'valid'?"));
    CHECK(program(command + run.folder.path("nowhere")).exit_code == 2);
  }
  const std::string s = run.folder.write("s", "a\nb\n"), t = run.folder.write("t", "a\n");
  CHECK(program("score " + run.path + " --source " + s + " --target " + t).exit_code == 2);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "a ";
  const std::string one = run.folder.write("one", "a\n"), all = run.folder.write("long", many + "\n");
  CHECK(contains(program("score " + run.path + " --source " + one + " --target " + all).output, "long:1: 1001 tokens"));
  CHECK(contains(program("score " + run.path + " --source " + all + " --target " + one).output, "long:1: 1001 tokens"));
}

TEST_CASE("samples are the split's pairs in their order, translated as `surd translate` does, however many") {
  const TrainedRun run(" --set task.train_size=150");
  std::istringstream samples(program("samples " + run.path + " --split train --count 1000").output);
  std::string sources, translations;
  for (std::string line; std::getline(samples, line);) {
    if (line.rfind("source       ", 0) == 0) sources += line.substr(13) + "\n";
    if (line.rfind("translation  ", 0) == 0) translations += line.substr(13, line.rfind("  ") - 13) + "\n";
  }
  CHECK(std::count(sources.begin(), sources.end(), '\n') == 150);
  const std::string file = run.folder.write("sources", sources);
  CHECK(shell(SURD_EXECUTABLE " translate " + run.path + " < " + file).output == translations);
}

TEST_CASE("a reference that ends in an unseen word is matched by nothing, and shown as it is") {
  const RunWithUnknownWords run;
  const auto eval = nlohmann::json::parse(program("eval " + run.path + " --split train --json 2>/dev/null").output);
  CHECK(eval["sequence_accuracy"] == 0);
  CHECK(eval["token_accuracy"].get<double>() == doctest::Approx(0.75));  // of four tokens all but the unknown one

  const std::string samples = program("samples " + run.path + " --count 2 --scores").output;
  CAPTURE(samples);
  CHECK(contains(samples, "source       a b\ntranslation  a b <unk>  ✗\nscore        -"));
  CHECK(contains(samples, ", log-probability -"));
  CHECK(contains(samples, "\nreference    a b rare-a-b\n"));

  const std::string s = run.folder.write("s", "a b\na b\n"), t = run.folder.write("t", "a b rare-a-b\na a\n");
  std::istringstream scored(program("score " + run.path + " --source " + s + " --target " + t).output);
  std::string line;
  std::getline(scored, line);
  CHECK(nlohmann::json::parse(line)["tokens"] == nlohmann::json({"a", "b", "rare-a-b", "</s>"}));
  CHECK(nlohmann::json::parse(line)["unknown"] == nlohmann::json({2}));
  std::getline(scored, line);
  CHECK(nlohmann::json::parse(line)["unknown"] == nlohmann::json::array());
}

TEST_CASE("a run tells the share of unknown tokens, and above 1 % what to do") {
  const RunWithUnknownWords run;
  CHECK(contains(run.output,
                 "\nunknown     source 0.00 % of train, 0.00 % of valid, 0.00 % of test\n"
                 "            target 33.33 % of train, 33.33 % of valid, 33.33 % of test\nmodel "));
  const std::string warning =
      "warning: 33.3 % of the target tokens of train are not in the vocabulary: the model sees <unk> in their place, "
      "and a translation whose reference has one is never right; lower min_frequency (2), or cut words into subwords: "
      "task.subwords: {kind: bpe}\n";
  CHECK(contains(run.output, warning));
  CHECK(contains(program("config check " + run.path + "/config.yaml").output, warning));
  const std::string measured = program("eval " + run.path + " --split train").output;
  CHECK(contains(measured, warning));
  CHECK(contains(measured, "\nunknown tokens: source 0.00 %, target 33.33 %\n"));
  const auto eval = nlohmann::json::parse(program("eval " + run.path + " --json 2>/dev/null").output);
  CHECK(eval["unknown"]["source"] == 0);
  CHECK(eval["unknown"]["target"].get<double>() == doctest::Approx(1 / 3.0));

  const TrainedRun generated;
  CHECK_FALSE(contains(generated.output, "unknown"));
  CHECK_FALSE(contains(program("eval " + generated.path).output, "unknown"));
}

TEST_CASE("scores are the log-probability that surd score gives, and that divided by the length penalty") {
  const RunWithUnknownWords run;
  for (const char* search : {"", "--beam 3 --length-penalty 2", "--beam 3 --length-penalty 0"}) {
    CAPTURE(search);
    const Outcome outcome =
        shell(fmt::format("printf 'a b\\n\\nc\\n' | {} translate {} --scores {}", SURD_EXECUTABLE, run.path, search));
    CAPTURE(outcome.output);
    std::vector<std::vector<std::string>> lines;
    std::istringstream text(outcome.output);
    for (std::string line; std::getline(text, line);) {
      std::istringstream columns(line + "\t");
      lines.emplace_back();
      for (std::string column; std::getline(columns, column, '\t');) lines.back().push_back(column);
    }
    REQUIRE(lines.size() == 3);
    for (const auto& columns : lines) REQUIRE(columns.size() == 3);
    CHECK(lines[1] == std::vector<std::string>{"", "", ""});  // a blank line has as many columns
    CHECK(lines[0][2] == "a b <unk>");
    const std::string s = run.folder.write("s", "a b\n"), t = run.folder.write("t", "a b <unk>\n");
    const std::string files = " --source " + s + " --target " + t;
    const auto scored = nlohmann::json::parse(program("score " + run.path + files + " 2>/dev/null").output);
    const double score = std::stod(lines[0][0]), log_probability = std::stod(lines[0][1]);
    CHECK(std::fabs(log_probability - scored["total"].get<double>()) <= 1e-4);
    const double alpha = std::string(search).empty() ? 1 : search[std::string(search).size() - 1] - '0';
    CHECK(std::fabs(score - log_probability / std::pow(9 / 6.0, alpha)) <= 1e-4);  // three tokens and the end
  }
}

TEST_CASE("--no-unknown keeps <unk> out of translations") {
  const RunWithUnknownWords run;
  for (const char* search : {"", " --beam 3"}) {
    const auto translate = [&](const std::string& options) {
      return shell("echo a b | " SURD_EXECUTABLE " translate " + run.path + search + options + " 2>/dev/null").output;
    };
    CHECK(translate("") == "a b <unk>\n");
    CHECK_FALSE(contains(translate(" --no-unknown"), "<unk>"));
  }
  CHECK_FALSE(contains(program("samples " + run.path + " --no-unknown").output, "b <unk>"));
  CHECK(nlohmann::json::parse(program("eval " + run.path + " --json --no-unknown 2>/dev/null").output)["no_unknown"]);
}

TEST_CASE("a summary that was damaged by hand names its key and the way out") {
  const TrainedRun run;
  const std::string summary = run.path + "/summary.json", whole = read_file(summary);
  struct Damage {
    const char *from, *to, *message;
  };
  for (const Damage& damage : {Damage{"\"finished\": true", "\"finished\": 7", "'finished' is neither true nor false"},
                               Damage{"\"diverged\"", "\"divurged\"", "has no 'diverged'"},
                               Damage{"\"last\": {", "\"last\": [], \"x\": {", "'last' is not an object"},
                               Damage{"\"last\": {", "\"last\": {}, \"x\": {", "has no 'last.loss'"},
                               Damage{"{", "", "is not a JSON object"}}) {
    std::string text = whole;
    REQUIRE(text.find(damage.from) != std::string::npos);
    text.replace(text.find(damage.from), std::string(damage.from).size(), damage.to);
    write_file_atomically(summary, text);
    const Outcome compared = program("compare " + run.path);
    CAPTURE(compared.output);
    CHECK(compared.exit_code == 2);  // nothing is left to compare
    CHECK(contains(compared.output, "summary.json: " + std::string(damage.message)));
    CHECK(contains(compared.output, "surd train " + run.path + "/config.yaml --out " + run.path + " --resume"));
    CHECK_FALSE(contains(compared.output, "json.exception"));
  }
  // The way out leads out.
  fs::remove(summary);
  CHECK(program("train " + run.path + "/config.yaml --out " + run.path + " --resume").exit_code == 0);
  CHECK(program("compare " + run.path).exit_code == 0);
  write_file_atomically(summary, "{\"finished\": \"yes\"}");
  CHECK(program("train " + run.path + "/config.yaml --out " + run.path + " --resume").exit_code == 0);
  CHECK(program("compare " + run.path).exit_code == 0);
}

TEST_CASE("n translations of a line, the best first, as text and as JSON") {
  const TrainedRun run;
  const std::string options = "--beam 4 --n-best 3 --normalization fairseq --length-penalty 0.6";
  const std::string list = run.translate("a b\\n\\nc\\n", options).output;
  CAPTURE(list);
  std::istringstream lines(list);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, '\t');) rows.back().push_back(cell);
  }
  REQUIRE(rows.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) CHECK(rows[i][0] == (i < 3 ? "1" : i == 3 ? "2" : "3"));
  CHECK(rows[3].size() < 4);  // the blank line
  for (const std::size_t i : {0, 1, 4, 5}) CHECK(std::stod(rows[i][1]) >= std::stod(rows[i + 1][1]));

  std::istringstream objects(run.translate("a b\\n\\nc\\n", options + " --json").output);
  std::string line;
  for (std::size_t number = 1; number <= 3; ++number) {
    REQUIRE(std::getline(objects, line));
    const auto json = nlohmann::json::parse(line);
    CHECK(json["line"] == number);
    CHECK(json["translations"].size() == (number == 2 ? 0 : 3));
    if (number == 2) continue;
    const auto& best = json["translations"][0];
    const std::size_t length = best["tokens"].size() + (best["finished"] ? 1 : 0);
    CHECK(best["score"].get<double>() ==
          doctest::Approx(best["log_probability"].get<double>() / std::pow(length, 0.6)).epsilon(1e-6));
  }
  CHECK(program("translate " + run.path + " --n-best 2 < /dev/null").exit_code == 2);  // of a beam of one
}

TEST_CASE("order is kept whatever waits for what, and long lines are cut with a warning") {
  const TrainedRun run;
  const std::string input = "a\\nb a c a\\nc\\na a\\n\\nb c a\\n";
  const std::string alone = run.translate(input, "--interactive").output;
  for (const char* batch : {"--batch-size 1", "--batch-size 3", "--batch-size 100"})
    CHECK(run.translate(input, batch).output == alone);
  const std::string words = "$(yes a | head -n 3000 | tr '\\n' ' ')";
  const Outcome cut = shell("echo \"" + words + "\" | " SURD_EXECUTABLE " translate " + run.path + " --max-length 3");
  CHECK(cut.exit_code == 0);
  CHECK(contains(cut.output, "standard input:1: 3,000 tokens; the first 511 are translated"));
  const Outcome closed = shell("yes a | head -n 5000 | " SURD_EXECUTABLE " translate " + run.path + " | head -n 1");
  CHECK(closed.exit_code == 0);
  CHECK(std::count(closed.output.begin(), closed.output.end(), '\n') == 1);
}

TEST_CASE("words that the vocabulary lacks are told once, at the end") {
  const TrainedRun run;
  const std::string told = run.translate("a zebra\\nzebra yak b\\n").output;
  CHECK(contains(told, "3 of 5 tokens (60 %) are not in the vocabulary, among them zebra, yak\n"));
  CHECK_FALSE(contains(run.translate("a b\\n").output, "vocabulary"));
  const std::string cased = run.translate("A B c\\n").output;
  CHECK(contains(cased, "2 of 3 tokens (66.7 %) are not in the vocabulary, among them A, B; in lower case it has 2"));
  const std::string s = run.folder.write("cased", "A b\n"), t = run.folder.write("plain", "a b\n");
  CHECK(contains(program("score " + run.path + " --source " + s + " --target " + t).output,
                 "1 of 4 tokens (25 %) are not in the vocabulary, among them A; in lower case it has 1 of them"));
}

TEST_CASE("the average of checkpoints is made, named and used") {
  const TrainedRun run;
  CHECK(contains(program("eval " + run.path + " --checkpoint average").output, "there is no average yet; make it by"));
  const Outcome made = program("average " + run.path + " --last 2");
  CHECK(made.output == run.checkpoints + "average.safetensors\nmean of 2 checkpoints, after updates 2, 4\n");
  CHECK(program("eval " + run.path + " --checkpoint average").exit_code == 0);
  CHECK(contains(program("average " + run.path + " --last 3").output, "holds 2 checkpoints beside the best"));
  CHECK(contains(program("average " + run.folder.path("none") + " --last 2").output, "is not the folder of a run"));
  CHECK(contains(program("average " + run.path).output, "takes either --last N or --checkpoint best"));
  const std::string last = run.checkpoints + "update-00000004.safetensors", out = run.folder.path("one");
  CHECK(program("average " + run.path + " --checkpoint " + last + " --out " + out).exit_code == 0);
  CHECK(program("eval " + run.path + " --checkpoint " + out).output.substr(40) !=
        program("eval " + run.path + " --checkpoint average").output.substr(40));
}
