#include "experiments/command_line/command.hpp"
#include "experiments/commands/named_runs.hpp"
#include "experiments/config/settings.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/study/statistics/statistics.hpp"
#include "train/storage/files.hpp"
#include "train/storage/json_object.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace surd {
namespace {

enum class WhichEvaluation { last, best };
std::vector<std::string> names_of(WhichEvaluation) { return {"last", "best"}; }

struct CompareArguments {
  Texts runs;
  WhichEvaluation evaluation = WhichEvaluation::last;

  void fields(Fields& f) {
    f("runs", runs, "folders of runs", Unit{"run"});
    f("evaluation", evaluation,
      "which one of each run is compared: its last one, or its best one by train.metric, whose checkpoint is the one "
      "that surd translate and surd eval use",
      Unit{"name"});
  }
};

struct ComparedRun {
  Settings settings;  // but for the seed
  bool finished = false;
  bool diverged = false;
  std::map<std::string, double> metrics;  // at the evaluation that is compared
};

/// A column; one that no run has is left out.
struct ComparedMetric {
  const char* name;  // in summary.json
  const char* heading;
  double unit;
  int digits;
  bool always = false;  // an evaluation without it is damaged
};
constexpr ComparedMetric compared_metrics[] = {{"loss", "valid loss", 1, 4, true},
                                               {"bits_per_byte", "bits/byte", 1, 4},
                                               {"token_accuracy", "tokens %", 100, 2, true},
                                               {"sequence_accuracy", "sequences %", 100, 2},
                                               {"bleu", "BLEU", 1, 2},
                                               {"chrf", "chrF2", 1, 2}};

ComparedRun read_run(const RunFolder& folder, Settings settings, WhichEvaluation which) {
  ComparedRun run;
  settings.erase("seed");
  run.settings = std::move(settings);
  expect(path_exists(folder.summary()), folder.summary(), "is not there; has the run ended?");
  const JsonObject summary = folder.read_summary();
  run.finished = summary.truth("finished");
  run.diverged = !summary.is_null("diverged");
  const std::string name = name_of(which);
  if (summary.is_null(name)) return run;
  const JsonObject evaluation = summary.object(name);
  for (const ComparedMetric& metric : compared_metrics)
    if (metric.always || evaluation.has(metric.name)) run.metrics[metric.name] = evaluation.real(metric.name);
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
std::string mean_and_deviation(const std::vector<double>& values, const ComparedMetric& metric) {
  if (values.empty()) return "-";
  const double mean = metric.unit * statistics::mean(values);
  if (values.size() == 1) return fmt::format("{:.{}f}", mean, metric.digits);
  const double deviation = metric.unit * statistics::standard_deviation(values);
  return fmt::format("{:.{}f} ± {:.{}f}", mean, metric.digits, deviation, metric.digits);
}

using Rows = std::vector<std::vector<std::string>>;

bool fits(const std::vector<std::string>& lines) {
  return std::all_of(lines.begin(), lines.end(),
                     [](const std::string& line) { return columns_of(line) <= screen_width; });
}

/// 0 -> "A", 25 -> "Z", 26 -> "AA".
std::string letters(std::size_t index) {
  const std::string last(1, static_cast<char>('A' + index % 26));
  return index < 26 ? last : letters(index / 26 - 1) + last;
}

/// One line for each group i, `keys[i]` and then `results[i]`, under headings; `paths` are the headings of the keys.
/// Where that is wider than a screen, letters stand for the paths and are explained beneath; where it is still too
/// wide, letters stand for the groups instead.
std::vector<std::string> table(const std::vector<std::string>& paths, const Rows& keys,
                               const std::vector<std::string>& columns, const Rows& results) {
  const auto beside = [&](const std::vector<std::string>& names, const Rows& left) {
    Rows rows{names};
    rows[0].insert(rows[0].end(), columns.begin(), columns.end());
    for (std::size_t i = 0; i < left.size(); ++i) {
      rows.push_back(left[i]);
      rows.back().insert(rows.back().end(), results[i].begin(), results[i].end());
    }
    return aligned(rows);
  };
  std::vector<std::string> lines = beside(paths, keys);
  if (fits(lines)) return lines;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < paths.size(); ++i) names.push_back(letters(i));
  lines = beside(names, keys);
  Rows legend;
  if (fits(lines)) {
    for (std::size_t i = 0; i < paths.size(); ++i) legend.push_back({names[i], paths[i]});
  } else {
    Rows group_names;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      group_names.push_back({letters(i)});
      for (std::size_t k = 0; k < paths.size(); ++k)
        legend.push_back({k == 0 ? letters(i) : "", fmt::format("{}: {}", paths[k], keys[i][k])});
    }
    lines = beside({"group"}, group_names);
  }
  if (!legend.empty()) lines.emplace_back();
  for (const std::string& line : aligned(legend)) lines.push_back(line);
  return lines;
}

int compare_command(const CompareArguments& arguments) {
  const std::vector<ComparedRun> runs =
      read_named_runs(arguments.runs.values, "surd compare", "has ended; --resume goes on with one",
                      [&](const RunFolder& folder, const Settings& settings) {
                        return read_run(folder, settings, arguments.evaluation);
                      });
  const std::vector<std::string> paths = differing(runs);

  std::map<std::vector<std::string>, std::vector<const ComparedRun*>> groups;
  for (const ComparedRun& run : runs) {
    std::vector<std::string> key;
    for (const std::string& path : paths) {
      const auto found = run.settings.find(path);
      key.push_back(found == run.settings.end() ? "-" : found->second);
    }
    groups[key].push_back(&run);
  }

  std::vector<ComparedMetric> shown;
  for (const ComparedMetric& metric : compared_metrics)
    if (std::any_of(runs.begin(), runs.end(),
                    [&](const ComparedRun& run) { return run.metrics.count(metric.name) > 0; }))
      shown.push_back(metric);
  std::vector<std::string> columns = {"finished"};
  for (const ComparedMetric& metric : shown) columns.emplace_back(metric.heading);

  Rows keys, results;
  for (const auto& [key, members] : groups) {
    std::size_t diverged = 0, finished = 0;
    std::map<std::string, std::vector<double>> values;
    for (const ComparedRun* run : members) {
      diverged += run->diverged;
      if (!run->finished) continue;  // an unfinished run's last evaluation says nothing of its end
      ++finished;
      for (const auto& [metric, value] : run->metrics) values[metric].push_back(value);
    }
    keys.push_back(key);
    results.push_back(
        {fmt::format("{}/{}{}", finished, members.size(), diverged > 0 ? fmt::format(", {} diverged", diverged) : "")});
    for (const ComparedMetric& metric : shown)
      results.back().push_back(mean_and_deviation(values[metric.name], metric));
  }
  const auto lines = table(paths, keys, columns, results);
  for (std::size_t i = 0; i < lines.size(); ++i)
    fmt::print("{}\n", i == 0 ? styled(lines[i], Console::Style::bold, STDOUT_FILENO) : lines[i]);
  fmt::print("\nmean ± standard deviation over the finished runs of a row, at their {}\nevaluation\n",
             name_of(arguments.evaluation));
  return exit_done;
}

}  // namespace

void add_compare(CommandTable& table) {
  table.add("compare", "A table of runs, grouped by the settings in which they differ", {"runs"}, compare_command);
}

}  // namespace surd
