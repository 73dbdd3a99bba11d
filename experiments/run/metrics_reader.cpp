#include "experiments/run/metrics_reader.hpp"

#include "train/storage/files.hpp"

namespace surd {
namespace {

constexpr const char* way_out = "the file was changed by hand: put the line back, or train again into another folder";

UpdateRecord update_of(const JsonObject& line) {
  return {line.count("update"),       line.count("epoch"),        line.real("loss"),
          line.real("gradient_norm"), line.real("learning_rate"), line.count("source_tokens"),
          line.count("target_tokens")};
}

EvaluationRecord evaluation_of(const JsonObject& line) {
  EvaluationRecord record = scores_of(line);
  record.update = line.count("update");
  record.best = line.truth("best");
  if (line.has("trained_target_tokens")) record.trained_target_tokens = line.count("trained_target_tokens");
  return record;
}

/// Two processes that wrote into one file are noticed by this.
template <class Record>
void add_after_last(std::vector<Record>& records, Record record, const JsonObject& line) {
  line.require(records.empty() || record.update > records.back().update, "update {} comes after update {}",
               record.update, records.empty() ? 0 : records.back().update);
  records.push_back(std::move(record));
}

}  // namespace

EvaluationRecord scores_of(const JsonObject& json) {
  EvaluationRecord record;
  record.loss = json.real("loss");
  record.perplexity = json.real("perplexity");
  record.token_accuracy = json.real("token_accuracy");
  const auto take = [&](const char* name, std::optional<double>& score) {
    if (json.has(name)) score = json.real(name);
  };
  take("bits_per_byte", record.bits_per_byte);
  take("sequence_accuracy", record.sequence_accuracy);
  take("bleu", record.bleu);
  take("chrf", record.chrf);
  return record;
}

Metrics decode_metrics(const std::string& text, const std::string& name) {
  Metrics metrics;
  std::size_t number = 0;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const JsonObject line(std::string_view(text).substr(begin, end - begin), fmt::format("{}:{}", name, ++number),
                          way_out);
    const std::string event = line.text("event");
    if (event == "update") {
      add_after_last(metrics.updates, update_of(line), line);
    } else {
      line.require(event == "evaluation", "'event' is neither \"update\" nor \"evaluation\"");
      add_after_last(metrics.evaluations, evaluation_of(line), line);
    }
  }
  return metrics;
}

Metrics read_metrics(const std::string& path) { return decode_metrics(read_file(path), path); }

}  // namespace surd
