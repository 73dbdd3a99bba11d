#include "train/storage/average.hpp"

#include "experiments/commands/command.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/run_folder.hpp"
#include "train/storage/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace surd {
namespace {

struct AverageArguments {
  std::string run;
  std::optional<std::size_t> last;
  Texts checkpoint;
  std::string out;

  void fields(Fields& f) {
    f("run", run, "folder of a run");
    f("last", last, "average so many of the latest checkpoints; train.keep_checkpoints says how many a run keeps",
      at_least(1), Unit{"checkpoints"});
    f("checkpoint", checkpoint, "average these files instead, each given by an option of its own", Unit{"file"});
    f("out", out, "file to write [checkpoints/average.safetensors of the run, which --checkpoint average reads]",
      Unit{"file"});
  }
};

std::vector<std::string> chosen(const AverageArguments& arguments, const Checkpoints& checkpoints,
                                const std::string& folder) {
  const std::vector<std::string>& named = arguments.checkpoint.values;
  expect_usage(arguments.last.has_value() != !named.empty(), "surd average",
               "takes either --last N or --checkpoint FILE");
  if (!named.empty()) return named;
  std::vector<std::string> paths = checkpoints.newest_first();
  expect_usage(paths.size() >= *arguments.last, "--last",
               "{} holds {} checkpoints beside the best; average those, or train with --set train.keep_checkpoints={}",
               folder, paths.size(), *arguments.last);
  paths.resize(*arguments.last);
  std::reverse(paths.begin(), paths.end());
  return paths;
}

int average_command(const AverageArguments& arguments) {
  const RunFolder folder(arguments.run);
  expect_usage(folder.begun(), folder.path, "is not the folder of a run: it has no config.yaml");
  const Checkpoints checkpoints(folder.checkpoints(), 0);
  const std::string to = arguments.out.empty() ? checkpoints.average_path() : arguments.out;
  const auto updates = average_checkpoints(chosen(arguments, checkpoints, folder.checkpoints()), to);
  fmt::print("{}\nmean of {} checkpoints, after updates {}\n", to, updates.size(), fmt::join(updates, ", "));
  return exit_done;
}

}  // namespace

void add_average(CommandTable& table) {
  table.add("average", "Average the parameters of a run's checkpoints", {"run"}, average_command);
}

}  // namespace surd
