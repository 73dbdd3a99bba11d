#include "experiments/commands/list/found_runs.hpp"

#include "experiments/config/settings.hpp"
#include "experiments/config/yaml_document.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/study/execution/run_files.hpp"
#include "experiments/study/execution/study_results.hpp"
#include "train/storage/checkpoint.hpp"
#include "train/storage/files.hpp"
#include "train/storage/json_object.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

namespace surd {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The value of a setting: a number or a truth where it is one.
Json value_of_setting(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_number() || value.is_boolean() || value.is_null() ? value : Json(text);
}

void add_settings_of(const RunFolder& run, std::map<std::string, Json>& values) {
  for (const auto& [path, text] : settings_of(YamlDocument::load(run.config()).root()))
    values[path] = value_of_setting(text);
}

/// Adds what summary.json says, and returns in a word how the run ended.
std::string add_summary_of(const RunFolder& run, std::map<std::string, Json>& values) {
  const JsonObject summary = run.read_summary();
  std::string status = summary.truth("finished") ? "finished" : summary.is_null("diverged") ? "stopped" : "diverged";
  values["updates"] = summary.count("updates");
  if (summary.has("wall_seconds")) values["minutes"] = summary.real("wall_seconds") / 60;
  const std::string last = "last.", seconds_of_evaluations = "evaluation_seconds.", settings = "settings.";
  const nlohmann::json flat = nlohmann::json::parse(read_file(run.summary())).flatten();
  for (const auto& [pointer, value] : flat.items()) {
    const std::string key = replace_all(pointer.substr(1), "/", ".");  // "/last/loss"
    if (value.is_null() || key.rfind(seconds_of_evaluations, 0) == 0 || key.rfind(settings, 0) == 0) continue;
    values.emplace(key.rfind(last, 0) == 0 ? key.substr(last.size()) : key, Json(value));
  }
  return status;
}

/// After how many updates the latest checkpoint was written, as its name tells; nothing where there is none.
Json updates_of_checkpoint(const RunFolder& run) {
  const std::vector<std::string> newest = Checkpoints(run.checkpoints(), 1).newest_first();
  if (newest.empty()) return nullptr;
  const std::string name = fs::path(newest.front()).filename().string();  // "update-00000400.safetensors"
  std::uint64_t updates = 0;
  const char* end = name.data() + name.find('.');
  const auto read = std::from_chars(name.data() + std::min(name.find('-') + 1, name.size()), end, updates);
  return read.ec == std::errc() && read.ptr == end ? Json(updates) : Json(nullptr);
}

/// When any of these files was last written.
Json last_written(const std::vector<std::string>& files) {
  std::optional<std::time_t> last;
  for (const std::string& file : files) {
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0) last = std::max(last.value_or(status.st_mtime), status.st_mtime);
  }
  return last ? Json(iso_time(*last)) : Json(nullptr);
}

/// The first line of a message; a wrong config has several.
std::string first_line(const std::string& message) { return message.substr(0, message.find('\n')); }

FoundRun damaged(FoundRun found, const std::string& problem) {
  found.values["status"] = "damaged";
  found.values["problem"] = first_line(problem);
  return found;
}

FoundRun found_study(const std::string& path) {
  FoundRun found;
  found.values["path"] = path;
  const StudyFolder folder(path);
  found.values["when"] = last_written({path + "/verdicts.json", path + "/study.json"});
  try {
    const Study study = folder.study();
    found.values["title"] = study.title;
    StudyResults results(folder, study);
    const StudyCounts counts = count(study, folder, results);
    found.values["made"] = counts.ended();
    found.values["planned"] = counts.planned;
    found.values["status"] = counts.ended() < counts.planned ? (counts.running > 0 ? "running" : "stopped")
                             : counts.failed > 0             ? "failed"
                                                             : "finished";
  } catch (const Error& error) {
    return damaged(std::move(found), error.what());
  }
  return found;
}

/// What a folder holds, as far as it can be listed.
struct Listing {
  std::set<std::string> names, folders;
  std::string problem;

  explicit Listing(const fs::path& folder) {
    std::error_code error, gone;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      names.insert(name);
      if (name.front() != '.' && entry->is_directory(gone) && !entry->is_symlink(gone)) folders.insert(name);
    }
    if (error) problem = fmt::format("{}: cannot be listed: {}", folder.string(), error.message());
  }
  bool has(const char* name) const { return names.count(name) > 0; }
  /// Whether it looks like the folder of a run, be it that one of its files is lost.
  bool of_run() const {
    constexpr std::size_t enough = 2;
    std::size_t files = 0;
    for (const char* name : {"config.yaml", "data.json", "vocabulary", "metrics.jsonl", "summary.json"})
      files += names.count(name);
    return files >= enough;
  }
};

void look_into(const fs::path& folder, const fs::path& root, std::vector<FoundRun>& all) {
  const auto add = [&](FoundRun found) {
    const fs::path name = folder.lexically_relative(root);
    found.values["name"] = name == "." ? folder.string() : name.generic_string();
    all.push_back(std::move(found));
  };
  const Listing listing(folder);
  if (!listing.problem.empty()) {
    FoundRun unknown;
    unknown.values["path"] = folder.string();
    return add(damaged(std::move(unknown), listing.problem));
  }
  if (listing.has("study.json"))
    return folder == root ? look_into(folder / "runs", root, all) : add(found_study(folder.string()));
  if (listing.of_run()) return add(found_run(folder.string()));
  for (const std::string& name : listing.folders) look_into(folder / name, root, all);
}

}  // namespace

FoundRun found_run(const std::string& path) {
  FoundRun found;
  std::map<std::string, Json>& values = found.values;
  values["path"] = path;
  const RunFolder run(path);
  values["when"] = last_written({run.summary(), run.metrics(), run.config()});
  try {
    expect(run.begun(), path, "has no config.yaml, so nobody can tell what was run; put it back");
    add_settings_of(run, values);
    std::string status = path_exists(run.summary())   ? add_summary_of(run, values)
                         : run.read_origin().imported ? "imported"
                                                      : "stopped";
    if (path_exists(run.outcome())) status = name_of(read_outcome(path).status);
    if (run.in_use()) status = "running";
    // A run that goes on, or was killed then, has later checkpoints than its summary knows.
    const Json reached = updates_of_checkpoint(run);
    if (values.count("updates") == 0 || (reached.is_number() && reached > values["updates"]))
      values["updates"] = reached;
    values["status"] = status;
    if (const std::string changed = run.changed_config(); !changed.empty()) values["problem"] = changed;
  } catch (const Error& error) {
    return damaged(std::move(found), error.what());
  }
  return found;
}

std::vector<FoundRun> find_runs(const std::string& folder) {
  expect_usage(is_folder(folder), folder, "is no folder; name one that runs were made in");
  std::vector<FoundRun> all;
  look_into(folder, folder, all);
  return all;
}

}  // namespace surd
