#include "experiments/run/run_training.hpp"

#include "experiments/config/config_error.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/checkpoint_metadata.hpp"
#include "experiments/run/data/unknown_tokens.hpp"
#include "experiments/run/run_listener.hpp"
#include "experiments/run/run_ranks.hpp"
#include "experiments/run/system_info.hpp"
#include "train/storage/checkpoint.hpp"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

/// What a finished run is evaluated on besides the validation split, which it is at its end as well.
Json evaluate_splits(const Training& training, const TrainOptions& options, const Dataset& dataset, Console& console) {
  Json splits = Json::object();
  for (const std::string& name : options.evaluate_splits) {
    const EvaluationRecord record =
        record_of({}, evaluate(training.model, dataset.split(name), dataset.codec, options.evaluation()), false);
    splits[name] = scores_to_json(record);
    console.line(fmt::format("{} {}", name, fmt::join(score_texts(record), "  ")));
  }
  return splits;
}

Json to_json(const std::optional<EvaluationRecord>& evaluation) {
  return evaluation ? scores_to_json(*evaluation) : Json(nullptr);
}

/// Notes that a run is to end otherwise, and makes the config the run's. The summary is the first to know that the run
/// is not finished any more, so that this is true whenever the machine stops.
void change_end(const RunFolder& folder, const RunConfig& config, const ChangedEnd& end) {
  Json summary{
      {"diverged", nullptr}, {"updates", end.after_update}, {"best_update", 0}, {"best", nullptr}, {"last", nullptr}};
  if (path_exists(folder.summary()))
    if (const Json before = Json::parse(read_file(folder.summary()), nullptr, false); before.is_object())
      summary.update(before);
  summary["finished"] = false;
  summary.erase("settings");  // nobody knows whether config.yaml has the new ones, until the run is at its end
  write_file_atomically(folder.summary(), summary.dump(2) + "\n");
  RunOrigin origin = folder.read_origin();
  // A process that was killed here has noted it already.
  if (origin.ends.empty() || origin.ends.back().text() != end.text()) origin.ends.push_back(end);
  write_file_atomically(folder.origin(), to_json_text(origin));
  write_file_atomically(folder.config(), to_yaml(config));
}

void write_summary(const RunFolder& folder, const Json& outcome, std::uint64_t updates, const ParameterSet& parameters,
                   const RunListener& listener, std::uint64_t resumed_at, double seconds) {
  Json summary = outcome;
  summary["updates"] = updates;
  summary["parameters"] = parameters.element_count();
  summary["best_update"] = listener.best() ? listener.best()->update : 0;
  summary["best"] = to_json(listener.best());
  summary["last"] = to_json(listener.last());
  summary["last_update"] = listener.last() ? listener.last()->update : 0;
  summary["resumed_at"] = resumed_at;
  summary["wall_seconds"] = seconds;
  summary["evaluation_seconds"] = Json::object();
  for (const auto& [update, after] : listener.evaluation_seconds())
    summary["evaluation_seconds"][std::to_string(update)] = after;
  summary["evaluation_share"] = listener.evaluation_share();
  summary["tokens_per_second"] = seconds > 0 ? static_cast<double>(listener.tokens()) / seconds : 0;
  summary["peak_memory_bytes"] = peak_memory_bytes();
  for (const auto& [key, value] : system_info()) summary[key] = value;
  write_file_atomically(folder.summary(), summary.dump(2) + "\n");
}

/// How many evaluations in a row, the last of them at this update or before it, were at stop_at or past it.
std::uint64_t good_enough(const RunFolder& folder, const TrainOptions& options, std::uint64_t update) {
  std::uint64_t count = 0;
  if (!options.stop_at || !path_exists(folder.metrics())) return count;
  for (const EvaluationRecord& record : read_metrics(folder.metrics()).evaluations) {
    if (record.update == 0 || record.update > update) continue;
    Evaluation evaluation;
    evaluation.loss = record.loss;
    evaluation.token_accuracy = record.token_accuracy;
    evaluation.sequence_accuracy = record.sequence_accuracy.value_or(0);
    evaluation.bleu = record.bleu;
    count = improves(options.metric, *options.stop_at, value_of(options.metric, evaluation)) ? 0 : count + 1;
  }
  return count;
}

