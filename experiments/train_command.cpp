#include "autograd/blas.hpp"
#include "experiments/commands.hpp"
#include "experiments/run_listener.hpp"
#include "experiments/settings.hpp"
#include "experiments/system_info.hpp"
#include "experiments/text_format.hpp"
#include "experiments/usage_error.hpp"
#include "experiments/yaml_document.hpp"
#include "train/files.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

Json to_json(const std::optional<EvaluationRecord>& evaluation) {
  if (!evaluation) return nullptr;
  Json json{{"loss", evaluation->loss},
            {"perplexity", evaluation->perplexity},
            {"token_accuracy", evaluation->token_accuracy}};
  if (evaluation->sequence_accuracy) json["sequence_accuracy"] = *evaluation->sequence_accuracy;
  return json;
}

void write_summary(const RunFolder& folder, const Json& outcome, std::uint64_t updates, const ParameterSet& parameters,
                   const RunListener& listener, double seconds) {
  Json summary = outcome;
  summary["updates"] = updates;
  summary["parameters"] = parameters.element_count();
  summary["best_update"] = listener.best() ? listener.best()->update : 0;
  summary["best"] = to_json(listener.best());
  summary["last"] = to_json(listener.last());
  summary["wall_seconds"] = seconds;
  summary["tokens_per_second"] = seconds > 0 ? static_cast<double>(listener.tokens()) / seconds : 0;
  summary["peak_memory_bytes"] = peak_memory_bytes();
  for (const auto& [key, value] : system_info()) summary[key] = value;
  write_file_atomically(folder.summary(), summary.dump(2) + "\n");
}

bool is_finished(const RunFolder& folder) {
  if (!path_exists(folder.summary())) return false;
  const Json summary = Json::parse(read_file(folder.summary()), nullptr, false);
  // A damaged one does not count: it is written again.
  return summary.is_object() && summary.contains("finished") && summary["finished"] == true;
}

/// Throws UsageError where the config is not the one that the run was begun with.
void expect_same_config(const RunFolder& folder, const std::string& resolved) {
  const YamlDocument before = YamlDocument::load(folder.config()), after = YamlDocument::parse(resolved, "");
  const std::string changes = difference(settings_of(before.root()), settings_of(after.root()));
  expect_usage(
      changes.empty(), folder.path,
      "the config differs from the run's, so the run cannot go on with it:{}\ngo on with the run's own config (surd "
      "train {} --out {} --resume), or name another folder by --out",
      changes, folder.config(), folder.path);
}

/// Where a run stands, in memory and in its logs.
struct Progress {
  TrainState state;
  LogPosition position;
};

Progress restore(const RunFolder& folder, const RunConfig& config, ParameterSet& parameters, Optimizer& optimizer,
                 Schedule& schedule, Console& console) {
  Progress progress;
  const Checkpoints checkpoints(folder.checkpoints(), config.train.keep_checkpoints);
  const auto warn = [&](const std::string& text) { console.warn(text + "; using the checkpoint before it"); };
  if (const auto saved = checkpoints.resume(parameters, optimizer, schedule, warn))
    progress = {saved->state, LogPosition::parse(saved->log_position)};
  if (progress.state.update == 0)
    console.warn(folder.checkpoints() + " holds no checkpoint; the run begins again");
  else
    console.line(fmt::format("resuming after update {}", progress.state.update));
  return progress;
}

/// Trains to the end, a signal or divergence, and writes the summary; the exit code.
int run(const Training& training, const RunConfig& config, const RunFolder& folder, const Progress& progress,
        const TrainArguments& arguments, Console& console) {
  const StopSignals signals;
  RunListener listener(console, folder, config, training, progress.position, signals, arguments.after_update);
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  TrainState state;
  try {
    state = train(training, config.train, progress.state, listener);
  } catch (const Diverged& diverged) {
    console.fail(diverged.what());
    write_summary(folder,
                  {{"finished", false}, {"diverged", {{"update", diverged.update()}, {"where", diverged.where()}}}},
                  diverged.update() - 1, training.parameters, listener, seconds());
    return exit_diverged;
  }
  write_summary(folder, {{"finished", state.finished}, {"diverged", nullptr}}, state.update, training.parameters,
                listener, seconds());
  console.end_progress();
  if (!state.finished) {
    console.warn(fmt::format("interrupted after update {}; --resume goes on from there", state.update));
    return 128 + signals.received();
  }
  console.line(
      fmt::format("{} after {} updates in {}: best {} {:.4f} at update {};\n{} tokens/s, peak memory {:.0f} MB",
                  styled("finished", Console::Style::green, 1), with_commas(state.update), clock_time(seconds()),
                  name_of(config.train.metric), state.best.value_or(0), state.best_update,
                  with_commas(static_cast<std::uint64_t>(static_cast<double>(listener.tokens()) / seconds())),
                  static_cast<double>(peak_memory_bytes()) / 1e6));
  return exit_done;
}

}  // namespace

int train_command(const TrainArguments& arguments) {
  blas::initialize();
  Console console;
  std::vector<std::string> settings = arguments.settings;
  if (arguments.replicas) settings.push_back(fmt::format("train.replicas={}", *arguments.replicas));
  const ConfigFile file(arguments.config, settings);
  const RunConfig& config = file.config;
  const std::string resolved = to_yaml(config);
  const RunFolder folder(arguments.out.empty() ? "runs/" + fs::path(arguments.config).stem().string() : arguments.out);

  expect_usage(!path_exists(folder.path) || is_folder(folder.path), folder.path,
               "is not a folder; name another one by --out");
  std::unique_ptr<File> lock;
  const bool resuming = arguments.resume && folder.begun();
  if (resuming) {
    lock = folder.lock();
    expect_same_config(folder, resolved);
    if (is_finished(folder)) {
      console.line(fmt::format("{} is already finished; nothing to do", folder.path));
      return exit_done;
    }
  } else {
    expect_usage(!folder.exists() || folder.only_prepared(), folder.path,
                 arguments.resume ? "cannot be resumed: it has no config.yaml, so it is not the folder of a run; name "
                                    "the --out of one, or an empty folder"
                                  : "exists already; --resume goes on with it, --out names another folder");
    if (arguments.resume) console.warn(folder.path + " holds no run to go on with; beginning one");
  }

  const Experiment experiment(file, resuming ? folder.vocabulary() : "");
  const Dataset& dataset = *experiment.dataset;
  Model& model = *experiment.model;
  Optimizer& optimizer = *experiment.optimizer;
  Schedule& schedule = *experiment.schedule;
  if (resuming) folder.expect_same_data(experiment.corpus);

  // Everything that can be wrong with the config has been looked at; only now is anything written.
  folder.create();
  if (!resuming) {
    lock = folder.lock();
    expect(!folder.begun(), folder.path, "another process has just begun a run in this folder; use another --out");
  }
  folder.clean();
  Checkpoints(folder.checkpoints(), config.train.keep_checkpoints).expect_space(model.parameters(), optimizer);
  if (!resuming) folder.begin(resolved, experiment.corpus, dataset.codec);

  for (const std::string& line : describe(config, experiment)) console.line(line);
  console.line(fmt::format("folder      {}\n", folder.path));

  const Progress progress =
      resuming ? restore(folder, config, model.parameters(), optimizer, schedule, console) : Progress();
  const Training training{model.transformer(),    model.parameters(),     optimizer,  schedule,
                          dataset.split("train"), dataset.split("valid"), config.seed};
  return run(training, config, folder, progress, arguments, console);
}

}  // namespace surd
