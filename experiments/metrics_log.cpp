#include "experiments/metrics_log.hpp"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace surd {

using Json = nlohmann::ordered_json;

JsonLines::JsonLines(const std::string& path, std::uint64_t position) : path_(path) {
  std::error_code error;
  if (position > 0) {
    const auto size = std::filesystem::file_size(path, error);
    expect(!error && size >= position, path, "is shorter than its checkpoint says ({} bytes); it was changed",
           position);
  }
  file_.reset(std::fopen(path.c_str(), "ab"));
  expect(file_ != nullptr, path, "cannot be opened: {}", std::strerror(errno));
  expect(ftruncate(fileno(file_.get()), static_cast<off_t>(position)) == 0, path, "cannot be cut: {}",
         std::strerror(errno));
  std::fseek(file_.get(), 0, SEEK_END);
}

void JsonLines::write(const std::string& line) {
  const std::string text = line + "\n";
  expect(std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size(), path_, "cannot be written: {}",
         std::strerror(errno));
}

std::uint64_t JsonLines::position() {
  // Synced, because a checkpoint that is on the disk relies on these bytes.
  expect(std::fflush(file_.get()) == 0 && fsync(fileno(file_.get())) == 0, path_, "cannot be written: {}",
         std::strerror(errno));
  return static_cast<std::uint64_t>(std::ftell(file_.get()));
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

std::string to_json_line(std::uint64_t update, const Evaluation& evaluation, bool best) {
  Json json{{"event", "evaluation"},
            {"update", update},
            {"loss", evaluation.loss},
            {"perplexity", evaluation.perplexity},
            {"token_accuracy", evaluation.token_accuracy}};
  if (evaluation.decoded > 0) json["sequence_accuracy"] = evaluation.sequence_accuracy;
  json["best"] = best;
  return json.dump();
}

std::string to_json_line(std::uint64_t update, const Probe::Record& record) {
  return Json{{"update", update},
              {"path", record.path},
              {"what", record.what},
              {"statistic", record.statistic},
              {"value", record.number}}
      .dump();
}

}  // namespace surd
