#include "experiments/study/execution/study_folder.hpp"

#include "experiments/config/settings.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/study/execution/study_json.hpp"
#include "train/storage/json_object.hpp"

#include <fcntl.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

namespace surd {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Of a run: what the study judges it by.
constexpr const char* metrics_file = "metrics.jsonl";
constexpr const char* probe_file = "probe.jsonl";

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  expect(!error, folder.string(), "cannot be made: {}", error.message());
}

/// Throws UsageError where no study was begun in a folder.
void expect_begun(const StudyFolder& folder) {
  if (folder.begun()) return;
  expect_usage(!path_exists(folder.published_page()), folder.path(),
               "holds published results, without the runs; surd study report writes their page");
  expect_usage(!fs::is_regular_file(folder.path()), folder.path(),
               "is a file; name the folder that was the --out of a surd study run");
  std::vector<std::string> studies;
  for (const std::string& name : names_in(folder.path()))
    if (StudyFolder(folder.path() + "/" + name).begun()) studies.push_back(name);
  expect_usage(studies.empty(), folder.path(), "is the folder of a group of studies; name one of them in it: {}",
               fmt::join(studies, ", "));
  throw UsageError(folder.path() +
                   ": is not the folder of a study: it has no study.json; name the --out of a surd study run");
}

/// What a study is read from, guarded by its hashes.
StudySource source_of(const StudyFolder& folder, const Beginning& begun) {
  StudySource source{folder.study_file(), begun.settings, begun.quick, {}, true};
  const auto expect_unchanged = [](const std::string& file, const std::string& hash) {
    expect(path_exists(file) && hash_of(read_file(file)) == hash, file,
           "was changed after the study was begun, and its runs belong to what it was; put it back");
  };
  expect_unchanged(folder.study_file(), begun.hash);
  for (std::size_t i = 0; i < begun.base_files; ++i) {
    const std::string copy = base_copy(folder.path(), i);
    if (i < begun.base_hashes.size()) expect_unchanged(copy, begun.base_hashes[i]);
    source.base_copies.emplace_back(copy);
  }
  return source;
}

/// The study with the seeds that it was extended by.
Study study_of(const StudyFolder& folder, const Beginning& begun) {
  Study study = load_study(source_of(folder, begun));
  const std::string file = study_json_file(folder.path());
  expect(begun.more_seeds.size() < study.looks, file,
         "'more_seeds' has as many lists as the study has looks, or more; {}", damaged_study_json);
  for (const std::vector<std::uint64_t>& more : begun.more_seeds) {
    for (const std::uint64_t seed : more) {
      const auto in = [&](const std::vector<std::uint64_t>& seeds) {
        return std::count(seeds.begin(), seeds.end(), seed);
      };
      expect(in(study.seeds) == 0 && (!study.tuning || in(study.tuning->seeds) == 0), file,
             "'more_seeds' has the seed {}, which the study has already; {}", seed, damaged_study_json);
      study.seeds.push_back(seed);
    }
  }
  return study;
}

/// Everything that makes a study what it is, by path in its file: its keys, its base config with what that extends, and
/// --quick. Two studies with the same content are the same.
Settings content(const fs::path& file, const Study& study, const StudySource& source) {
  YamlNode root = YamlDocument::load(file).root();
  if (YamlNode* base = root.find("base")) *base = YamlNode();
  Settings all = settings_of(root);
  all.erase("");
  for (const auto& [key, value] : settings_of(study.base.root())) all["base." + key] = value;
  all["--quick"] = source.quick ? "yes" : "no";
  return all;
}

void sync_if_there(const std::string& file) {
  if (path_exists(file)) File(file, O_RDWR).sync();
}