/// Sets the parameters to those of a checkpoint of another run, whose vocabularies this one has, and returns its
/// checksum. Throws Error where they are others, or where it is not the checkpoint with the checksum `expected`; `warn`
/// is told what else differs.
std::string begin_with(const std::string& checkpoint, const std::string& expected, const RunConfig& config,
                       const TextCodec& codec, ParameterSet& parameters,
                       const std::function<void(const std::string&)>& warn) {
  std::string checksum;
  load_parameters(checkpoint, parameters, [&](const std::string& path, const Checkpoints::Metadata& metadata) {
    if (const auto told = metadata.find("checksum"); told != metadata.end()) checksum = told->second;
    expect(
        expected.empty() || checksum == expected, path,
        "holds other parameters than when the run began with them (checksum {}, now {}); put the file back, or begin "
        "another run by --out",
        expected, checksum);
    const std::string other_tokens = difference(path, metadata, config, codec, Compared::tokens);
    expect(
        other_tokens.empty(), path,
        "was trained with other tokens than this config makes of text with the run's vocabularies:{}\nlet the config "
        "say of task.subwords what the run's says; where it does, put the run's files back",
        other_tokens);
    const std::string changes = difference(path, metadata, config, codec, Compared::model);
    if (!changes.empty()) warn(fmt::format("{} was trained otherwise:{}", path, changes));
    const std::string unused = difference(path, metadata, config, codec, Compared::making_of_vocabularies);
    if (!unused.empty())
      warn(fmt::format("the vocabularies are those of {}, so this changes nothing:{}", path, unused));
  });
  return checksum;
}

/// Throws UsageError where a run has saved checkpoints, as its log tells, and they are gone: to begin again would throw
/// its log away.
void expect_checkpoints(const RunFolder& folder, const TrainOptions& options) {
  const std::vector<std::string> names = names_in(folder.checkpoints());
  const bool there = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return std::filesystem::path(name).extension() == ".safetensors";
  });
  if (there || !path_exists(folder.metrics())) return;
  const Metrics log = read_metrics(folder.metrics());
  std::uint64_t reached = log.updates.empty() ? 0 : log.updates.back().update;
  if (!log.evaluations.empty()) reached = std::max(reached, log.evaluations.back().update);
  const bool had_a_best =  // which is saved before anything else is logged
      std::any_of(log.evaluations.begin(), log.evaluations.end(), [&](const EvaluationRecord& record) {
        return record.best && record.update > 0 && record.update < reached;
      });
  expect_usage(
      reached <= options.checkpoint_every && !had_a_best, folder.checkpoints(),
      "holds no checkpoint, though {} says that the run had come to update {}; put one back, or train again into "
      "another folder by --out",
      folder.metrics(), with_commas(reached));
}

RunProgress restore(const RunFolder& folder, const RunConfig& config, const TextCodec& codec, ParameterSet& parameters,
                    Optimizer& optimizer, Schedule& schedule, bool changes_end, Console& console, bool writes = true) {
  RunProgress progress;
  const Checkpoints checkpoints(folder.checkpoints(), config.train.keep_checkpoints);
  const auto warn = [&](const std::string& text) { console.warn(text + "; using the checkpoint before it"); };
  const auto check = [&](const std::string& path, const Checkpoints::Metadata& metadata) {
    const std::string changes = difference(path, metadata, config, codec, Compared::all);
    expect_usage(changes.empty(), folder.path,
                 "its files were changed since {} was written, so the run cannot go on with them:{}\nput them back as "
                 "they were, or train into another folder by --out",
                 path, changes);
  };
  if (const auto saved = checkpoints.resume(parameters, optimizer, schedule, warn, writes, check))
    progress = {saved->state, LogPosition::parse(saved->log_position, saved->path)};
  else if (const RunOrigin origin = folder.read_origin(); !origin.from.empty())
    begin_with(origin.from, origin.from_checksum, config, codec, parameters, [](const std::string&) {});
  progress.state.evaluations_good_enough = good_enough(folder, config.train, progress.state.update);
  // Its minutes may have been over; but it may have been told since then, or now, to end later.
  const std::vector<ChangedEnd> ends = folder.read_origin().ends;
  const bool same_end = !changes_end && (ends.empty() || ends.back().after_update < progress.state.update);
  progress.state.finished = (progress.state.finished && same_end) || is_over(progress.state, config.train);
  if (progress.state.update == 0)
    console.warn(folder.checkpoints() + " holds no checkpoint; the run begins again");
  else
    console.line(fmt::format("resuming after update {}", progress.state.update));
  return progress;
}

