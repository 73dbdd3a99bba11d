#include "experiments/commands/train.hpp"

#include "autograd/blas.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/config/report_errors.hpp"
#include "experiments/config/settings.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/run_training.hpp"
#include "experiments/study/file/file_kind.hpp"
#include "train/ranks/mpi_transport.hpp"
#include "train/storage/checkpoint.hpp"
#include "train/storage/files.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <thread>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

bool is_finished(const RunFolder& folder) {
  if (!path_exists(folder.summary())) return false;
  const Json summary = Json::parse(read_file(folder.summary()), nullptr, false);
  // A damaged summary does not count as finished: the run writes it again.
  return summary.is_object() && summary.contains("finished") && summary["finished"] == true;
}

/// Throws UsageError where config.yaml was changed by hand.
void expect_unchanged_config(const RunFolder& folder) {
  std::string changed;
  try {
    changed = folder.changed_config();
  } catch (const Error&) {  // a damaged summary, which the run writes again
  }
  expect_usage(changed.empty(), "--resume", "{}; what is to change is said by --set", changed);
}

/// The settings in which the config differs from the one that the run was begun with, a line each. Throws UsageError
/// where they are others than those of its end.
std::vector<SettingChange> changed_end(const RunFolder& folder, const RunConfig& config) {
  // Read as a config, so that keys that came with a newer version have their defaults.
  Settings before = settings_of(load_config(folder.config())), after = settings_of(config);
  std::vector<SettingChange> changes = setting_changes(before, after);
  for (const char* key : keys_of_end) {
    before.erase(key);
    after.erase(key);
  }
  expect_usage(
      before == after, folder.path,
      "the config differs from the run's, so the run cannot go on with it:{}\ngo on with the run's own config (surd "
      "train {} --out {} --resume), or begin another with its parameters (--from {} --out FOLDER); only {} may change",
      difference(before, after), shell_word(folder.config()), shell_word(folder.path), shell_word(folder.path),
      fmt::join(keys_of_end, ", "));
  return changes;
}

/// The other processes of `mpirun surd train --ranks`. What they all print the first alone does.
std::unique_ptr<Transport> join_ranks() {
  std::unique_ptr<Transport> transport = mpi_transport();
  expect_usage(transport != nullptr, "--ranks", "this program was built without MPI; build it with -DSURD_MPI=ON");
  if (transport->index() > 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::close(nowhere);
  }
  return transport;
}

/// Where a run begins that takes the parameters of another: RUN, or RUN/checkpoints/FILE.
StartingPoint starting_point(const std::string& from) {
  const bool file = path_exists(from) && !is_folder(from);
  const RunFolder run(file ? fs::absolute(from).parent_path().parent_path().string() : from);
  expect_usage(run.begun(), "--from", "{} is neither the folder of a run nor a checkpoint in one", from);
  return {run.vocabulary(), file ? from : as_usage([&] { return Checkpoints(run.checkpoints(), 0).best_path(); })};
}

/// As origin.json keeps it.
std::string checkpoint_named(const StartingPoint& from) {
  return fs::absolute(from.checkpoint).lexically_normal().string();
}

/// The command line that makes a run in this folder.
std::string command_line_of(const TrainArguments& arguments, const std::string& folder, const Transport* transport) {
  std::string line = transport == nullptr ? "" : fmt::format("mpirun -n {} ", transport->count());
  line += "surd train " + shell_word(arguments.config);
  for (const std::string& setting : arguments.settings.values) line += " --set " + shell_word(setting);
  if (arguments.replicas) line += fmt::format(" --replicas {}", *arguments.replicas);
  if (!arguments.from.empty()) line += " --from " + shell_word(arguments.from);
  return line + (transport == nullptr ? "" : " --ranks") + " --out " + shell_word(folder);
}

/// Without --out: the folder of a run whose own config is gone on with, else one in runs/, by the name of the config.
std::string usual_folder(const TrainArguments& arguments) {
  const fs::path config(arguments.config);
  const RunFolder own(config.has_parent_path() ? config.parent_path().string() : ".");
  if (config.filename() != "config.yaml" || !path_exists(own.data())) return "runs/" + config.stem().string();
  expect_usage(
      arguments.resume, "--out",
      "is missing: {} is the config of a run; --resume goes on with that run, --out names the folder of another",
      arguments.config);
  return own.path;
}

