#include "experiments/study/execution/run_files.hpp"

#include "experiments/run/logs/event_file.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/study/execution/study_json.hpp"
#include "train/storage/files.hpp"
#include "train/storage/hash.hpp"
#include "train/storage/json_object.hpp"

#include <fcntl.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

// Of a run: what the study judges it by.
constexpr const char* config_file = "config.yaml";
constexpr const char* metrics_file = "metrics.jsonl";
constexpr const char* probe_file = "probe.jsonl";

constexpr const char* own_hash = "hash";  // in outcome.json, of all else in it

constexpr const char* changed_after_run =
    "was changed after the run; remove the run's folder, and it is made again by --resume";

std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

void sync_if_there(const std::string& file) {
  if (path_exists(file)) File(file, O_RDWR).sync();
}

/// The text of a file of a run that has ended, or nothing where the run left none. Throws Error where the file is not
/// what it was then.
std::optional<std::string> left_by_run(const std::string& run, const char* name, const JsonObject& outcome) {
  const std::string file = run + "/" + name;
  std::optional<std::string> text;
  if (path_exists(file)) text = read_file(file);
  if (!outcome.has("hashes")) return text;  // written by an older version
  const JsonObject hashes = outcome.object("hashes");
  expect(hashes.has(name) == text.has_value() && (!text || hash_of(*text) == hashes.text(name)), file, "{}",
         changed_after_run);
  return text;
}

/// Whether a run's config is the one that it was made with; true where an older version left no hash of it.
bool config_unchanged(const std::string& run, const JsonObject& hashes) {
  const std::string file = run + "/" + config_file;
  return !hashes.has(config_file) || (path_exists(file) && hash_of(read_file(file)) == hashes.text(config_file));
}

std::map<std::uint64_t, double> evaluation_seconds_of(const JsonObject& summary) {
  std::map<std::uint64_t, double> seconds;
  if (!summary.has("evaluation_seconds")) return seconds;  // written by an older version
  for (const auto& [key, value] : summary.object("evaluation_seconds").reals()) {
    std::uint64_t update = 0;
    const auto read = std::from_chars(key.data(), key.data() + key.size(), update);
    summary.require(read.ec == std::errc() && read.ptr == key.data() + key.size(),
                    "'evaluation_seconds' has '{}' for the number of an update", key);
    seconds[update] = value;
  }
  return seconds;
}

/// Throws Error where it is not what write_outcome() wrote.
JsonObject outcome_of(const std::string& run) {
  const std::string file = run + "/outcome.json", way_out = "remove the folder, and the run is made again";
  // Opening what is no file, such as a pipe, could wait for ever.
  expect(is_file(file), run, "has no outcome.json, so it is no run that ended; {}", way_out);
  const std::string text = read_file(file);
  Json json = Json::parse(text, nullptr, false);
  if (json.is_object() && json.contains(own_hash)) {  // older versions did not write it
    const Json hash = json[own_hash];
    json.erase(own_hash);
    expect(hash == hash_of(text_of(json)), file, "{}", changed_after_run);
  }
  return {text, file, way_out};
}

/// What outcome.json says of a run: all of its result but what it left in other files.
RunResult ended_run(const JsonObject& outcome) {
  RunResult result;
  const std::string status = outcome.text("status");
  const auto names = names_of(result.status);
  const auto name = std::find(names.begin(), names.end(), status);
  outcome.require(name != names.end(), "'status' is none of {}", fmt::join(names, ", "));
  result.status = static_cast<RunResult::Status>(name - names.begin());
  result.message = outcome.text("message");
  result.updates = outcome.count("updates");
  result.vocabulary = outcome.count("vocabulary");
  if (outcome.has("reused_from")) result.reused_from = outcome.text("reused_from");
  return result;
}

/// The evaluations of a summary on further splits.
std::map<std::string, EvaluationRecord> splits_of(const JsonObject& summary) {
  std::map<std::string, EvaluationRecord> splits;
  if (!summary.has("splits")) return splits;  // the run diverged, or an older version made it
  const JsonObject all = summary.object("splits");
  for (const std::string& name : all.keys()) {
    const JsonObject split = all.object(name);
    splits[name] = scores_of(split);
    splits[name].update = summary.count("updates");
  }
  return splits;
}

/// A hash of a summary's evaluations on further splits; "" where there are none. The times in a summary are left out,
/// so that equal runs have equal hashes.
std::string hash_of_splits(const std::string& summary_file) {
  if (!path_exists(summary_file)) return "";
  const Json summary = Json::parse(read_file(summary_file), nullptr, false);
  if (!summary.is_object() || !summary.contains("splits") || summary["splits"].empty()) return "";
  return hash_of(summary["splits"].dump());
}

