#include "autograd/blas.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/commands/bench/bench_arguments.hpp"
#include "experiments/commands/bench/bench_run.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/version.hpp"
#include "experiments/run/experiment.hpp"
#include "experiments/run/run_listener.hpp"
#include "experiments/study/statistics/statistics.hpp"
#include "train/storage/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

extern char** environ;

namespace surd {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::size_t probe_every = 50;
constexpr double asked_start_ms = 100, asked_beside_share = 0.02, asked_probe_share = 0.03;

struct BenchOverheadArguments : ShapeArguments {
  std::size_t starts = 5;

  BenchOverheadArguments() : ShapeArguments("toy-64", 10) {}
  void fields(Fields& f) {
    ShapeArguments::fields(f);
    f("starts", starts, "how often the program is started", between(1, 1000));
  }
};

class TemporaryFolder {
 public:
  TemporaryFolder() : path_((fs::temp_directory_path() / "surd-bench-XXXXXX").string()) {
    expect(::mkdtemp(path_.data()) != nullptr, path_, "cannot be made");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// A run on the copy task whose every batch has the sizes of the shape. It neither evaluates nor saves before its end.
std::string config_of(const BenchShape& shape) {
  return fmt::format(
      "seed: 1\n"
      "task: {{name: copy, train_size: 20000, vocabulary: {}, min_length: {}, max_length: {}}}\n"
      "model:\n"
      "  d_model: {}\n"
      "  heads: {}\n"
      "  encoder_layers: {}\n"
      "  decoder_layers: {}\n"
      "  dropout: 0.1\n"
      "  embedding: {{tie: all}}\n"
      "  attention: {{dropout: 0.1}}\n"
      "  feed_forward: {{width: {}}}\n"
      "train: {{updates: 1000000, batch_size: {}, label_smoothing: 0.1, evaluate_every: 1000000, "
      "checkpoint_every: 1000000}}\n",
      shape.vocabulary - Vocabulary::specials, shape.source_length, shape.source_length, shape.d_model, shape.heads,
      shape.layers, shape.layers, shape.feed_forward_width, shape.batch_size);
}

/// Seconds from before the program is started until the line of its first update is in metrics.jsonl, found by looking
/// twice a millisecond. Waits for the end of the program. Throws Error where the program fails.
double time_to_first_update(const std::string& config, const RunFolder& folder) {
  const std::string program = fs::read_symlink("/proc/self/exe").string();
  std::vector<std::string> words = {"surd", "train", config, "--out", folder.path, "--set", "train.updates=1"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t quietly;
  posix_spawn_file_actions_init(&quietly);
  posix_spawn_file_actions_addopen(&quietly, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quietly, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const Stopwatch watch;
  const int failure = ::posix_spawn(&child, program.c_str(), &quietly, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&quietly);
  expect(failure == 0, program, "cannot be started");

  const auto updated = [&] {
    std::error_code none_yet;
    const std::uintmax_t size = fs::file_size(folder.metrics(), none_yet);
    return !none_yet && size > 0;
  };
  int status = 0;
  bool ended = false;
  while (!updated() && !ended) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    ended = ::waitpid(child, &status, WNOHANG) == child;
  }
  const double seconds = watch.seconds();
  if (!ended) expect(::waitpid(child, &status, 0) == child, program, "cannot be waited for");
  expect(WIFEXITED(status) && WEXITSTATUS(status) == exit_done && updated(), program,
         "failed: surd train {} --set train.updates=1", shell_word(config));
  return seconds;
}

/// Stands before the listener of a run and times the parts of the training loop. From the end of an update to the first
/// call for the next one a batch is made; then the update is computed; then its result is logged.
class LoopTimer : public TrainListener {
 public:
  struct Update {
    double batching, update, logging;
    double all() const { return batching + update + logging; }
  };

  LoopTimer(RunListener& run, double seconds) : run_(run), seconds_(seconds) {}

  Observer* observer(std::uint64_t update, std::size_t index, const Batch& batch) override {
    begun_ = watch_.seconds();
    return run_.observer(update, index, batch);
  }
  void gradients(std::uint64_t update, const ParameterSet& parameters) override { run_.gradients(update, parameters); }
  void updated(const UpdateRecord& record) override {
    done_ = watch_.seconds();
    run_.updated(record);
  }
  void checkpoint(const TrainState&, bool) override {}
  /// The first updates only warm up. After them the run ends once it has been measured for so many seconds, though not
  /// before some updates have been probed.
  bool interrupted() override {
    const bool stop = run_.interrupted();
    const double now = watch_.seconds();
    updates_.push_back({begun_ - end_, done_ - begun_, now - done_});
    if (!warm_ && updates_.size() == probe_every) {
      updates_.clear();
      measured_from_ = now;
      warm_ = true;
    }
    end_ = watch_.seconds();
    return stop || (warm_ && updates_.size() >= 4 * probe_every && updates_.size() % probe_every == 0 &&
                    now - measured_from_ >= seconds_);
  }

  const std::vector<Update>& updates() const { return updates_; }

 private:
  RunListener& run_;
  double seconds_;
  bool warm_ = false;
  Stopwatch watch_;
  double begun_ = 0, done_ = 0, end_ = 0, measured_from_ = 0;
  std::vector<Update> updates_;
};

struct Overheads {
  double update = 0;                 ///< median, in seconds
  double batching = 0, logging = 0;  ///< their share of the time of updates that are not probed
  std::vector<double> probe;         ///< of each probed update: its extra time over that of 50 updates
  double beside() const { return batching + logging; }
};

/// `updates` are those after the 50th, in stretches of 50 of which the last one is probed.
Overheads overheads_of(const std::vector<LoopTimer::Update>& updates) {
  Overheads overheads;
  std::vector<double> all;
  double total = 0;
  for (std::size_t begin = 0; begin + probe_every <= updates.size(); begin += probe_every) {
    std::vector<double> plain;
    for (std::size_t i = begin; i + 1 < begin + probe_every; ++i) {
      const LoopTimer::Update& update = updates[i];
      plain.push_back(update.all());
      all.push_back(update.update);
      total += update.all();
      overheads.batching += update.batching;
      overheads.logging += update.logging;
    }
    const double usual = statistics::median(plain);
    overheads.probe.push_back((updates[begin + probe_every - 1].all() - usual) /
                              (static_cast<double>(probe_every) * usual));
  }
  overheads.update = statistics::median(all);
  overheads.batching /= total;
  overheads.logging /= total;
  return overheads;
}

int bench_overhead_command(const BenchOverheadArguments& arguments) {
  blas::initialize();
  const BenchShape& shape = find_bench_shape_with_sources(arguments.shape);
  const TemporaryFolder temporary;
  const std::string config_path = temporary / "config.yaml";
  write_file_atomically(config_path, config_of(shape));
  const std::string probed_path = temporary / "probed.yaml";
  write_file_atomically(probed_path, fmt::format("extends: config.yaml\nprobe: {{every: {}}}\n", probe_every));

  std::vector<double> starts;
  for (std::size_t i = 0; i <= arguments.starts; ++i) {
    const RunFolder started(temporary / "start");
    const double seconds = time_to_first_update(config_path, started);
    remove_quietly(started.path);          // or its checkpoints take memory and the disk's time from the next start
    if (i > 0) starts.push_back(seconds);  // the first one reads the program from the disk
  }

  const ConfigFile file(probed_path);
  const Experiment experiment(file);
  const RunFolder folder(temporary / "run");
  folder.create();
  const StopSignals signals;
  Console console;
  const Training training{experiment.model->transformer(),
                          experiment.model->parameters(),
                          *experiment.optimizer,
                          *experiment.schedule,
                          experiment.data.dataset->split("train"),
                          experiment.data.dataset->split("valid"),
                          experiment.data.dataset->codec,
                          file.config.seed};
  RunListener listener(console, folder, file.config, training, RunProgress(), signals, nullptr);
  LoopTimer timer(listener, arguments.seconds);
  train(training, file.config.train, TrainState(), timer);
  console.end_progress();
  if (signals.received() != 0) return 128 + signals.received();

  const Overheads overheads = overheads_of(timer.updates());
  const auto [least, most] = std::minmax_element(starts.begin(), starts.end());
  if (arguments.json) {
    fmt::print("{}\n", Json{{"peer", std::string("surd ") + version()},
                            {"config", shape.name},
                            {"starts", starts.size()},
                            {"start_ms", rounded(1e3 * statistics::median(starts), 0.1)},
                            {"asked_start_ms", asked_start_ms},
                            {"updates", timer.updates().size()},
                            {"update_ms", rounded(1e3 * overheads.update, 1e-3)},
                            {"batching_share", rounded(overheads.batching, 1e-5)},
                            {"logging_share", rounded(overheads.logging, 1e-5)},
                            {"asked_batching_and_logging_share", asked_beside_share},
                            {"probe_every", probe_every},
                            {"probe_share", rounded(statistics::median(overheads.probe), 1e-5)},
                            {"asked_probe_share", asked_probe_share}}
                           .dump());
    return exit_done;
  }
  fmt::print("{}: an update takes {:.2f} ms (median of {})\n", shape.name, 1e3 * overheads.update,
             timer.updates().size());
  fmt::print("start to first update  {:.0f} ms (median of {}, {:.0f} to {:.0f}); asked: below {:.0f}\n",
             1e3 * statistics::median(starts), starts.size(), 1e3 * *least, 1e3 * *most, asked_start_ms);
  fmt::print("batching and logging   {:.2f} % of a run ({:.2f} + {:.2f}); asked: below {:.0f}\n",
             100 * overheads.beside(), 100 * overheads.batching, 100 * overheads.logging, 100 * asked_beside_share);
  fmt::print("probe every {} updates {:.2f} % more (median of {} probed); asked: below {:.0f}\n", probe_every,
             100 * statistics::median(overheads.probe), overheads.probe.size(), 100 * asked_probe_share);
  return exit_done;
}

}  // namespace

void add_bench_overhead(CommandTable& table) {
  table.add("bench overhead", "Time what a run costs beside its updates", {}, bench_overhead_command);
}

}  // namespace surd
