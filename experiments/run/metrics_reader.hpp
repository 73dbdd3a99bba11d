#pragma once

#include "train/storage/json_object.hpp"
#include "train/train.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace surd {

/// An evaluation on the validation split as metrics.jsonl holds it.
struct EvaluationRecord {
  std::uint64_t update = 0;
  double loss = 0;
  double perplexity = 0;
  double token_accuracy = 0;
  std::optional<double> sequence_accuracy = {}, bleu = {}, chrf = {};
  bool best = false;
  std::optional<std::uint64_t> trained_target_tokens = {};  ///< of all updates before; older logs do not tell
  std::optional<double> bits_per_byte = {};
};

/// The scores that `json` holds, with the names that they have in metrics.jsonl and summary.json.
EvaluationRecord scores_of(const JsonObject& json);

/// What a run has logged so far.
struct Metrics {
  std::vector<UpdateRecord> updates;
  std::vector<EvaluationRecord> evaluations;
};

/// Reads the text of a metrics.jsonl. A last line without its newline is one that is still being written, or never was
/// because the run was killed: it is left out. A null where a number belongs is NaN, which JSON cannot write. Throws
/// Error "name:line: ..." for anything else that a run does not write.
Metrics decode_metrics(const std::string& text, const std::string& name);

/// decode_metrics of a file. Throws Error when it cannot be read.
Metrics read_metrics(const std::string& path);

}  // namespace surd
