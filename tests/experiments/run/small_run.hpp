#pragma once

#include "experiments/commands/train.hpp"
#include "experiments/run/run_folder.hpp"
#include "tests/data/temporary_directory.hpp"
#include "train/storage/checkpoint.hpp"
#include "train/storage/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

/// Runs of the train command inside the test's own process, quick enough for hundreds of them.
namespace surd::test {

/// Nothing is printed as long as it lives.
class Silence {
 public:
  Silence() : output_(::dup(1)), errors_(::dup(2)) {
    std::fflush(nullptr);
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, 1);
    ::dup2(nowhere, 2);
    ::close(nowhere);
  }
  ~Silence() {
    std::fflush(nullptr);
    ::dup2(output_, 1);
    ::dup2(errors_, 2);
    ::close(output_);
    ::close(errors_);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  int output_, errors_;
};

/// Two batches an update and seven batches an epoch: epochs end within updates. Evaluations, checkpoints and the lines
/// of the logs fall on different updates.
inline const char* const small_config =
    "task: {name: copy, train_size: 26, valid_size: 5, test_size: 1, vocabulary: 6, max_length: 3}\n"
    "model: {d_model: 8, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: {width: 8}, dropout: 0.1}\n"
    "train: {updates: 10, batch_size: 4, accumulate: 2, evaluate_every: 3, checkpoint_every: 4, log_every: 2}\n"
    "probe: {every: 5}\n";

/// Thrown after an update, it leaves what a kill would leave.
struct Killed {};

struct SmallRun {
  TemporaryDirectory directory;
  std::string config = directory.write("small.yaml", small_config);
  std::vector<std::string> settings;

  TrainArguments arguments(const std::string& name, bool resume = false) const {
    TrainArguments result;
    result.config = config;
    result.settings.values = settings;
    result.out = directory.path(name);
    result.resume = resume;
    return result;
  }
  int train(const TrainArguments& arguments) const {
    const Silence silence;
    return train_command(arguments);
  }
  /// Everything a run must have in common with one that was never stopped: parameters, optimizer state, state of
  /// training, logs, vocabularies, config.
  std::string result(const std::string& name) const {
    const RunFolder run(directory.path(name));
    std::vector<std::string> files = {
        run.config(), run.vocabulary() + "/source.txt",       run.vocabulary() + "/target.txt", run.metrics(),
        run.probe(),  run.checkpoints() + "/best.safetensors"};
    // A fault after the last one was written can leave one more, which is older.
    std::vector<std::string> latest = Checkpoints(run.checkpoints(), kept).newest_first();
    latest.resize(std::min(latest.size(), kept));
    files.insert(files.end(), latest.begin(), latest.end());
    std::string all;
    for (const std::string& file : files) all += file.substr(run.path.size()) + "\n" + read_file(file);
    return all;
  }
  static constexpr std::size_t kept = 2;  // checkpoints, as by default
};

}  // namespace surd::test
