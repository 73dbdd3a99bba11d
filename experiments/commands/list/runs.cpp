#include "experiments/command_line/command.hpp"
#include "experiments/commands/list/found_runs.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;
using ColumnKeys = std::vector<std::string>;

struct ListRunsArguments {
  std::string folder = "runs";
  std::string sort, columns;
  bool reverse = false, json = false, csv = false;

  void fields(Fields& f) {
    f("folder", folder, "where to look, at any depth; the runs of a study are one row unless it is the study's folder");
    f("sort", sort,
      "the smallest first, by a score of the last evaluation (loss) or the best (best.loss), a number of summary.json "
      "(parameters), a setting (model.d_model) or a column; rows without it come last",
      Unit{"key"});
    f("reverse", reverse, "the largest first");
    f("columns", columns, "further ones, of the same kinds, with commas between them", Unit{"keys"});
    f("json", json, "print a JSON array with an object for each row");
    f("csv", csv, "print CSV");
    f.rule(!json || !csv, "csv", "is given beside --json; give one of them");
  }
};

/// How a table shows the numbers of a column. All others are shown as they are.
struct ShownAs {
  const char *key, *heading;
  double unit;
  int digits;
};
constexpr ShownAs shown_as[] = {{"loss", "loss", 1, 4},
                                {"bits_per_byte", "bits/byte", 1, 4},
                                {"token_accuracy", "tokens %", 100, 2},
                                {"sequence_accuracy", "sequences %", 100, 2},
                                {"bleu", "BLEU", 1, 2},
                                {"chrf", "chrF2", 1, 2},
                                {"minutes", "minutes", 1, 1}};

const ShownAs* shown_as_of(const std::string& key) {
  const auto* found =
      std::find_if(std::begin(shown_as), std::end(shown_as), [&](const ShownAs& shown) { return shown.key == key; });
  return found == std::end(shown_as) ? nullptr : found;
}

/// A value as a table has it: "0.1234", "97.50", "2026-11-20 14:05", or "-" where nothing is known.
std::string cell_of(const FoundRun& run, const std::string& key) {
  const Json value = run.value(key);
  const ShownAs* shown = shown_as_of(key);
  if (value.is_null()) return "-";
  if (value.is_number() && shown != nullptr)
    return fmt::format("{:.{}f}", shown->unit * value.get<double>(), shown->digits);
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  if (!value.is_string()) return value.dump();
  constexpr std::size_t minutes = sizeof "2026-11-20T14:05" - 1;
  const std::string text = value.get<std::string>();
  return key == "when" ? replace_all(text.substr(0, minutes), "T", " ") : text;
}