/// Throws UsageError, with what to name instead, where the folder of a run stands for a config.
void expect_no_run(const std::string& path) {
  const RunFolder run(without_end_slash(path));
  std::error_code unknown;  // what cannot be looked at is no run
  expect_usage(!fs::is_regular_file(run.config(), unknown) || !fs::is_regular_file(run.data(), unknown), path,
               "is the folder of a run, where a config belongs; to go on with it, name its config, {}, and --resume",
               shell_word(run.config()));
}

int train_in_folder(const TrainArguments& arguments, Transport* transport) {
  const bool first = transport == nullptr || transport->index() == 0;
  blas::initialize();
  Console console;
  std::vector<std::string> settings = arguments.settings.values;
  if (arguments.replicas) settings.push_back(fmt::format("train.replicas={}", *arguments.replicas));
  expect_no_run(arguments.config);
  const ConfigFile file = read_config(arguments.config, settings);
  expect_usage(transport == nullptr || !file.config.train.minutes, "--ranks",
               "cannot go with train.minutes: the processes' clocks would disagree on the last update");
  const RunFolder folder(arguments.out.empty() ? usual_folder(arguments) : arguments.out);

  expect_usage(!path_exists(folder.path) || is_folder(folder.path), folder.path,
               "is not a folder; name another one by --out");
  std::unique_ptr<File> lock;
  RunRequest request;
  const bool resuming = request.resume = arguments.resume && folder.begun();
  if (resuming) {
    expect_usage(!path_exists(folder.outcome()), folder.path,
                 "is a run of a study, which counts it as it is; train its config anew by --out");
    const RunOrigin origin = folder.read_origin();
    expect_usage(!origin.imported, folder.path,
                 "was imported, so there is no training to go on with; begin one with its model and parameters: surd "
                 "train {} --from {} --out FOLDER",
                 shell_word(folder.config()), shell_word(folder.path));
    expect_usage(arguments.from.empty() || checkpoint_named(starting_point(arguments.from)) == origin.from, "--from",
                 "the run began {}; leave the option out, or begin another run by --out",
                 origin.from.empty() ? "with random parameters" : "from " + origin.from);
    if (first) lock = folder.lock();
    expect_unchanged_config(folder);
    request.changed_end = changed_end(folder, file.config);
    if (request.changed_end.empty() && is_finished(folder)) {
      console.line(fmt::format("{} is already finished; nothing to do", folder.path));
      return exit_done;
    }
  } else if (first) {
    expect_usage(!folder.exists() || folder.only_prepared(), folder.path,
                 arguments.resume ? "cannot be resumed: it has no config.yaml, so it is not the folder of a run; name "
                                    "the --out of one, or an empty folder"
                                  : "exists already; --resume goes on with it, --out names another folder");
    if (arguments.resume) console.warn(folder.path + " holds no run to go on with; beginning one");
  }
  if (!arguments.from.empty() && !resuming) request.from = starting_point(arguments.from);
  RunOrigin origin = origin_of(file, arguments.config, settings, command_line_of(arguments, folder.path, transport));
  if (request.from) origin.from = checkpoint_named(*request.from);
  request.origin = std::move(origin);
  request.lock = std::move(lock);
  request.after_update = arguments.after_update;
  request.transport = transport;
  request.rank_timeout = arguments.rank_timeout.seconds.value_or(request.rank_timeout);
  return run_training(file, folder, std::move(request), console);
}

/// The same with the other ranks. Where one of them is lost or fails, all end at once: none is left waiting.
int train_with_ranks(const TrainArguments& arguments) {
  const std::unique_ptr<Transport> transport = join_ranks();
  const int code = report_errors([&] { return train_in_folder(arguments, transport.get()); });
  if (code != exit_failed && code != exit_usage) return code;
  // The first rank saves what was reached, and then ends all; if it is the one that is lost, nobody does.
  const double timeout = arguments.rank_timeout.seconds.value_or(RunRequest().rank_timeout);
  if (transport->index() > 0) std::this_thread::sleep_for(std::chrono::duration<double>(2 * timeout));
  abort_ranks(code);
}

}  // namespace

int train_command(const TrainArguments& arguments) {
  expect_usage(arguments.ranks || !arguments.rank_timeout.seconds, "--rank-timeout", "needs --ranks");
  return arguments.ranks ? train_with_ranks(arguments) : train_in_folder(arguments, nullptr);
}

void add_train(CommandTable& table) { table.add("train", "Train a model", {"config"}, train_command); }

}  // namespace surd
