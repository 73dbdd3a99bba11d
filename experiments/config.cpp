#include "experiments/config.hpp"

#include "experiments/read_options.hpp"

#include <cstdlib>
#include <filesystem>
#include <utility>

namespace surd {

namespace {

/// Where presets lie: where SURD_PRESETS says, else where an installation has them beside the program, else in the
/// source tree.
std::filesystem::path presets_folder() {
  if (const char* folder = std::getenv("SURD_PRESETS"); folder != nullptr) return folder;
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path installed = program.parent_path().parent_path() / "share" / "surd" / "presets";
  return std::filesystem::is_directory(installed, ignored) ? installed : std::filesystem::path(SURD_PRESETS_FOLDER);
}

}  // namespace

void RunConfig::fields(Fields& f) {
  f("seed", seed, "of the data, the initial weights, the batches and the dropout masks");
  f.choice("task", "name", task, "what is learned");
  f("model", model, "the Transformer");
  f.choice("optimizer", "name", optimizer, "how gradients become steps");
  f.choice("schedule", "name", schedule, "the learning rate over the run");
  f("train", train, "the training loop");
  f("probe", probe, "diagnostics");
}

ConfigFile::ConfigFile(const std::string& path, const std::vector<std::string>& settings)
    : document(YamlDocument::load(path, presets_folder())) {
  for (const std::string& setting : settings) document.set(setting);
  // The default size only counts where the file names neither kind of size.
  auto& batching = config.train.batching;
  const auto default_size = std::exchange(batching.batch_size, std::nullopt);
  read_options(document, config);
  if (!batching.batch_size && !batching.batch_tokens) batching.batch_size = default_size;
}

RunConfig load_config(const std::string& path, const std::vector<std::string>& settings) {
  return ConfigFile(path, settings).config;
}

std::string to_yaml(const RunConfig& config, WithHelp help) { return write_yaml(config, help); }

}  // namespace surd