/// The same for another program: as exact as it is known, "" where nothing is.
std::string field_of(const FoundRun& run, const std::string& key) {
  const Json value = run.value(key);
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool any_has(const std::vector<FoundRun>& runs, const std::string& key) {
  return std::any_of(runs.begin(), runs.end(), [&](const FoundRun& run) { return !run.value(key).is_null(); });
}

/// Throws UsageError, naming the option, where there are rows and none has the key.
void expect_known_key(const std::vector<FoundRun>& runs, const char* option, const std::string& key) {
  if (runs.empty() || any_has(runs, key)) return;
  std::set<std::string> keys;
  for (const FoundRun& run : runs)
    for (const auto& [name, value] : run.values) keys.insert(name);
  throw UsageError(fmt::format("{}: nothing here has '{}'{}", option, key,
                               did_you_mean(key, std::vector<std::string>(keys.begin(), keys.end()))));
}

ColumnKeys split_at_commas(const std::string& text) {
  ColumnKeys keys;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');)
    if (!word.empty()) keys.push_back(word);
  return keys;
}

/// What is shown of these: the scores that there are, and what was asked for.
ColumnKeys columns_of_table(const std::vector<FoundRun>& runs, const ColumnKeys& further) {
  ColumnKeys columns = {"name", "status"};
  const auto add_where_known = [&](const ColumnKeys& keys) {
    for (const std::string& key : keys)
      if (any_has(runs, key) && !includes(columns, key)) columns.push_back(key);
  };
  add_where_known({"made", "planned"});
  columns.emplace_back("updates");
  add_where_known({"loss", "bits_per_byte", "token_accuracy", "bleu"});
  columns.emplace_back("minutes");
  columns.emplace_back("when");
  for (const std::string& key : further)
    if (!includes(columns, key)) columns.push_back(key);
  add_where_known({"problem"});
  return columns;
}

void sort_runs(std::vector<FoundRun>& runs, const std::string& key, bool reverse) {
  const auto less = [](const Json& a, const Json& b) {
    if (a.is_number() && b.is_number()) return a.get<double>() < b.get<double>();
    if (a.is_number() != b.is_number()) return a.is_number();
    return (a.is_string() ? a.get<std::string>() : a.dump()) < (b.is_string() ? b.get<std::string>() : b.dump());
  };
  std::stable_sort(runs.begin(), runs.end(), [&](const FoundRun& one, const FoundRun& other) {
    const Json a = one.value(key), b = other.value(key);
    if (a.is_null() || b.is_null()) return !a.is_null() && b.is_null();
    return reverse ? less(b, a) : less(a, b);
  });
}

void print_runs_as_json(const std::vector<FoundRun>& runs, ColumnKeys columns) {
  columns.insert(columns.begin() + 1, "path");
  Json rows = Json::array();
  for (const FoundRun& run : runs) {
    Json row = Json::object();
    for (const std::string& key : columns) row[key] = run.value(key);
    rows.push_back(std::move(row));
  }
  fmt::print("{}\n", rows.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_runs_as_csv(const std::vector<FoundRun>& runs, const ColumnKeys& columns) {
  fmt::print("{}", csv_row(columns));
  for (const FoundRun& run : runs) {
    std::vector<std::string> fields;
    for (const std::string& key : columns) fields.push_back(field_of(run, key));
    fmt::print("{}", csv_row(fields));
  }
}

void print_runs_as_table(const std::vector<FoundRun>& runs, const ColumnKeys& columns) {
  std::vector<std::vector<std::string>> rows(1);
  for (const std::string& key : columns) {
    const ShownAs* shown = shown_as_of(key);
    rows[0].push_back(shown == nullptr ? key : shown->heading);
  }
  for (const FoundRun& run : runs) {
    rows.emplace_back();
    for (const std::string& key : columns) rows.back().push_back(cell_of(run, key));
  }
  const std::vector<std::string> lines = aligned(rows);
  for (std::size_t i = 0; i < lines.size(); ++i)
    fmt::print("{}\n", i == 0 ? styled(lines[i], Console::Style::bold, STDOUT_FILENO) : lines[i]);
}

int list_runs_command(const ListRunsArguments& arguments) {
  std::vector<FoundRun> runs = find_runs(arguments.folder);
  const ColumnKeys further = split_at_commas(arguments.columns);
  for (const std::string& key : further) expect_known_key(runs, "--columns", key);
  if (!arguments.sort.empty()) {
    expect_known_key(runs, "--sort", arguments.sort);
    sort_runs(runs, arguments.sort, arguments.reverse);
  } else if (arguments.reverse) {
    std::reverse(runs.begin(), runs.end());
  }
  const ColumnKeys columns = columns_of_table(runs, further);
  if (arguments.json)
    print_runs_as_json(runs, columns);
  else if (arguments.csv)
    print_runs_as_csv(runs, columns);
  else if (runs.empty())
    fmt::print("there are no runs in {}; surd train CONFIG makes one\n", arguments.folder);
  else
    print_runs_as_table(runs, columns);
  return exit_done;
}

}  // namespace

void add_list_runs(CommandTable& table) {
  table.add("list runs", "A table of the runs and studies in a folder", {"folder?"}, list_runs_command);
}

}  // namespace surd
