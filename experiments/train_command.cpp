#include "autograd/blas.hpp"
#include "experiments/commands.hpp"
#include "experiments/console.hpp"
#include "experiments/metrics_log.hpp"
#include "experiments/run_folder.hpp"
#include "experiments/settings.hpp"
#include "experiments/system_info.hpp"
#include "experiments/text_format.hpp"
#include "experiments/yaml_document.hpp"
#include "train/checkpoint.hpp"
#include "train/files.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

volatile std::sig_atomic_t stop_signal = 0;

/// The first signal asks the run to save and stop; the second ends the process, as it would without us.
void on_signal(int signal) {
  stop_signal = signal;
  std::signal(signal, SIG_DFL);
}

/// Where the two JSON-lines files of a run stood, as a checkpoint keeps it: "metrics,probe".
struct LogPosition {
  std::uint64_t metrics = 0, probe = 0;

  std::string text() const { return fmt::format("{},{}", metrics, probe); }
  static LogPosition parse(const std::string& text) {
    const auto comma = text.find(',');
    expect(comma != std::string::npos, "checkpoint", "bad log position '{}'", text);
    return {std::stoull(text.substr(0, comma)), std::stoull(text.substr(comma + 1))};
  }
};

/// Everything that happens beside the algorithm.
class RunListener : public TrainListener {
 public:
  RunListener(Console& console, const RunFolder& folder, const RunConfig& config, const ParameterSet& parameters,
              const Optimizer& optimizer, const Schedule& schedule, const LogPosition& position,
              const TrainState& state)
      : console_(console),
        config_(config),
        parameters_(parameters),
        optimizer_(optimizer),
        schedule_(schedule),
        checkpoints_(folder.checkpoints(), config.train.keep_checkpoints),
        metrics_(folder.metrics(), position.metrics),
        seen_(state) {
    if (config.probe.every > 0) probe_log_.emplace(folder.probe(), position.probe);
  }

  Observer* observer(std::uint64_t update) override {
    return probe_log_ && update % config_.probe.every == 0 ? &probe_ : nullptr;
  }

  void gradients(std::uint64_t update, const ParameterSet& parameters) override {
    if (observer(update) == nullptr) return;
    probe_.parameters(parameters);
    for (const Probe::Record& record : probe_.records()) probe_log_->write(to_json_line(update, record));
    probe_.clear();
  }

  void updated(const UpdateRecord& record) override {
    seen_.update = record.update;
    tokens_ += record.source_tokens + record.target_tokens;
    if (record.update % config_.train.log_every == 0 || record.update == config_.train.updates)
      metrics_.write(to_json_line(record));
    console_.progress(record.update, config_.train.updates, fmt::format("loss {:.4f}", record.loss));
  }

  void evaluated(std::uint64_t update, const Evaluation& evaluation, bool best) override {
    metrics_.write(to_json_line(update, evaluation, best));
    seen_.last_evaluation = evaluation;
    if (best) {
      seen_.best_evaluation = evaluation;
      seen_.best_update = update;
    }
    const std::string sequences =
        evaluation.decoded > 0 ? fmt::format("  sequences {:6.2f} %", 100 * evaluation.sequence_accuracy) : "";
    console_.line(fmt::format("update {:>6}  valid loss {:.4f}  perplexity {:8.3f}  tokens {:6.2f} %{}{}", update,
                              evaluation.loss, evaluation.perplexity, 100 * evaluation.token_accuracy, sequences,
                              best ? "  best" : ""));
  }

  void checkpoint(const TrainState& state, bool best) override {
    const LogPosition position{metrics_.position(), probe_log_ ? probe_log_->position() : 0};
    checkpoints_.save(parameters_, optimizer_, schedule_, state, position.text(), best);
  }

  bool interrupted() override { return stop_signal != 0; }

  std::uint64_t tokens() const { return tokens_; }
  /// Updates and evaluations up to now, those before a resume included; also when train() ends by an exception.
  const TrainState& seen() const { return seen_; }
  void flush() {
    metrics_.position();
    if (probe_log_) probe_log_->position();
  }

 private:
  Console& console_;
  const RunConfig& config_;
  const ParameterSet& parameters_;
  const Optimizer& optimizer_;
  const Schedule& schedule_;
  Checkpoints checkpoints_;
  JsonLines metrics_;
  std::optional<JsonLines> probe_log_;
  Probe probe_;
  std::uint64_t tokens_ = 0;
  TrainState seen_;
};

Json to_json(const std::optional<Evaluation>& evaluation) {
  if (!evaluation) return nullptr;
  Json json{{"loss", evaluation->loss},
            {"perplexity", evaluation->perplexity},
            {"token_accuracy", evaluation->token_accuracy}};
  if (evaluation->decoded > 0) json["sequence_accuracy"] = evaluation->sequence_accuracy;
  return json;
}

void write_summary(const RunFolder& folder, const Json& outcome, const ParameterSet& parameters, RunListener& listener,
                   double seconds) {
  listener.flush();
  const TrainState& seen = listener.seen();
  Json summary = outcome;
  summary["updates"] = seen.update;
  summary["parameters"] = parameters.element_count();
  summary["best_update"] = seen.best_update;
  summary["best"] = to_json(seen.best_evaluation);
  summary["last"] = to_json(seen.last_evaluation);
  summary["wall_seconds"] = seconds;
  summary["tokens_per_second"] = seconds > 0 ? static_cast<double>(listener.tokens()) / seconds : 0;
  summary["peak_memory_bytes"] = peak_memory_bytes();
  for (const auto& [key, value] : system_info()) summary[key] = value;
  write_file_atomically(folder.summary(), summary.dump(2) + "\n");
}

