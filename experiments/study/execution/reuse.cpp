#include "experiments/study/execution/reuse.hpp"

#include "experiments/config/settings.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/run/system_info.hpp"
#include "experiments/study/execution/run_files.hpp"
#include "experiments/study/execution/study_json.hpp"
#include "train/storage/hash.hpp"
#include "train/storage/json_object.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

namespace surd {
namespace {

namespace fs = std::filesystem;

std::string absolute(const std::string& folder) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(folder, error);
  expect_usage(!error, folder, "cannot be looked up: {}", error.message());
  return path.string();
}

/// What decides the bits of a run beside its config and its data.
std::vector<std::pair<std::string, std::string>> decisive_system() {
  std::vector<std::pair<std::string, std::string>> kept;
  for (auto& [key, value] : system_info())
    if (key != "cores" && key != "memory") kept.emplace_back(key, value);
  return kept;
}

bool same_system(const std::vector<std::pair<std::string, std::string>>& system, const JsonObject& summary) {
  return std::all_of(system.begin(), system.end(), [&](const auto& fact) {
    return fact.second != "unknown" && summary.has(fact.first) && summary.text(fact.first) == fact.second;
  });
}

}  // namespace

std::vector<std::string> folders_to_reuse(const std::vector<std::string>& named, const StudyFolder& own) {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& folder) {
    const std::string path = absolute(folder);
    if (std::find(folders.begin(), folders.end(), path) == folders.end()) folders.push_back(path);
  };
  for (const std::string& folder : named) {
    const std::string option = "--reuse " + folder;
    expect_usage(is_folder(folder), option, "there is no such folder; name the --out of a surd study run");
    expect_usage(absolute(folder) != absolute(own.path()), option,
                 "is the study's own folder, whose runs are used anyway; name that of another study");
    bool found = StudyFolder(folder).begun();
    if (found) {
      add(folder);
      continue;
    }
    for (const std::string& name : names_in(folder)) {
      const std::string within = folder + "/" + name;
      if (!is_folder(within) || !StudyFolder(within).begun()) continue;
      found = true;
      if (absolute(within) != absolute(own.path())) add(within);
    }
    expect_usage(found, option,
                 "is not the folder of a study: neither it nor a folder in it has a study.json; name the --out of a "
                 "surd study run");
  }
  return folders;
}

ReusableRuns::ReusableRuns(const std::vector<std::string>& folders, bool with_checkpoints)
    : with_checkpoints_(with_checkpoints) {
  if (folders.empty()) return;
  system_ = decisive_system();
  for (const std::string& path : folders) {
    const StudyFolder folder(path);
    if (!folder.begun() || (with_checkpoints && !folder.keep_checkpoints())) continue;
    const auto ended = folder.ended();
    for (const std::string& id : std::set<std::string>(ended.begin(), ended.end())) {
      const std::string config = RunFolder(folder.run(id)).config();
      if (path_exists(config)) by_config_[hash_of(read_file(config))].push_back({folder, id});
    }
  }
}

std::optional<ReusableRuns::Found> ReusableRuns::find(const RunConfig& config) const {
  if (by_config_.empty()) return std::nullopt;
  const std::string text = to_yaml(config);
  const auto found = by_config_.find(hash_of(text));
  if (found == by_config_.end()) return std::nullopt;
  for (const Source& source : found->second) {
    try {
      const RunFolder run(source.path());
      RunResult outcome = read_outcome(source.path());
      if (outcome.status == RunResult::Status::failed) continue;
      const JsonObject summary(read_file(run.summary()), run.summary(), "it was changed");
      if (summary.count("resumed_at") == 0 && same_system(system_, summary) && read_file(run.config()) == text &&
          logs_unchanged(source.path()) && same_data(source, config))
        return Found{source, std::move(outcome)};
    } catch (const Error&) {  // a file is missing or damaged: the run is made instead
    }
  }
  return std::nullopt;
}

bool ReusableRuns::same_data(const Source& source, const RunConfig& config) const {
  std::string key = std::to_string(config.seed) + "\n";
  for (const auto& [name, value] : settings_of(config))
    if (name.rfind("task.", 0) == 0) key += name + "=" + value + "\n";
  auto data = data_.find(key);
  if (data == data_.end()) data = data_.emplace(key, fingerprint(config.task.make()->load(config.seed))).first;
  const std::string file = RunFolder(source.path()).data();
  return parse_fingerprint(read_file(file), file) == data->second;
}

bool ReusableRuns::copy(const Source& source, const std::string& run) const {
  try {
    copy_run_files(source.path(), run, with_checkpoints_);
    return true;
  } catch (const Error&) {  // removed meanwhile, or no room: whoever makes the run will say so
    return false;
  }
}

std::size_t reusable(const Study& study, const KnownResults& known, const ReusableRuns& runs) {
  std::size_t count = 0;
  for (const PlannedRun& run : plan(study, known)) {
    if (known(run.id(study)) != nullptr) continue;
    try {
      count += runs.find(study.config(run.arm, run.settings, run.seed)).has_value();
    } catch (const ConfigError&) {  // by extending a grid the tuning came to a value that is not allowed
    }
  }
  return count;
}

}  // namespace surd
