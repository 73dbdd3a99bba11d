#include "experiments/run/run_config.hpp"

#include "experiments/config/read_options.hpp"
#include "experiments/program/folders.hpp"

#include <utility>

namespace surd {

void RunConfig::fields(Fields& f) {
  f("seed", seed, "of the data, the initial weights, the batches and the dropout masks");
  f.choice("task", "name", task, "what is learned");
  f("model", model, "the Transformer");
  f.choice("optimizer", "name", optimizer, "how gradients become steps");
  f.choice("schedule", "name", schedule, "the learning rate over the run");
  f("train", train, "the training loop");
  f("probe", probe, "diagnostics");
}

namespace {

YamlDocument load_document(const std::string& path, const std::vector<std::string>& settings) {
  YamlDocument document = YamlDocument::load(path, presets_folder());
  for (const std::string& setting : settings) document.set(setting);
  return document;
}

}  // namespace

ConfigFile::ConfigFile(const std::string& path, const std::vector<std::string>& settings)
    : ConfigFile(load_document(path, settings)) {}

ConfigFile::ConfigFile(YamlDocument read) : document(std::move(read)) {
  // The default size only counts where the file names neither kind of size, be it as null.
  auto& batching = config.train.batching;
  const auto default_size = std::exchange(batching.batch_size, std::nullopt);
  read_options(document, config);
  const YamlNode* train = document.root().find("train");
  const bool written = train != nullptr && train->find("batch_size") != nullptr;
  if (!written && !batching.batch_tokens) batching.batch_size = default_size;
}

RunConfig load_config(const std::string& path, const std::vector<std::string>& settings) {
  return ConfigFile(path, settings).config;
}

std::string to_yaml(const RunConfig& config, WithHelp help) { return write_yaml(config, help); }

Settings settings_of(const RunConfig& config) { return settings_of(YamlDocument::parse(to_yaml(config), "").root()); }

}  // namespace surd
