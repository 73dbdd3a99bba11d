#pragma once

#include "experiments/run/run_config.hpp"
#include "experiments/run/run_result.hpp"

#include <string>

/// What a run of a study leaves in its folder: the files of any run, and outcome.json, written last, which says how it
/// ended and has hashes of all that the study judges it by.
namespace surd {

/// Writes outcome.json, after syncing what else the run left. `reused_from` is the run folder of another study that it
/// was taken from, if it was. Throws Error.
void write_outcome(const std::string& run, RunResult::Status status, const std::string& message,
                   const RunConfig& config, const std::string& reused_from = "");
/// How a run ended: what its outcome.json says, and no more. Throws Error where that is damaged.
RunResult read_outcome(const std::string& run);
/// All that a run left, probe.jsonl, which may be large, where asked for. Throws Error where a file is damaged or was
/// changed after the run.
RunResult read_result(const std::string& run, bool with_probe);
/// Whether the logs of a run are those that it ended with. Throws Error where outcome.json is damaged.
bool logs_unchanged(const std::string& run);

/// Copies a run's files, without its outcome, into a folder that is there; the checkpoints where asked for. Throws
/// Error.
void copy_run_files(const std::string& from, const std::string& to, bool with_checkpoints);

}  // namespace surd
