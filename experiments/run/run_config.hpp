#pragma once

#include "data/task.hpp"
#include "experiments/config/settings.hpp"
#include "experiments/config/write_options.hpp"
#include "experiments/config/yaml_document.hpp"
#include "layers/transformer.hpp"
#include "train/optimizers/optimizer.hpp"
#include "train/probe/probe.hpp"
#include "train/schedule.hpp"
#include "train/train.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace surd {

/// Everything a run is made from; the root of a config file.
struct RunConfig {
  std::size_t seed = 1;
  Choice<Task()> task = {tasks(), "copy"};
  TransformerOptions model;
  OptimizerChoice optimizer = {optimizers(), "adam"};
  ScheduleChoice schedule = {schedules(), "inverse_sqrt"};
  TrainOptions train;
  ProbeOptions probe;

  void fields(Fields& f);
};

/// A config as it was read, and the place of each of its keys.
struct ConfigFile {
  /// Reads a file and applies "a.b.c=value" settings in their order. Throws ConfigError with every problem.
  explicit ConfigFile(const std::string& path, const std::vector<std::string>& settings = {});
  explicit ConfigFile(YamlDocument read);

  YamlDocument document;
  RunConfig config;
};
RunConfig load_config(const std::string& path, const std::vector<std::string>& settings = {});

/// The config with every default written out; itself a valid config file.
std::string to_yaml(const RunConfig& config, WithHelp help = WithHelp::no);
/// The same, key by key.
Settings settings_of(const RunConfig& config);

/// The keys that say when a run ends; they may change when it goes on.
inline constexpr const char* keys_of_end[] = {"train.updates", "train.minutes", "train.patience", "train.stop_at",
                                              "train.stop_after"};

}  // namespace surd
