#include "experiments/commands/export/csv.hpp"
#include "tests/experiments/commands/trained_run.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

using namespace surd;
using namespace surd::test;

namespace {

std::vector<std::vector<std::string>> csv_cells(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream cells(line + ",");
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

}  // namespace

TEST_CASE("the curves of runs are drawn on a page that needs nothing else") {
  const TrainedRun run;
  const std::string page = run.folder.path("curves.html");
  const Outcome drawn = program("plot " + run.path + " --out " + page);
  CHECK(drawn.output == page + "\n");
  const std::string html = read_file(page);
  CHECK(contains(html, "<title>Learning curves of " + run.path + "</title>"));
  for (const char* chart : {"loss", "tokens", "sequences", "gradient", "rate"})
    CHECK(contains(html, fmt::format("<figure id=\"{}\"", chart)));
  CHECK_FALSE(contains(html, "<figure id=\"bleu\""));  // was not measured
  CHECK_FALSE(contains(html, "src=\"http"));
  CHECK(program("plot " + run.folder.path()).exit_code == 2);
}

TEST_CASE("runs that differ in the seed alone are one line of a picture, and each run counts once") {
  const TrainedRun run, again(" --set seed=2"), other(" --set model.embedding.scale=one");
  const std::string picture = run.folder.path("curves.svg");
  const std::string runs = run.path + " " + again.path + " " + run.path + "/../run " + other.path;
  const Outcome drawn = program("plot " + runs + " --log-loss --out " + picture);
  CHECK(drawn.output == picture + "\n");
  const std::string svg = read_file(picture);
  CHECK(svg.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0) == 0);
  CHECK(contains(svg, ">" + run.path + " (mean of 2 runs)</text>"));
  CHECK(contains(svg, ">" + other.path + "</text>"));
  CHECK_FALSE(contains(svg, ">" + again.path));
  const Outcome refused = program("plot " + run.path + " --out " + run.folder.path("curves.png"));
  CHECK(refused.exit_code == 2);
  CHECK(contains(refused.output, "must end in .html or .svg"));
}

TEST_CASE("a run that cannot be drawn does not hide the others") {
  const TrainedRun run, damaged, begun;
  write_file_atomically(damaged.path + "/metrics.jsonl", "{\n");
  write_file_atomically(begun.path + "/metrics.jsonl", "");
  std::filesystem::remove(begun.path + "/summary.json");
  const std::string page = run.folder.path("curves.svg");
  const Outcome drawn = program("plot " + damaged.path + " " + begun.path + " " + run.path + " --out " + page);
  CHECK(drawn.exit_code == 0);
  CHECK(contains(drawn.output, "left out: " + damaged.path + "/metrics.jsonl:1: "));
  CHECK(contains(drawn.output, "left out: " + begun.path + "/metrics.jsonl: has nothing to draw yet"));
  CHECK(contains(read_file(page), ">" + run.path + "</text>"));
  const Outcome none = program("plot " + damaged.path + " " + begun.path + " --out " + run.folder.path("none.svg"));
  CHECK(none.exit_code == 2);
  CHECK(contains(none.output, "none of the folders is a run that can be drawn"));
  CHECK_FALSE(path_exists(run.folder.path("none.svg")));
  // Whatever file a message names, the folder is told.
  const std::string base = run.folder.write("base.yaml", "task: [\n");
  write_file_atomically(damaged.path + "/config.yaml", "extends: " + base + "\n");
  CHECK(contains(program("plot " + damaged.path + " --out " + page).output, "left out: " + damaged.path + ": " + base));
  const std::string copy = run.path + "-copy";
  std::filesystem::copy(run.path, copy, std::filesystem::copy_options::recursive);
  CHECK(contains(program("plot " + run.path + " " + copy + " --out " + page).output,
                 copy + " has the settings and the seed of " + run.path + ": they count as two"));
}

TEST_CASE("the log of a run is a row a step as CSV") {
  const TrainedRun run;
  const std::string command = "export " + run.path + " --format csv";
  const Outcome printed = program(command);
  CHECK(printed.exit_code == 0);
  CHECK(
      contains(program(command + " --checkpoint last").output, "--checkpoint: is of a model; csv takes the run's log"));
  const auto rows = csv_cells(printed.output);
  REQUIRE(rows.size() == 3);  // evaluated after updates 2 and 4, logged after 4
  CHECK(rows[0] == std::vector<std::string>{"step", "train/epoch", "train/loss", "train/gradient_norm",
                                            "train/learning_rate", "train/source_tokens", "train/target_tokens",
                                            "valid/loss", "valid/perplexity", "valid/token_accuracy",
                                            "valid/sequence_accuracy", "valid/trained_target_tokens", "valid/best"});
  const Metrics metrics = read_metrics(run.path + "/metrics.jsonl");
  CHECK(rows[1][0] == "2");
  for (std::size_t i = 1; i <= 6; ++i) CHECK(rows[1][i].empty());
  CHECK(std::stod(rows[1][7]) == metrics.evaluations[0].loss);
  CHECK(rows[2][0] == "4");
  CHECK(std::stod(rows[2][2]) == metrics.updates[0].loss);
  CHECK(rows[2][6] == std::to_string(metrics.updates[0].target_tokens));
  CHECK(std::stod(rows[2][7]) == metrics.evaluations[1].loss);
  CHECK(rows[2][12] == (metrics.evaluations[1].best ? "1" : "0"));

  const std::string file = run.folder.path("log.csv");
  CHECK(program(command + " --out " + file).output == file + "\n");
  CHECK(read_file(file) == printed.output);
  CHECK(program(command + " --out " + run.folder.path("log.txt")).exit_code == 2);
  CHECK(program("export " + run.path).exit_code == 2);
  CHECK(program("export " + run.path + " --format tsv").exit_code == 2);
  CHECK(program("export " + run.folder.path() + " --format csv").exit_code == 2);
}

TEST_CASE("CSV of a log without lines has a header, and a number that is none is said to be none") {
  Metrics metrics;
  CHECK(metrics_csv(metrics) == "step\n");
  EvaluationRecord record;
  record.update = 100000;
  record.loss = std::numeric_limits<double>::quiet_NaN();
  record.perplexity = 0.1;
  metrics.evaluations = {record};
  CHECK(metrics_csv(metrics) ==
        "step,valid/loss,valid/perplexity,valid/token_accuracy,valid/best\n100000,nan,0.1,0,0\n");
}
