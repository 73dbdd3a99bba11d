#include "experiments/run/checkpoint_metadata.hpp"

#include "train/storage/files.hpp"
#include "train/storage/hash.hpp"
#include "train/storage/json_object.hpp"

#include <nlohmann/json.hpp>

#include <iterator>
#include <string_view>

namespace surd {
namespace {

bool within(const std::string& key, std::string_view group) { return key.rfind(group, 0) == 0; }

bool ends_with(const std::string& key, std::string_view end) {
  return key.size() >= end.size() && key.compare(key.size() - end.size(), end.size(), end) == 0;
}

bool is_of_making_vocabularies(const std::string& key) {
  return key == "task.subwords.size" || key == "task.min_frequency" || key == "task.vocabulary_limit";
}

/// What a model of SentencePiece holds the vocabularies' hash tells.
bool is_of_cutting(const std::string& key) {
  return within(key, "task.subwords.") && !ends_with(key, ".model") && !is_of_making_vocabularies(key);
}

/// Whether what a trained model computes depends on it: not on its initialisation, dropout, rates, or the longest
/// sequence.
bool is_of_model(const std::string& key) {
  const auto ends = [&](std::string_view end) { return ends_with(key, end); };
  if (within(key, "model."))
    return key.find(".init") == std::string::npos && !ends("_gain") && !ends("_std") && !ends(".zero_padding") &&
           !ends("dropout") && !ends("learning_rate_multiplier") && !ends(".max_length");
  return is_of_cutting(key) || key == "task.lowercase" || key == "task.shared_vocabulary";
}

bool is_compared(const std::string& key, Compared compared) {
  switch (compared) {
    case Compared::all: return true;
    case Compared::model: return is_of_model(key);
    case Compared::making_of_vocabularies: return is_of_making_vocabularies(key);
    case Compared::tokens: return is_of_cutting(key);
  }
  return false;
}

bool is_of_logs(const std::string& key) {
  return within(key, "probe.") || within(key, "train.evaluate_splits") || key == "train.tensorboard" ||
         key == "train.log_every" || key == "train.checkpoint_every" || key == "train.keep_checkpoints";
}

Settings training_settings(const RunConfig& config) {
  Settings settings = settings_of(config);
  for (const char* key : keys_of_end) settings.erase(key);
  for (auto setting = settings.begin(); setting != settings.end();)
    setting = is_of_logs(setting->first) ? settings.erase(setting) : std::next(setting);
  return settings;
}

std::string vocabulary_hash(const TextCodec& codec) {
  std::string all;
  for (const auto& [name, bytes] : codec.files()) all += fmt::format("{} {}\n", name, hash_of(bytes));
  return hash_of(all);
}

}  // namespace

bool is_moved_file(const SettingChange& change) { return within(change.path, "task.") && is_file(change.after); }

Checkpoints::Metadata checkpoint_metadata(const RunConfig& config, const TextCodec& codec) {
  constexpr auto replace = nlohmann::json::error_handler_t::replace;
  return {{"settings", nlohmann::json(training_settings(config)).dump(-1, ' ', false, replace)},
          {"vocabulary", vocabulary_hash(codec)}};
}

std::string difference(const std::string& path, const Checkpoints::Metadata& metadata, const RunConfig& config,
                       const TextCodec& codec, Compared compared) {
  std::string lines;
  if (const auto told = metadata.find("settings"); told != metadata.end()) {
    const Settings now = training_settings(config);
    Settings before = JsonObject(told->second, path, "the settings in its metadata were changed by hand").texts();
    for (const auto& [key, value] : training_settings(defaults_with_choices<RunConfig>(now)))
      if (now.count(key) > 0) before.emplace(key, value);  // a newer version's
    for (const SettingChange& change : setting_changes(before, now))
      if (is_compared(change.path, compared) && !is_moved_file(change)) lines += "\n  " + change.text();
  }
  const auto vocabulary = metadata.find("vocabulary");
  if (compared != Compared::making_of_vocabularies && vocabulary != metadata.end() &&
      vocabulary->second != vocabulary_hash(codec))
    lines += "\n  other vocabularies";
  return lines;
}

Checkpoints::Check expect_same_model(const std::string& folder, const RunConfig& config, const TextCodec& codec) {
  return [&](const std::string& path, const Checkpoints::Metadata& metadata) {
    const std::string changes = difference(path, metadata, config, codec, Compared::model);
    expect(changes.empty(), path, "was trained otherwise than {} says:{}\nput its files back if they were changed",
           folder, changes);
  };
}

}  // namespace surd
