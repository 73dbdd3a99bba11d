#include "experiments/run_folder.hpp"

#include "train/checkpoint.hpp"

#include <filesystem>

namespace surd {

namespace fs = std::filesystem;

bool RunFolder::exists() const { return fs::exists(path) && !(fs::is_directory(path) && fs::is_empty(path)); }

void RunFolder::create() const {
  expect(!exists(), path, "exists already; --resume goes on with it, --out names another folder");
  for (const std::string& folder : {path, vocabulary(), checkpoints()}) {
    std::error_code error;
    fs::create_directories(folder, error);
    expect(!error, folder, "cannot be made: {}", error.message());
  }
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
