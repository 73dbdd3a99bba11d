#include "experiments/run/data/run_data.hpp"

#include <sys/stat.h>

namespace surd {
namespace {

/// Another text once the file is another, or was written to; "" where there is none.
std::string state_of_file(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return "";
  const auto time = [](const timespec& moment) { return fmt::format("{}.{:09}", moment.tv_sec, moment.tv_nsec); };
  return fmt::format("{}:{} {} {} {}", file.st_dev, file.st_ino, file.st_size, time(file.st_mtim), time(file.st_ctim));
}

/// What a task's data depend on.
std::string origin_of(const RunConfig& config, const Task& task) {
  std::string origin = task.takes_seed() ? fmt::format("seed {}\n", config.seed) : "";
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
  const std::string asked = origin_of(config, *task);  // before the files are read
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