/// Why a finished run made fewer updates than it was to, after a comma; "" where it did not.
std::string why_early(const TrainState& state, const TrainOptions& options) {
  if (state.update >= options.updates) return "";
  const std::string metric = name_of(options.metric);
  const bool impatient = options.patience && state.evaluations_without_improvement >= *options.patience;
  if (options.stop_at && state.evaluations_good_enough >= options.stop_after)
    return fmt::format(", {} at stop_at {}", metric, *options.stop_at);
  if (!impatient) return fmt::format(" (train.minutes: {})", *options.minutes);
  return fmt::format(", out of patience: {} evaluations without a better {}", state.evaluations_without_improvement,
                     metric);
}

/// Trains until the end, a stop signal or divergence, writes the summary, and returns the exit code.
int run(Training training, const Dataset& dataset, const RunConfig& config, const RunFolder& folder,
        const RunProgress& progress, const RunRequest& request, Console& console) {
  const StopSignals signals;
  const auto ranks = make_ranks(request, training.parameters, signals);
  training.ranks = ranks.get();
  RunListener listener(console, folder, config, training, progress, signals, request.after_update, request.checkpoints);
  const Settings settings = settings_in(folder.config());
  TrainState state;
  try {
    state = train(training, config.train, progress.state, listener);
  } catch (const Diverged& diverged) {
    console.fail(diverged.what());
    write_summary(folder,
                  {{"finished", false},
                   {"diverged", {{"update", diverged.update()}, {"where", diverged.where()}}},
                   {"settings", settings}},
                  diverged.update() - 1, training.parameters, listener, progress.state.update, listener.seconds());
    return exit_diverged;
  }
  const double seconds = listener.seconds();
  Json outcome{{"finished", state.finished}, {"diverged", nullptr}, {"settings", settings}};
  if (state.finished) outcome["splits"] = evaluate_splits(training, config.train, dataset, console);
  write_summary(folder, outcome, state.update, training.parameters, listener, progress.state.update, seconds);
  console.end_progress();
  if (!state.finished) {
    std::string text = fmt::format("interrupted after update {}", state.update);
    if (!request.alone)  // a worker goes on with the run of a study
      text += fmt::format("; {}surd train {} --out {}{} --resume goes on from there",
                          request.transport == nullptr ? "" : fmt::format("mpirun -n {} ", request.transport->count()),
                          shell_word(folder.config()), shell_word(folder.path),
                          request.transport == nullptr ? "" : " --ranks");
    console.warn(text);
    return signals.received() != 0 ? 128 + signals.received() : exit_unfinished;  // another rank was told to stop
  }
  console.line(fmt::format(
      "{} after {} updates{} in {}: best {} {:.4f} at update {};\n{} tokens/s, peak memory {:.0f} MB, {:.1f} % of the "
      "time in evaluations",
      styled("finished", Console::Style::green, STDOUT_FILENO), with_commas(state.update),
      why_early(state, config.train), clock_time(seconds), name_of(config.train.metric), state.best.value_or(0),
      state.best_update, with_commas(static_cast<std::uint64_t>(static_cast<double>(listener.tokens()) / seconds)),
      static_cast<double>(peak_memory_bytes()) / 1e6, 100 * listener.evaluation_share()));
  return exit_done;
}

