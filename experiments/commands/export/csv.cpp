#include "experiments/commands/export/csv.hpp"
#include "autograd/base/fields.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/output_file.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/run/logs/named_numbers.hpp"
#include "experiments/run/run_folder.hpp"
#include "train/storage/files.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace surd {

int export_csv(const std::string& run, const std::string& out) {
  RunFolder(run).expect_trained();
  if (!out.empty()) expect_output_file("--out", out, {".csv"});
  const std::string text = metrics_csv(RunFolder(run).read_log());
  if (!out.empty()) write_file_atomically(out, text);
  fmt::print("{}", out.empty() ? text : out + "\n");
  return exit_done;
}

std::string metrics_csv(const Metrics& metrics) {
  std::vector<std::string> columns = {"step"};
  std::map<std::uint64_t, std::map<std::string, double>> rows;
  const auto add = [&](const auto& records) {
    for (const auto& record : records) {
      auto& row = rows[record.update];
      row["step"] = static_cast<double>(record.update);
      for (const auto& [name, number] : numbers_of(record)) {
        if (!includes(columns, name)) columns.push_back(name);
        row[name] = number;
      }
    }
  };
  add(metrics.updates);
  add(metrics.evaluations);
  std::string text = csv_row(columns);
  for (const auto& [update, row] : rows) {
    std::vector<std::string> cells;
    for (const std::string& column : columns) {
      const auto found = row.find(column);
      cells.push_back(found == row.end() ? "" : fmt::format("{}", found->second));
    }
    text += csv_row(cells);
  }
  return text;
}

}  // namespace surd
