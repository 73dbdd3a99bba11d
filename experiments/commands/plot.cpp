#include "experiments/command_line/command.hpp"
#include "experiments/commands/named_runs.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/output_file.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/study/report/html_report.hpp"
#include "experiments/study/report/run_curves.hpp"
#include "train/storage/files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace surd {
namespace {

struct PlotArguments {
  Texts runs;
  std::string out = "curves.html";
  bool log_loss = false;

  void fields(Fields& f) {
    f("runs", runs, "folders of runs, finished or not; those that differ in nothing but the seed become one band",
      Unit{"run"});
    f("out", out, "what to write: a page (.html), or a picture for a paper or a pull request (.svg)", Unit{"file"});
    f("log_loss", log_loss, "losses on a logarithmic axis, also where they span less than a factor of 30");
  }
};

NamedMetrics read_curves(const RunFolder& folder, Settings settings) {
  settings.erase("seed");
  NamedMetrics run{folder.path, folder.read_log(), std::move(settings)};
  expect(!run.metrics.updates.empty() || !run.metrics.evaluations.empty(), folder.metrics(), "has nothing to draw yet");
  return run;
}

int plot_command(const PlotArguments& arguments) {
  expect_output_file("--out", arguments.out, {".html", ".svg"});
  const std::vector<NamedMetrics> runs =
      read_named_runs(arguments.runs.values, "surd plot", "can be drawn", read_curves);
  const bool picture = std::filesystem::path(arguments.out).extension() == ".svg";
  write_file_atomically(arguments.out, picture ? curves_picture(runs, arguments.log_loss)
                                               : curves_page(runs, chart_library(), arguments.log_loss));
  fmt::print("{}\n", arguments.out);
  return exit_done;
}

}  // namespace

void add_plot(CommandTable& table) {
  table.add("plot", "Draw the learning curves of runs, as a page or a picture", {"runs"}, plot_command);
}

}  // namespace surd
