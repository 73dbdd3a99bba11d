#include "experiments/commands/command.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/output_file.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/study/report/html_report.hpp"
#include "experiments/study/report/run_curves.hpp"

#include <fmt/format.h>

namespace surd {
namespace {

struct PlotArguments {
  Texts runs;
  std::string out = "curves.html";

  void fields(Fields& f) {
    f("runs", runs, "folders of runs, finished or not", Unit{"run"});
    f("out", out, "the page to write", Unit{"file"});
  }
};

int plot_command(const PlotArguments& arguments) {
  expect_output_file("--out", arguments.out, {".html"});
  std::vector<NamedMetrics> runs;
  for (const std::string& path : arguments.runs.values) {
    const RunFolder folder(path);
    folder.expect_begun();
    runs.push_back({path, read_metrics(folder.metrics())});
  }
  write_file_atomically(arguments.out, curves_page(runs, chart_library()));
  fmt::print("{}\n", arguments.out);
  return exit_done;
}

}  // namespace

void add_plot(CommandTable& table) {
  table.add("plot", "Draw the learning curves of runs, as a page for a browser", {"runs"}, plot_command);
}

}  // namespace surd
