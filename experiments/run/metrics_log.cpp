#include "experiments/run/metrics_log.hpp"

#include <fcntl.h>
#include <fmt/compile.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace surd {

using Json = nlohmann::ordered_json;

namespace {

/// As JSON. Most names need no escapes, and looking is faster than what the library does.
std::string quoted(const std::string& text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  return plain ? '"' + text + '"' : Json(text).dump();
}

}  // namespace

JsonLines::JsonLines(const std::string& path, std::uint64_t position)
    : path_(path), file_(path, O_WRONLY | O_CREAT | O_APPEND), position_(position) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  expect(!error, path, "cannot be measured: {}", error.message());
  expect(size >= position, path,
         "is shorter than its checkpoint says ({} of {} bytes); it was changed: put it back, or train again into "
         "another folder",
         size, position);
  file_.truncate(position);
}

void JsonLines::write(const std::string& line) {
  file_.write(line + "\n");
  position_ += line.size() + 1;
  dirty_ = true;
}

std::uint64_t JsonLines::sync() {
  expect(file_.is_at_its_path() && file_.size() == position_, path_,
         "was removed or changed while the run wrote to it; train again into another folder");
  if (dirty_) file_.sync();
  dirty_ = false;
  return position_;
}

std::string to_json_line(const UpdateRecord& record) {
  return Json{{"event", "update"},
              {"update", record.update},
              {"epoch", record.epoch},
              {"loss", record.loss},
              {"gradient_norm", record.gradient_norm},
              {"learning_rate", record.learning_rate},
              {"source_tokens", record.source_tokens},
              {"target_tokens", record.target_tokens}}
      .dump();
}

EvaluationRecord record_of(const TrainState& state, const Evaluation& evaluation, bool best) {
  EvaluationRecord record;
  record.update = state.update;
  record.loss = evaluation.loss;
  record.perplexity = evaluation.perplexity;
  record.token_accuracy = evaluation.token_accuracy;
  record.bits_per_byte = evaluation.bits_per_byte;
  if (evaluation.decoded > 0) record.sequence_accuracy = evaluation.sequence_accuracy;
  record.bleu = evaluation.bleu;
  record.chrf = evaluation.chrf;
  record.best = best;
  record.trained_target_tokens = state.target_tokens;
  return record;
}

Json scores_to_json(const EvaluationRecord& record) {
  Json json{{"loss", record.loss}, {"perplexity", record.perplexity}, {"token_accuracy", record.token_accuracy}};
  if (record.bits_per_byte) json["bits_per_byte"] = *record.bits_per_byte;
  if (record.sequence_accuracy) json["sequence_accuracy"] = *record.sequence_accuracy;
  if (record.bleu) json["bleu"] = *record.bleu;
  if (record.chrf) json["chrf"] = *record.chrf;
  return json;
}

std::vector<std::string> score_texts(const EvaluationRecord& record) {
  // The perplexity is exp(loss): metrics.jsonl and `surd eval` have it.
  std::vector<std::string> texts{fmt::format("loss {:7.4f}", record.loss),
                                 fmt::format("tokens {:6.2f} %", 100 * record.token_accuracy)};
  if (record.bits_per_byte) texts.push_back(fmt::format("bits/byte {:6.4f}", *record.bits_per_byte));
  if (record.sequence_accuracy) texts.push_back(fmt::format("sequences {:6.2f} %", 100 * *record.sequence_accuracy));
  if (record.bleu) texts.push_back(fmt::format("BLEU {:5.2f}", *record.bleu));
  return texts;
}

std::string to_json_line(const EvaluationRecord& record) {
  Json json{{"event", "evaluation"},
            {"update", record.update},
            {"trained_target_tokens", record.trained_target_tokens.value_or(0)}};
  json.update(scores_to_json(record));
  json["best"] = record.best;
  return json.dump();
}

std::string to_json_line(std::uint64_t update, const Probe::Record& record) {
  // Hundreds of lines at once: putting an object together would cost more than what is measured.
  return fmt::format(FMT_COMPILE(R"({{"update":{},"path":{},"what":{},"statistic":{},"value":{}}})"), update,
                     quoted(record.path), quoted(record.what), quoted(record.statistic), Json(record.number).dump());
}

}  // namespace surd
