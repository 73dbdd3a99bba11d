#include "experiments/run/metrics_log.hpp"

#include <fcntl.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace surd {

using Json = nlohmann::ordered_json;

JsonLines::JsonLines(const std::string& path, std::uint64_t position)
    : file_(path, O_WRONLY | O_CREAT | O_APPEND), position_(position) {
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

std::string to_json_line(const TrainState& state, const Evaluation& evaluation, bool best) {
  Json json{{"event", "evaluation"},
            {"update", state.update},
            {"trained_target_tokens", state.target_tokens},
            {"loss", evaluation.loss},
            {"perplexity", evaluation.perplexity},
            {"token_accuracy", evaluation.token_accuracy}};
  if (evaluation.decoded > 0) json["sequence_accuracy"] = evaluation.sequence_accuracy;
  json["best"] = best;
  return json.dump();
}

std::string to_json_line(std::uint64_t update, const Probe::Record& record) {
  // Hundreds of lines at once: putting an object together would cost more than what is measured.
  return fmt::format(R"({{"update":{},"path":{},"what":{},"statistic":{},"value":{}}})", update,
                     Json(record.path).dump(), Json(record.what).dump(), Json(record.statistic).dump(),
                     Json(record.number).dump());
}

}  // namespace surd
