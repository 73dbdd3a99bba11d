#include "experiments/commands.hpp"
#include "experiments/console.hpp"
#include "experiments/run_folder.hpp"
#include "experiments/settings.hpp"
#include "experiments/yaml_document.hpp"
#include "train/files.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace surd {
namespace {

using Json = nlohmann::json;

struct ComparedRun {
  Settings settings;
  Json summary;
};

ComparedRun read_run(const std::string& path) {
  const RunFolder folder(path);
  ComparedRun run;
  run.settings = settings_of(YamlDocument::load(folder.config()).root());
  run.settings.erase("seed");
  run.summary = Json::parse(read_file(folder.summary()), nullptr, false);
  expect(run.summary.is_object(), folder.summary(), "is not JSON; has the run ended?");
  return run;
}

/// The settings whose values differ between the runs.
std::vector<std::string> differing(const std::vector<ComparedRun>& runs) {
  std::map<std::string, std::set<std::string>> values;
  for (const ComparedRun& run : runs)
    for (const auto& [path, value] : run.settings) values[path].insert(value);
  std::vector<std::string> paths;
  for (const auto& [path, distinct] : values) {
    const bool everywhere = std::all_of(
        runs.begin(), runs.end(), [&path = path](const ComparedRun& run) { return run.settings.count(path) > 0; });
    if (distinct.size() > 1 || !everywhere) paths.push_back(path);
  }
  return paths;
}

/// "0.1234 ± 0.0100": mean and sample standard deviation.
std::string mean_and_deviation(const std::vector<double>& values, double unit, int digits) {
  if (values.empty()) return "-";
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  for (const double value : values) squares += (value - sum / n) * (value - sum / n);
  if (values.size() == 1) return fmt::format("{:.{}f}", unit * sum, digits);
  return fmt::format("{:.{}f} ± {:.{}f}", unit * sum / n, digits, unit * std::sqrt(squares / (n - 1)), digits);
}

void print_rows(const std::vector<std::vector<std::string>>& rows) {
  const auto width_of = [](const std::string& text) {  // code points: every other byte of UTF-8 begins with 10
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  };
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows[r].size(); ++i)
      line += rows[r][i] + std::string(widths[i] - width_of(rows[r][i]) + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", r == 0 ? styled(line, Console::Style::bold, STDOUT_FILENO) : line);
  }
}

}  // namespace

int compare_command(const std::vector<std::string>& folders) {
  std::vector<ComparedRun> runs;
  Console console;
  for (const std::string& folder : folders) {
    try {
      runs.push_back(read_run(folder));
    } catch (const Error& error) {  // a run that has not ended must not hide the others
      console.warn(fmt::format("{} is left out: {}", folder, error.what()));
    }
  }
  expect(!runs.empty(), "compare", "none of the folders is a run that has ended");
  const std::vector<std::string> paths = differing(runs);

  std::map<std::vector<std::string>, std::vector<const Json*>> groups;
  for (const ComparedRun& run : runs) {
    std::vector<std::string> key;
    for (const std::string& path : paths) {
      const auto found = run.settings.find(path);
      key.push_back(found == run.settings.end() ? "-" : found->second);
    }
    groups[key].push_back(&run.summary);
  }

  std::vector<std::vector<std::string>> rows{paths};
  for (const char* column : {"finished", "diverged", "valid loss", "tokens %", "sequences %"})
    rows[0].emplace_back(column);
  for (const auto& [key, summaries] : groups) {
    std::size_t diverged = 0, finished = 0;
    std::map<std::string, std::vector<double>> values;
    for (const Json* summary : summaries) {
      if (!summary->value("diverged", Json()).is_null()) ++diverged;
      if (!summary->value("finished", false)) continue;  // its last evaluation is not where it would have ended
      ++finished;
      const Json last = summary->value("last", Json());
      if (last.is_object())
        for (const char* metric : {"loss", "token_accuracy", "sequence_accuracy"})
          if (last.contains(metric) && last[metric].is_number()) values[metric].push_back(last[metric]);
    }
    std::vector<std::string> row = key;
    row.push_back(fmt::format("{}/{}", finished, summaries.size()));
    row.push_back(std::to_string(diverged));
    row.push_back(mean_and_deviation(values["loss"], 1, 4));
    row.push_back(mean_and_deviation(values["token_accuracy"], 100, 2));
    row.push_back(mean_and_deviation(values["sequence_accuracy"], 100, 2));
    rows.push_back(row);
  }
  print_rows(rows);
  fmt::print("\nmean ± standard deviation over the finished runs of a row, at their last evaluation\n");
  return exit_done;
}

}  // namespace surd
