#pragma once

#include "experiments/program/console.hpp"
#include "experiments/run/run_config.hpp"
#include "experiments/run/run_folder.hpp"
#include "train/ranks/transport.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// One run: from a config file to the folder it leaves. This room ties the engine, data/, layers/ and train/ to files
/// and to a person at a terminal; it may use all of those, config/ and program/, and knows nothing of studies or
/// commands. Start here, then read run_config.hpp for what a run is made from and run_folder.hpp for what it leaves.
namespace surd {

/// What a run begins with that does not begin with random parameters.
struct StartingPoint {
  std::string vocabulary;  ///< the folder of the vocabularies that the parameters were trained with
  std::string checkpoint;  ///< a .safetensors file
};

/// How a run is to be made.
struct RunRequest {
  std::optional<StartingPoint> from;
  bool resume = false;                     ///< the folder holds a run of this config, to go on with
  std::vector<SettingChange> changed_end;  ///< in what the config differs from the run's, which is when it ends
  std::unique_ptr<File> lock;              ///< the lock of the folder, if the caller holds it already
  bool alone = false;                      ///< no other process knows of the folder, so that it needs no lock
  /// Whether the run can be resumed or used afterwards. Without them it writes no parameters.
  bool checkpoints = true;
  std::optional<RunOrigin> origin;                  ///< of a run that begins; a run of a study has none
  std::function<void(std::uint64_t)> after_update;  ///< called after each update
  /// The processes that train this model together, if there are several. All of them see the folder; the first writes.
  Transport* transport = nullptr;
  double rank_timeout = 60;  ///< see Ranks
};

/// Trains what a config describes in a folder, until the end, a stop signal or divergence, writes all that a run
/// leaves, and returns the exit code of `surd train`. BLAS must be initialised. Throws ConfigError for options that
/// contradict each other or the data, before anything is written; UsageError where the data are not those of the run
/// that is resumed; RankLost, after saving what was reached, where another process is lost; Error.
int run_training(const ConfigFile& file, const RunFolder& folder, RunRequest request, Console& console);

}  // namespace surd