/// The text of a file of a run that has ended, or nothing where the run left none. Throws Error where the file is not
/// what it was then.
std::optional<std::string> left_by_run(const std::string& folder, const char* name, const JsonObject& outcome) {
  const std::string file = folder + "/" + name;
  std::optional<std::string> text;
  if (path_exists(file)) text = read_file(file);
  if (!outcome.has("hashes")) return text;  // written by an older version
  const JsonObject hashes = outcome.object("hashes");
  expect(hashes.has(name) == text.has_value() && (!text || hash_of(*text) == hashes.text(name)), file,
         "was changed after the run; remove the run's folder, and it is made again by --resume");
  return text;
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

JsonObject outcome_of(const StudyFolder& folder, const std::string& id) {
  const std::string file = folder.outcome(id);
  return {read_file(file), file, "remove the folder, and the run is made again"};
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

}  // namespace

bool StudyFolder::begun() const { return path_exists(study_json_file(path_)); }

bool StudyFolder::only_prepared() const {
  if (begun()) return false;
  for (const std::string& name : names_in(path_))
    if (name != "study.yaml" && name != "study.yaml.tmp" && name != "base" && name != "study.json.tmp" &&
        (name != "runs" || !names_in(runs()).empty()))
      return false;
  return true;
}

void StudyFolder::freeze(const StudySource& source, const Study& study, bool keep_checkpoints,
                         const std::vector<std::string>& reuse) const {
  make_folder(base_folder(path_));
  make_folder(runs());
  write_file_atomically(study_file(), read_file(source.file.string()));
  std::vector<std::string> hashes;
  for (const fs::path& file : study.base.extended_files()) {
    const std::string text = read_file(file.string());
    write_file_atomically(base_copy(path_, hashes.size()), text);
    hashes.push_back(hash_of(text));
  }
  write_beginning(path_, {fs::absolute(source.file).lexically_normal().string(),
                          source.settings,
                          source.quick,
                          keep_checkpoints,
                          hashes.size(),
                          hash_of(read_file(study_file())),
                          hashes,
                          reuse,
                          {}});
}

StudySource StudyFolder::source() const {
  expect_begun(*this);
  return source_of(*this, read_beginning(path_));
}

Study StudyFolder::study() const {
  expect_begun(*this);
  return study_of(*this, read_beginning(path_));
}

std::vector<std::vector<std::uint64_t>> StudyFolder::extensions() const { return read_beginning(path_).more_seeds; }

void StudyFolder::extend(std::size_t seeds) const {
  expect_begun(*this);
  File guard(path_ + "/study.json.lock", O_RDWR | O_CREAT);
  expect_usage(guard.lock(), path_, "is being extended by another process; wait until that has begun its runs");
  Beginning begun = read_beginning(path_);
  const Study before = study_of(*this, begun);
  expect_usage(begun.more_seeds.size() + 1 < before.looks, path_,
               "its verdicts may be taken {}, which is used up, and its p values are not corrected for another look; "
               "begin a study with other seeds (from {}), and with 'looks' if it may have to be extended",
               before.looks == 1 ? "once" : fmt::format("{} times", before.looks), before.fresh_seeds(1).front());
  begun.more_seeds.push_back(before.fresh_seeds(seeds));
  write_beginning(path_, begun);
}

std::string StudyFolder::begun_from() const { return read_beginning(path_).file; }

bool StudyFolder::keep_checkpoints() const { return read_beginning(path_).keep_checkpoints; }

std::vector<std::string> StudyFolder::reuse() const { return read_beginning(path_).reuse; }

void StudyFolder::add_reuse(const std::vector<std::string>& folders) const {
  Beginning begun = read_beginning(path_);
  for (const std::string& folder : folders)
    if (std::find(begun.reuse.begin(), begun.reuse.end(), folder) == begun.reuse.end()) begun.reuse.push_back(folder);
  write_beginning(path_, begun);
}

std::string StudyFolder::difference(const Study& other, const StudySource& other_source) const {
  const StudySource frozen = source();
  return surd::difference(content(frozen.file, load_study(frozen), frozen),
                          content(other_source.file, other, other_source));
}

bool StudyFolder::ended(const std::string& id) const { return path_exists(outcome(id)); }

std::unique_ptr<File> StudyFolder::claim(const std::string& id) const {
  make_folder(fs::path(claim_file(id)).parent_path());
  auto file = std::make_unique<File>(claim_file(id), O_RDWR | O_CREAT);
  // Whoever had it may have ended the run and removed the file between our two looks.
  if (!file->lock() || ended(id)) return nullptr;
  return file;
}

bool StudyFolder::claimed(const std::string& id) const {
  try {
    return path_exists(claim_file(id)) && !File(claim_file(id), O_RDWR).lock();
  } catch (const Error&) {  // removed between our two looks
    return false;
  }
}

void StudyFolder::end(const std::string& id, RunResult::Status status, const std::string& message,
                      const RunConfig& config, const std::string& reused_from) const {
  make_folder(run(id));
  for (const char* name : {"/config.yaml", "/metrics.jsonl", "/probe.jsonl", "/summary.json", "/log.txt"})
    sync_if_there(run(id) + name);
  Json hashes = Json::object();  // of what the study is judged by
  for (const char* name : {metrics_file, probe_file})
    if (const std::string file = run(id) + "/" + name; path_exists(file)) hashes[name] = hash_of(read_file(file));
  if (const std::string hash = hash_of_splits(RunFolder(run(id)).summary()); !hash.empty()) hashes["splits"] = hash;
  Json json{{"status", name_of(status)},
            {"message", message},
            {"updates", config.train.updates},
            {"vocabulary", lines_of(run(id) + "/vocabulary/target.txt")},
            {"hashes", hashes}};
  if (!reused_from.empty()) json["reused_from"] = reused_from;
  write_file_atomically(outcome(id), json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  std::error_code ignored;
  fs::remove(claim_file(id), ignored);
}

bool StudyFolder::logs_unchanged(const std::string& id) const {
  const JsonObject outcome = outcome_of(*this, id);
  if (!outcome.has("hashes")) return false;  // nobody can tell
  const JsonObject hashes = outcome.object("hashes");
  for (const char* name : {metrics_file, probe_file}) {
    const std::string file = run(id) + "/" + name;
    const bool there = path_exists(file);
    if (there != hashes.has(name) || (there && hash_of(read_file(file)) != hashes.text(name))) return false;
  }
  const std::string splits = hash_of_splits(RunFolder(run(id)).summary());
  return splits == (hashes.has("splits") ? hashes.text("splits") : "");
}

RunResult StudyFolder::read_outcome(const std::string& id) const {
  const JsonObject outcome = outcome_of(*this, id);
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

const RunResult* StudyResults::find(const std::string& id) {
  if (const auto found = results_.find(id); found != results_.end()) return &found->second;
  if (!folder_.ended(id)) return nullptr;
  const std::string folder = folder_.run(id);
  const JsonObject outcome = outcome_of(folder_, id);
  RunResult result = folder_.read_outcome(id);
  if (const auto text = left_by_run(folder, metrics_file, outcome))
    result.metrics = decode_metrics(*text, folder + "/" + metrics_file);
  const bool finished = result.status == RunResult::Status::finished;
  const std::string summary_file = RunFolder(folder).summary();
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
      expect(hash_of_splits(summary_file) == (hashes.has("splits") ? hashes.text("splits") : ""), summary_file,
             "was changed after the run; remove the run's folder, and it is made again by --resume");
    }
    const auto& evaluations = result.metrics.evaluations;
    expect(!finished || (!evaluations.empty() && evaluations.back().update == summary.count("updates")),
           folder + "/" + metrics_file,
           "does not reach update {}, where the run ended; remove the run's folder, and it is made again by --resume",
           summary.count("updates"));
  }
  if (parts_ == Parts::all)
    if (const auto text = left_by_run(folder, probe_file, outcome))
      result.probe = decode_probe(*text, folder + "/" + probe_file);
  return &results_.emplace(id, std::move(result)).first->second;
}

StudyCounts count(const Study& study, const StudyFolder& folder, StudyResults& results) {
  StudyCounts counts;
  for (const PlannedRun& run : plan(study, results.known())) {
    const std::string id = run.id(study);
    ++counts.planned;
    if (const RunResult* result = results.find(id)) {
      counts.finished += result->status == RunResult::Status::finished;
      counts.diverged += result->status == RunResult::Status::diverged;
      counts.failed += result->status == RunResult::Status::failed;
      counts.reused += !result->reused_from.empty();
    } else {
      counts.running += folder.claimed(id);
    }
  }
  return counts;
}

}  // namespace surd
