#include "experiments/run/data/run_data.hpp"

#include "train/storage/files.hpp"

#include <filesystem>

namespace surd {
namespace {

/// "" where there is no such file; another text once it was written to.
std::string state_of_file(const std::string& path) {
  if (!is_file(path)) return "";
  std::error_code ignored;  // then the file is read anew, which tells what is wrong
  return fmt::format("{} bytes of {}", std::filesystem::file_size(path, ignored),
                     std::filesystem::last_write_time(path, ignored).time_since_epoch().count());
}

/// What a task's data depend on.
std::string origin_of(const RunConfig& config, const TextFormat& format) {
  std::string origin = format.open_vocabulary ? "" : fmt::format("seed {}\n", config.seed);  // files have no seed
  for (const auto& [key, value] : settings_of(config))
    if (key.rfind("task.", 0) == 0) origin += fmt::format("{}: {} {}\n", key, value, state_of_file(value));
  return origin;
}

std::shared_ptr<const Corpus> load_corpus(const RunConfig& config, const Task& task) {
  auto corpus = std::make_shared<const Corpus>(task.load(config.seed));
  for (const char* name : {"train", "valid"})  // what a task of one's own may forget
    expect(!corpus->split(name).pairs.empty(), config.task.name(), "the task gives no pair in its split '{}'", name);
  return corpus;
}

}  // namespace

RunData load_data(const RunConfig& config) {
  static std::string origin;
  static RunData last;
  const auto task = config.task.make();
  const std::string asked = origin_of(config, task->format());  // before the files are read
  if (asked == origin) return last;
  last = {};  // which would take memory beside the others
  origin.clear();
  const auto corpus = load_corpus(config, *task);
  last = {corpus, std::make_shared<const Dataset>(*corpus)};
  origin = asked;
  return last;
}

RunData load_data(const RunConfig& config, const std::string& vocabulary) {
  const auto corpus = load_corpus(config, *config.task.make());
  return {corpus, std::make_shared<const Dataset>(*corpus, TextCodec::load(vocabulary, *corpus))};
}

}  // namespace surd
