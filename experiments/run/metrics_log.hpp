#pragma once

#include "experiments/run/metrics_reader.hpp"
#include "train/probe/probe.hpp"
#include "train/storage/files.hpp"
#include "train/train.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace surd {

/// A file of JSON lines that a resumed run cuts back to where its checkpoint stood. It holds nothing that depends on
/// time or machine, so that equal runs write equal bytes; docs/run-folder.md documents the fields.
class JsonLines {
 public:
  /// Opens for appending, after cutting the file to its first `position` bytes. Throws Error with the system's reason,
  /// or when the file is shorter than that.
  JsonLines(const std::string& path, std::uint64_t position);

  /// Writes one line, or several that are given with newlines between them, and a newline at the end. Throws Error when
  /// it cannot be written.
  void write(const std::string& line);
  /// Syncs the file and returns the bytes written so far: a checkpoint that names a position must not outlive the lines
  /// before it, even in a loss of power. Throws Error when they cannot be synced, or the file was removed or
  /// changed by others.
  std::uint64_t sync();

 private:
  std::string path_;
  File file_;
  std::uint64_t position_;
  bool dirty_ = true;  // has lines that are not synced
};

EvaluationRecord record_of(const TrainState& state, const Evaluation& evaluation, bool best);
/// Its scores, as scores_of() reads them.
nlohmann::ordered_json scores_to_json(const EvaluationRecord& record);
/// The same for a person: "loss  1.2345", "tokens  67.89 %", "BLEU 30.12".
std::vector<std::string> score_texts(const EvaluationRecord& record);

std::string to_json_line(const UpdateRecord& record);
std::string to_json_line(const EvaluationRecord& record);
std::string to_json_line(std::uint64_t update, const Probe::Record& record);

}  // namespace surd