/// With the vocabulary of a run that is resumed, or of another that it begins with.
Experiment begin_experiment(const ConfigFile& file, const std::string& vocabulary,
                            const std::optional<StartingPoint>& from) {
  if (!from) return Experiment(file, vocabulary);
  try {
    return Experiment(file, from->vocabulary);
  } catch (const ConfigError&) {
    throw;
  } catch (const Error& error) {
    throw UsageError(
        fmt::format("--from: {} do not go with this config: {}\nlet it say what the run's own config says of its "
                    "task and tokens (task.subwords)",
                    from->vocabulary, error.what()));
  }
}

}  // namespace

int run_training(const ConfigFile& file, const RunFolder& folder, RunRequest request, Console& console) {
  const RunConfig& config = file.config;
  const bool resuming = request.resume;
  const bool first = request.transport == nullptr || request.transport->index() == 0;
  const auto begin = [&] { return begin_experiment(file, resuming ? folder.vocabulary() : "", request.from); };
  const Experiment experiment = first ? while_waiting(waiting_for_data, begin) : begin();
  const Dataset& dataset = *experiment.data.dataset;
  Model& model = *experiment.model;
  Optimizer& optimizer = *experiment.optimizer;
  Schedule& schedule = *experiment.schedule;
  if (request.from) {
    const auto warn = [&](const std::string& changes) {
      if (first) console.warn(changes);
    };
    if (!config.task.make()->format().open_vocabulary)
      for (const auto& [split, share] : experiment.unknown)
        expect_usage(
            share.source == 0 && share.target == 0, "--from",
            "the vocabularies of {} lack tokens of the split {} of this task; begin with a run of the same one, "
            "or without parameters",
            request.from->vocabulary, split);
    const std::string checksum = as_usage(
        [&] { return begin_with(request.from->checkpoint, "", config, dataset.codec, model.parameters(), warn); });
    if (request.origin) request.origin->from_checksum = checksum;
  }
  if (resuming) folder.expect_same_data(*experiment.data.corpus, experiment.splits);
  if (resuming && request.checkpoints) expect_checkpoints(folder, config.train);

  const Training training{model.transformer(),    model.parameters(),     optimizer,     schedule,
                          dataset.split("train"), dataset.split("valid"), dataset.codec, config.seed};
  if (!first) {
    const RunProgress progress = resuming ? restore(folder, config, dataset.codec, model.parameters(), optimizer,
                                                    schedule, !request.changed_end.empty(), console, false)
                                          : RunProgress();
    expect_alike(request, config, *experiment.data.corpus, progress.state);
    return assist(training, config, progress.state, request);
  }

  // Everything that can be wrong with the config has been looked at; only now is anything written.
  folder.create();
  if (!resuming) {
    if (!request.alone) request.lock = folder.lock();
    expect(!folder.begun(), folder.path, "another process has just begun a run in this folder; use another --out");
  }
  folder.clean();
  if (request.checkpoints)
    Checkpoints(folder.checkpoints(), config.train.keep_checkpoints)
        .expect_space(model.parameters(), optimizer, most_saves(config.train));
  if (!resuming)
    folder.begin(to_yaml(config), request.origin, *experiment.data.corpus, dataset.codec, experiment.unknown);

  for (const std::string& line : describe(config, experiment)) console.line(line);
  console.line(fmt::format("folder      {}\n", folder.path));
  const std::string unknown = warning_of(experiment.unknown, *experiment.data.corpus);
  if (!unknown.empty()) console.warn(unknown);

  const RunProgress progress = resuming ? restore(folder, config, dataset.codec, model.parameters(), optimizer,
                                                  schedule, !request.changed_end.empty(), console)
                                        : RunProgress();
  if (request.transport != nullptr) expect_alike(request, config, *experiment.data.corpus, progress.state);
  if (!request.changed_end.empty()) {
    const ChangedEnd end{progress.state.update, request.changed_end};
    expect_usage(!progress.state.finished, folder.path,
                 "is over after {} updates with that, too; set a larger train.updates, or less to stop at",
                 with_commas(end.after_update));
    change_end(folder, config, end);
    console.line(fmt::format("{}\nschedule    {} over {} updates, factor {:.4g} in the next one", end.text(),
                             config.schedule.name(), with_commas(config.train.updates),
                             schedule.factor(end.after_update + 1)));
  }
  return run(training, dataset, config, folder, progress, request, console);
}

}  // namespace surd
