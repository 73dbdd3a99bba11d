#include "train/storage/average.hpp"

#include "experiments/command_line/command.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/checkpoint_metadata.hpp"
#include "experiments/run/run_folder.hpp"
#include "train/storage/checkpoint.hpp"
#include "train/storage/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace surd {
namespace {

struct AverageArguments {
  std::string run;
  std::optional<std::size_t> last;
  Texts checkpoint;
  std::string out;

  void fields(Fields& f) {
    f("run", run, "folder of a run");
    f("last", last,
      "average so many of the latest checkpoints, of an interrupted run the one written then too; "
      "train.keep_checkpoints says how many a run keeps",
      at_least(1), Unit{"checkpoints"});
    f("checkpoint", checkpoint, "average these instead: best, last or files, each given by an option of its own",
      Unit{"checkpoint"});
    f("out", out, "file to write [checkpoints/average.safetensors of the run, which --checkpoint average reads]",
      Unit{"file"});
  }
};

std::vector<std::string> chosen(const AverageArguments& arguments, const Checkpoints& checkpoints,
                                const std::string& folder) {
  const std::vector<std::string>& named = arguments.checkpoint.values;
  expect_usage(arguments.last.has_value() != !named.empty(), "surd average",
               "takes either --last N or --checkpoint best, last or a file");
  std::vector<std::string> paths;
  for (const std::string& name : named) {
    expect_usage(name != "average", "--checkpoint", "an average is none of the checkpoints; name best, last or a file");
    paths.push_back(name == "best" ? checkpoints.best_path() : name == "last" ? checkpoints.last_path() : name);
  }
  if (!named.empty()) return paths;
  paths = checkpoints.newest_first();
  expect_usage(paths.size() >= *arguments.last, "--last",
               "{} holds {} checkpoints beside the best; average no more than those, or train longer, with a larger "
               "train.keep_checkpoints or a smaller train.checkpoint_every",
               folder, paths.size());
  paths.resize(*arguments.last);
  std::reverse(paths.begin(), paths.end());
  return paths;
}

/// Refuses to write over anything but an average.
void expect_replaceable(const std::string& path) {
  if (!path_exists(path)) return;
  bool average = false;
  try {
    average = is_file(path) && read_safetensors(path).metadata.count("averaged_updates") > 0;
  } catch (const Error&) {  // no checkpoint at all
  }
  expect_usage(average, "--out", "'{}' is there and is no average; name another file", path);
}

int average_command(const AverageArguments& arguments) {
  const RunFolder folder(arguments.run);
  folder.expect_begun();
  const Checkpoints checkpoints(folder.checkpoints(), 0);  // none is saved, so none is removed
  const std::string to = arguments.out.empty() ? checkpoints.average_path() : arguments.out;
  expect_replaceable(to);
  const auto paths = as_usage([&] { return chosen(arguments, checkpoints, folder.checkpoints()); });
  const OpenRun run(arguments.run, paths.front());  // of which the others must have the tensors
  const Checkpoints::Check same_model = expect_same_model(folder.path, run.config, run.codec);
  const auto check = [&](const std::string& path, const Checkpoints::Metadata& told) {
    same_model(path, told);
    const std::string changes = difference(path, told, run.config, run.codec, Compared::all);
    if (!changes.empty()) Console().warn(fmt::format("{} was trained otherwise:{}", path, changes));
  };
  const auto updates =
      average_checkpoints(paths, to, check, {{"averaged_at", std::to_string(checkpoints.last_update())}});
  fmt::print("{}\nmean of {} checkpoints, after updates {}\n", to, updates.size(), fmt::join(updates, ", "));
  return exit_done;
}

}  // namespace

void add_average(CommandTable& table) {
  table.add("average", "Average the parameters of a run's checkpoints", {"run"}, average_command);
}

}  // namespace surd
