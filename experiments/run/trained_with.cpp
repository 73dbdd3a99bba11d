#include "experiments/run/trained_with.hpp"

#include "experiments/config/yaml_document.hpp"
#include "experiments/run/fingerprint.hpp"
#include "train/storage/json_object.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace surd {
namespace {

/// data.json tells whether they hold the same; they may have been moved.
bool names_file(const std::string& key) {
  constexpr std::string_view keys[] = {
      "task.train",       "task.valid",        "task.test",         "task.train_source", "task.valid_source",
      "task.test_source", "task.train_target", "task.valid_target", "task.test_target",  "task.subwords.model"};
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

bool is_of_logs(const std::string& key) {
  return key.rfind("probe.", 0) == 0 || key == "train.tensorboard" || key == "train.log_every" ||
         key == "train.checkpoint_every" || key == "train.keep_checkpoints";
}

bool is_of_model(const std::string& key) {
  const auto within = [&](std::string_view group) { return key.rfind(group, 0) == 0; };
  return within("model.") || within("task.subwords.") || key == "task.lowercase" || key == "task.shared_vocabulary";
}

/// Those of no other key change a parameter, but for when the run ends.
Settings settings_of_training(const RunConfig& config) {
  Settings settings = settings_of(config);
  for (auto setting = settings.begin(); setting != settings.end();) {
    const std::string& key = setting->first;
    const bool of_end = std::find(keys_of_end().begin(), keys_of_end().end(), key) != keys_of_end().end();
    setting = of_end || names_file(key) || is_of_logs(key) ? settings.erase(setting) : std::next(setting);
  }
  return settings;
}

std::string vocabulary_hash(const TextCodec& codec) {
  std::string all;
  for (const auto& [name, bytes] : codec.files()) all += fmt::format("{} {}\n", name, hash_of(bytes));
  return hash_of(all);
}

}  // namespace

Settings settings_of(const RunConfig& config) { return settings_of(YamlDocument::parse(to_yaml(config), "").root()); }

const std::vector<std::string>& keys_of_end() {
  static const std::vector<std::string> keys = {"train.updates", "train.minutes", "train.patience", "train.stop_at",
                                                "train.stop_after"};
  return keys;
}

Checkpoints::Metadata trained_with(const RunConfig& config, const TextCodec& codec) {
  return {{"settings", nlohmann::json(settings_of_training(config)).dump()}, {"vocabulary", vocabulary_hash(codec)}};
}

std::string trained_otherwise(const Checkpoints::Metadata& metadata, const RunConfig& config, const TextCodec& codec,
                              bool whole) {
  const auto told = metadata.find("settings"), vocabulary = metadata.find("vocabulary");
  std::string lines;
  if (told != metadata.end()) {
    const Settings before = JsonObject(told->second, "settings", "the checkpoint was changed by hand").texts();
    for (const auto& [key, value] : settings_of_training(config)) {
      const auto found = before.find(key);
      if (found == before.end() || found->second == value) continue;  // a newer version's has its default
      if (whole || is_of_model(key)) lines += "\n  " + SettingChange{key, found->second, value}.text();
    }
  }
  if (vocabulary != metadata.end() && vocabulary->second != vocabulary_hash(codec)) lines += "\n  other vocabularies";
  return lines;
}

}  // namespace surd