/// Refuses a run that would stop in the middle at a sentence the model has no positions for.
void expect_positions(const std::vector<SentencePair>& pairs, const char* split, const Transformer& model) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::size_t length = std::max(pairs[i].source.size(), pairs[i].target.size() + 1);
    expect(length <= model.max_length(), "model.positions.max_length",
           "must be at least {} for pair {} of {}; it is {}", length, i + 1, split, model.max_length());
  }
}

bool is_finished(const RunFolder& folder) {
  if (!fs::exists(folder.summary())) return false;
  const Json summary = Json::parse(read_file(folder.summary()), nullptr, false);
  return summary.is_object() && summary.value("finished", false);
}

}  // namespace

int train_command(const TrainArguments& arguments) {
  blas::initialize();
  Console console;
  std::vector<std::string> settings = arguments.settings;
  if (arguments.replicas) settings.push_back(fmt::format("train.replicas={}", *arguments.replicas));
  const RunConfig config = load_config(arguments.config, settings);
  const std::string resolved = to_yaml(config);
  const RunFolder folder(arguments.out.empty() ? "runs/" + fs::path(arguments.config).stem().string() : arguments.out);

  if (arguments.resume) {
    expect(folder.exists(), folder.path, "holds no run to go on with; leave --resume out, or name its folder by --out");
    // Read again from text, so that both sides have gone through the same writer.
    const YamlDocument before = YamlDocument::load(folder.config()), after = YamlDocument::parse(resolved, "");
    const std::string changes = difference(settings_of(before.root()), settings_of(after.root()));
    expect(changes.empty(), folder.path,
           "the config differs from the run's, so the run cannot go on with it:{}\ngo on with the run's own config "
           "(surd train {} --out {} --resume), or name another folder by --out",
           changes, folder.config(), folder.path);
    if (is_finished(folder)) {
      console.line(fmt::format("{} is already finished; nothing to do", folder.path));
      return exit_done;
    }
  } else {
    expect(!folder.exists(), folder.path, "exists already; --resume goes on with it, --out names another folder");
  }

  const Corpus corpus = config.task.make()->load(config.seed);
  const Dataset dataset =
      arguments.resume ? Dataset(corpus, TextCodec::load(folder.vocabulary(), corpus)) : Dataset(corpus);
  Model model(config, dataset.codec);
  const auto optimizer = config.optimizer.make(model.parameters());
  const auto schedule = config.schedule.make(config.train.updates);
  expect_positions(dataset.split("train"), "train", model.transformer());
  expect_positions(dataset.split("valid"), "valid", model.transformer());
  const double padding = Batcher(dataset.split("train"), config.train.batching, config.seed).padding_share(0);

  // Everything that can be wrong has been looked at; only now is anything written.
  if (!arguments.resume) {
    folder.create();
    dataset.codec.save(folder.vocabulary());
    write_file_atomically(folder.config(), resolved);
  }
  for (const std::string& line : describe(config, corpus, dataset.codec, model, optimizer->learning_rate(), padding))
    console.line(line);
  console.line(fmt::format("folder      {}\n", folder.path));

  TrainState state;
  LogPosition position;
  if (arguments.resume) {
    const Checkpoints checkpoints(folder.checkpoints(), config.train.keep_checkpoints);
    const auto warn = [&](const std::string& text) { console.warn(text + "; using the checkpoint before it"); };
    if (const auto saved = checkpoints.resume(model.parameters(), *optimizer, *schedule, warn)) {
      state = saved->state;
      position = LogPosition::parse(saved->log_position);
    }
    console.line(fmt::format("resuming after update {}", state.update));
  }

  RunListener listener(console, folder, config, model.parameters(), *optimizer, *schedule, position, state);
  const Training training{model.transformer(),    model.parameters(),     *optimizer, *schedule,
                          dataset.split("train"), dataset.split("valid"), config.seed};
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  try {
    state = train(training, config.train, state, listener);
  } catch (const Diverged& diverged) {
    console.fail(diverged.what());
    write_summary(folder,
                  {{"finished", false}, {"diverged", {{"update", diverged.update()}, {"where", diverged.where()}}}},
                  model.parameters(), listener, seconds());
    return exit_diverged;
  }
  write_summary(folder, {{"finished", state.finished}, {"diverged", nullptr}}, model.parameters(), listener, seconds());
  console.end_progress();
  if (!state.finished) {
    console.warn(fmt::format("interrupted after update {}; --resume goes on from there", state.update));
    return 128 + stop_signal;
  }
  console.line(fmt::format("{} after {} updates in {}: best {} {:.4f} at update {}; {} tokens/s, peak memory {:.0f} MB",
                           styled("finished", Console::Style::green, 1), with_commas(state.update),
                           clock_time(seconds()), name_of(config.train.metric), state.best.value_or(0),
                           state.best_update,
                           with_commas(static_cast<std::uint64_t>(static_cast<double>(listener.tokens()) / seconds())),
                           static_cast<double>(peak_memory_bytes()) / 1e6));
  return exit_done;
}

}  // namespace surd