std::size_t lines_of(const std::string& file) {
  std::size_t lines = 0;
  if (path_exists(file))
    for (const char c : read_file(file)) lines += c == '\n';
  return lines;
}

void copy_file(const std::string& from, const std::string& to) {
  File file(to, O_WRONLY | O_CREAT | O_TRUNC);
  file.write(read_file(from));
  file.sync();
  file.close();  // a file server may say only now that there is no room
}

void copy_folder(const std::string& from, const std::string& to) {
  make_folders(to);
  for (const std::string& name : names_in(from)) copy_file(from + "/" + name, to + "/" + name);
}

}  // namespace

void write_outcome(const std::string& run, RunResult::Status status, const std::string& message,
                   const RunConfig& config, const std::string& reused_from) {
  for (const char* name : {"/config.yaml", "/metrics.jsonl", "/probe.jsonl", "/summary.json", "/log.txt"})
    sync_if_there(run + name);
  Json hashes = Json::object();  // of what the study is judged by
  for (const char* name : {config_file, metrics_file, probe_file})
    if (const std::string file = run + "/" + name; path_exists(file)) hashes[name] = hash_of(read_file(file));
  if (const std::string hash = hash_of_splits(RunFolder(run).summary()); !hash.empty()) hashes["splits"] = hash;
  Json json{{"status", name_of(status)},
            {"message", message},
            {"updates", config.train.updates},
            {"vocabulary", lines_of(run + "/vocabulary/target.txt")},
            {"hashes", hashes}};
  if (!reused_from.empty()) json["reused_from"] = reused_from;
  json[own_hash] = hash_of(text_of(json));
  write_file_atomically(run + "/outcome.json", text_of(json));
}

RunResult read_outcome(const std::string& run) { return ended_run(outcome_of(run)); }

bool logs_unchanged(const std::string& run) {
  const JsonObject outcome = outcome_of(run);
  if (!outcome.has("hashes")) return false;  // nobody can tell
  const JsonObject hashes = outcome.object("hashes");
  for (const char* name : {metrics_file, probe_file}) {
    const std::string file = run + "/" + name;
    const bool there = path_exists(file);
    if (there != hashes.has(name) || (there && hash_of(read_file(file)) != hashes.text(name))) return false;
  }
  if (!config_unchanged(run, hashes)) return false;
  const std::string splits = hash_of_splits(RunFolder(run).summary());
  return splits == (hashes.has("splits") ? hashes.text("splits") : "");
}

RunResult read_result(const std::string& run, bool with_probe) {
  const JsonObject outcome = outcome_of(run);
  RunResult result = ended_run(outcome);
  if (const auto text = left_by_run(run, metrics_file, outcome))
    result.metrics = decode_metrics(*text, run + "/" + metrics_file);
  const bool finished = result.status == RunResult::Status::finished;
  const std::string summary_file = RunFolder(run).summary();
  if (finished || (result.status == RunResult::Status::diverged && path_exists(summary_file))) {
    expect(path_exists(summary_file), summary_file,
           "is missing; remove the run's folder, and it is made again by --resume");
    const JsonObject summary(read_file(summary_file), summary_file, "remove the run's folder, and it is made again");
    result.summary = summary.numbers();
    result.system = summary.texts();
    result.evaluation_seconds = evaluation_seconds_of(summary);
    result.splits = splits_of(summary);
    if (outcome.has("hashes")) {
      const JsonObject hashes = outcome.object("hashes");
      expect(hash_of_splits(summary_file) == (hashes.has("splits") ? hashes.text("splits") : ""), summary_file, "{}",
             changed_after_run);
      expect(config_unchanged(run, hashes), run + "/" + config_file, "{}", changed_after_run);
    }
    const auto& evaluations = result.metrics.evaluations;
    expect(!finished || (!evaluations.empty() && evaluations.back().update == summary.count("updates")),
           run + "/" + metrics_file,
           "does not reach update {}, where the run ended; remove the run's folder, and it is made again by --resume",
           summary.count("updates"));
  }
  if (with_probe)
    if (const auto text = left_by_run(run, probe_file, outcome))
      result.probe = decode_probe(*text, run + "/" + probe_file);
  return result;
}

void copy_run_files(const std::string& from, const std::string& to, bool with_checkpoints) {
  const RunFolder source(from), target(to);
  copy_folder(source.vocabulary(), target.vocabulary());
  if (with_checkpoints) copy_folder(source.checkpoints(), target.checkpoints());
  for (const char* name : {"config.yaml", "data.json", "metrics.jsonl", "probe.jsonl", "summary.json", "log.txt"})
    if (path_exists(from + "/" + name)) copy_file(from + "/" + name, to + "/" + name);
  for (const std::string& name : names_in(from))
    if (name.rfind(event_file_prefix, 0) == 0) copy_file(from + "/" + name, to + "/" + name);
}

}  // namespace surd
