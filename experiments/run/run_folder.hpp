#pragma once

#include "experiments/config/settings.hpp"
#include "experiments/run/experiment.hpp"
#include "experiments/run/metrics_reader.hpp"
#include "train/storage/files.hpp"
#include "train/storage/json_object.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace surd {

/// That a run was told to end later or earlier when it went on.
struct ChangedEnd {
  std::uint64_t after_update;
  std::vector<SettingChange> changes;

  std::string text() const;  ///< "after update 600: train.updates: 600 -> 1200"
};

/// How a run was asked for: what its config.yaml, in which everything is resolved, does not tell.
struct RunOrigin {
  std::string command;                ///< the command line that began it, as a shell reads it
  std::string folder;                 ///< where it was given; relative paths in it begin there
  std::string began;                  ///< when, as iso_time() writes it
  std::string file;                   ///< the config, as it was named
  std::vector<std::string> settings;  ///< "a.b.c=value", over the file
  std::vector<std::string> extends;   ///< the files that it builds upon, the nearest first
  Settings extended;                  ///< the resolved config of the nearest alone; empty where there is none
  std::vector<ChangedEnd> ends = {};  ///< in their order
  bool imported = false;              ///< it was not trained: `file` is where its model comes from
  std::string from = {};              ///< the checkpoint that its first parameters are of; "" where they are random
  std::string from_checksum = {};     ///< that checkpoint's, by which it is known again; "" where it has none
};
/// That of a run which begins now, in the current folder.
RunOrigin origin_of(const ConfigFile& config, const std::string& file, const std::vector<std::string>& settings,
                    const std::string& command);
/// The text of origin.json.
std::string to_json_text(const RunOrigin& origin);
/// Reads it back. Throws Error, naming the file `name`, for any other text.
RunOrigin parse_origin(const std::string& text, const std::string& name);

/// The folder of a run:
///
///     config.yaml      the resolved config; itself a valid config
///     origin.json      how the run was asked for; a run of a study has none
///     data.json        size and hash of each split, so that a change of the data files is noticed, and its share of
///                      unknown tokens
///     vocabulary/      source.txt, target.txt: one token a line
///     checkpoints/     see Checkpoints
///     metrics.jsonl    one object an update or evaluation
///     probe.jsonl      diagnostics, if probe.every > 0
///     events.out.*     the same for TensorBoard, if train.tensorboard; see EventFile
///     summary.json     results of the run, and the machine and software it ran on
///     lock             held by the process that trains here
struct RunFolder {
  explicit RunFolder(std::string folder) : path(std::move(folder)) {}

  std::string config() const { return path + "/config.yaml"; }
  std::string origin() const { return path + "/origin.json"; }
  std::string data() const { return path + "/data.json"; }
  std::string vocabulary() const { return path + "/vocabulary"; }
  std::string checkpoints() const { return path + "/checkpoints"; }
  std::string metrics() const { return path + "/metrics.jsonl"; }
  std::string probe() const { return path + "/probe.jsonl"; }
  std::string summary() const { return path + "/summary.json"; }

  /// How a run of a study ended, written by the study; no other run has it.
  std::string outcome() const { return path + "/outcome.json"; }
  std::string lock_file() const { return path + "/lock"; }

  /// Whether there is a folder that holds anything.
  bool exists() const;
  /// Whether the folder holds a run that can be resumed, because begin() came to its end.
  bool begun() const;
  /// Throws UsageError where it does not.
  void expect_begun() const;
  /// The same, and UsageError where the model was imported, and so not trained here.
  void expect_trained() const;
  /// Whether a process is training here now, as far as its lock tells.
  bool in_use() const;
  /// Whether it holds at most what a run that was killed inside begin() leaves, so that nothing is lost by beginning
  /// again.
  bool only_prepared() const;
  /// Makes the folder and its subfolders. Throws Error when they cannot be made.
  void create() const;
  /// Writes what a run is made from, the config last: where it stands, the rest does too. `told` is for origin.json; a
  /// run of a study has none. Throws Error.
  void begin(const std::string& config, const std::optional<RunOrigin>& told, const Corpus& corpus,
             const TextCodec& codec, const UnknownShares& unknown) const;
  /// Which of these splits are not what they were when the run was begun, a line each. Throws Error where data.json is
  /// missing or damaged.
  std::string changed_data(const Corpus& corpus, const std::vector<std::string>& splits) const;
  /// Throws UsageError where one of these splits is not what it was when the run was begun, and Error where that cannot
  /// be told because data.json is missing or damaged.
  void expect_same_data(const Corpus& corpus, const std::vector<std::string>& splits) const;
  /// Keeps every other process from training in this folder until the result is destroyed, or this process ends. Throws
  /// Error where another one is there already.
  std::unique_ptr<File> lock() const;
  /// The content of origin.json; all is empty where there is none. Throws Error where it is damaged.
  RunOrigin read_origin() const;
  /// The content of summary.json. Throws Error, with a way out, where it is not there or damaged.
  JsonObject read_summary() const;
  /// The content of metrics.jsonl. Throws Error where it is damaged, or ends before that of a finished run did, as
  /// summary.json says.
  Metrics read_log() const;
  /// In what config.yaml is not what it was when the run was trained, and a way out; "" where it is, but for files that
  /// were moved, or where nobody knows.
  std::string changed_config() const;
  /// Removes the temporary files of a run that was killed.
  void clean() const;

  std::string path;
};

/// The settings that a run's config.yaml has. Throws ConfigError where it is damaged.
Settings settings_in(const std::string& config);
/// The settings of a run's config, and by what else it was made: `--from`, and where it was told to end otherwise.
/// Throws ConfigError where the config is damaged.
Settings settings_of(const RunFolder& folder);

/// These folders in their order, each once, however it is named.
std::vector<std::string> distinct_folders(const std::vector<std::string>& paths);

/// A finished or unfinished run, opened to be used: its config, vocabularies and trained model.
struct OpenRun {
  /// `checkpoint`: "best", "last", "average" or a file. Throws UsageError where the folder is not a run or has no such
  /// checkpoint, Error or ConfigError where it is damaged.
  OpenRun(const std::string& folder, const std::string& checkpoint);

  RunFolder folder;
  RunConfig config;
  TextCodec codec;
  Model model;
};

}  // namespace surd
