#include "experiments/run_folder.hpp"

#include "train/checkpoint.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

namespace surd {

namespace fs = std::filesystem;

bool RunFolder::exists() const { return fs::exists(path) && !(fs::is_directory(path) && fs::is_empty(path)); }

bool RunFolder::begun() const { return fs::exists(config()); }

bool RunFolder::only_prepared() const {
  if (!fs::is_directory(path) || begun()) return false;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name == "lock" || name == "config.yaml.tmp" ||
                      (name == "vocabulary" && fs::exists(lock_file())) ||
                      ((name == "checkpoints" || name == "vocabulary") && fs::is_empty(entry.path()));
    if (!ours) return false;
  }
  return true;
}

void RunFolder::create() const {
  for (const std::string& folder : {path, vocabulary(), checkpoints()}) {
    std::error_code error;
    fs::create_directories(folder, error);
    expect(!error, folder, "cannot be made: {}", error.message());
  }
}

void RunFolder::begin(const std::string& config_text, const TextCodec& codec) const {
  write_file_atomically(vocabulary() + "/source.txt", codec.source_vocabulary().text());
  write_file_atomically(vocabulary() + "/target.txt", codec.target_vocabulary().text());
  write_file_atomically(config(), config_text);
}

std::unique_ptr<File> RunFolder::lock() const {
  auto file = std::make_unique<File>(lock_file(), O_RDWR | O_CREAT);
  if (!file->lock()) {
    std::string owner = file->read();
    while (!owner.empty() && owner.back() == '\n') owner.pop_back();
    throw Error(fmt::format("{}: another process{} is training in this folder; wait for its end, or use another --out",
                            path, owner.empty() ? "" : " (" + owner + ")"));
  }
  file->truncate(0);
  file->write(fmt::format("pid {}\n", ::getpid()));
  return file;
}

void RunFolder::clean() const {
  for (const std::string& folder : {path, vocabulary(), checkpoints()}) remove_temporary_files(folder);
}

namespace {

const std::string& expect_run(const std::string& folder) {
  expect(fs::exists(RunFolder(folder).config()), folder, "is not the folder of a run: it has no config.yaml");
  return folder;
}

}  // namespace

OpenRun::OpenRun(const std::string& path, const std::string& checkpoint)
    : folder(expect_run(path)),
      config(load_config(folder.config())),
      codec(TextCodec::load(folder.vocabulary(), config.task.make()->format())),
      model(config, codec) {
  const Checkpoints checkpoints(folder.checkpoints(), config.train.keep_checkpoints);
  load_parameters(checkpoint == "best"   ? checkpoints.best_path()
                  : checkpoint == "last" ? checkpoints.last_path()
                                         : checkpoint,
                  model.parameters());
}

}  // namespace surd
