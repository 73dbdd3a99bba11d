#pragma once

#include "experiments/experiment.hpp"

#include <memory>
#include <string>

namespace surd {

/// The folder of a run:
///
///     config.yaml      the resolved config; itself a valid config
///     vocabulary/      source.txt, target.txt: one token a line
///     checkpoints/     see Checkpoints
///     metrics.jsonl    one object an update or evaluation
///     probe.jsonl      diagnostics, if probe.every > 0
///     summary.json     what came out, and on what
struct RunFolder {
  explicit RunFolder(std::string folder) : path(std::move(folder)) {}

  std::string config() const { return path + "/config.yaml"; }
  std::string vocabulary() const { return path + "/vocabulary"; }
  std::string checkpoints() const { return path + "/checkpoints"; }
  std::string metrics() const { return path + "/metrics.jsonl"; }
  std::string probe() const { return path + "/probe.jsonl"; }
  std::string summary() const { return path + "/summary.json"; }

  bool exists() const;
  /// Makes the folder and its subfolders. Throws Error when it exists and holds anything, or cannot be made.
  void create() const;

  std::string path;
};

/// A finished or unfinished run, opened to be used: its config, vocabularies and trained model.
struct OpenRun {
  /// `checkpoint`: "best", "last" or a file. Throws Error or ConfigError when the folder is not a run, or damaged.
  OpenRun(const std::string& folder, const std::string& checkpoint);

  RunFolder folder;
  RunConfig config;
  TextCodec codec;
  Model model;
};

}  // namespace surd
