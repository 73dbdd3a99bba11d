#pragma once

#include "experiments/run/metrics_reader.hpp"
#include "train/probe/probe.hpp"

#include <map>
#include <string>
#include <vector>

namespace surd {

/// One number of a probe.jsonl.
struct ProbeNumber {
  std::uint64_t update = 0;
  Probe::Record record;
};

/// What one run left behind.
struct RunResult {
  enum class Status { finished, diverged, failed };
  Status status = Status::finished;
  std::string message;  ///< where it diverged, or why it failed
  Metrics metrics;
  std::vector<ProbeNumber> probe;
  std::map<std::string, double> summary;  ///< the numbers of summary.json, e.g. "wall_seconds"
  /// The texts of summary.json, which are those of system_info(): the program and the machine that made it.
  std::map<std::string, std::string> system = {};
  /// Wall-clock seconds until each evaluation of the last process had ended, by update.
  std::map<std::uint64_t, double> evaluation_seconds = {};
  /// At the end of a finished run, on the splits that train.evaluate_splits names.
  std::map<std::string, EvaluationRecord> splits = {};
  std::uint64_t updates = 0;     ///< how many the config asked for
  std::size_t vocabulary = 0;    ///< size of the target vocabulary
  std::string reused_from = "";  ///< the run folder of another study that it was taken from, if it was
};
std::vector<std::string> names_of(RunResult::Status);

/// Reads the text of a probe.jsonl. A last line without its newline is left out. Throws Error "name:line: ..." for
/// anything that a run does not write.
std::vector<ProbeNumber> decode_probe(const std::string& text, const std::string& name);

}  // namespace surd
