#include "experiments/study/execution/study_folder.hpp"

#include "experiments/config/settings.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/run_folder.hpp"
#include "train/storage/json_object.hpp"

#include <fcntl.h>
#include <xxhash.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

namespace surd {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string hash_of(const std::string& text) { return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size())); }

std::string origin_file(const std::string& folder) { return folder + "/study.json"; }
std::string base_folder(const std::string& folder) { return folder + "/base"; }

// Of a run: what the study judges it by.
constexpr const char* metrics_file = "metrics.jsonl";
constexpr const char* probe_file = "probe.jsonl";

constexpr const char* way_out = "it was changed or damaged; begin the study again in another folder";

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  expect(!error, folder.string(), "cannot be made: {}", error.message());
}

/// A hash of the copies of the files that the base extends.
std::string hash_of_copies(const std::string& folder, std::size_t copies) {
  std::string all;
  for (std::size_t i = 1; i <= copies; ++i) {
    const std::string file = fmt::format("{}/{}.yaml", base_folder(folder), i);
    all += (path_exists(file) ? hash_of(read_file(file)) : "none") + "\n";
  }
  return hash_of(all);
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
  if (outcome.has("hashes")) {
    const JsonObject hashes = outcome.object("hashes");
    expect(!hashes.has(name) || (text && hash_of(*text) == hashes.text(name)), file,
           "was changed after the run; remove the run's folder, and it is made again by --resume");
  }
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
    EvaluationRecord& record = splits[name];
    record.update = summary.count("updates");
    record.loss = split.real("loss");
    record.perplexity = split.real("perplexity");
    record.token_accuracy = split.real("token_accuracy");
    if (split.has("sequence_accuracy")) record.sequence_accuracy = split.real("sequence_accuracy");
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

bool StudyFolder::begun() const { return path_exists(origin_file(path_)); }

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
  std::size_t copies = 0;
  for (const fs::path& file : study.base.extended_files())
    write_file_atomically(fmt::format("{}/{}.yaml", base_folder(path_), ++copies), read_file(file.string()));
  const Json origin{{"file", fs::absolute(source.file).lexically_normal().string()},
                    {"set", source.settings},
                    {"quick", source.quick},
                    {"base_files", copies},
                    {"hash", hash_of(read_file(study_file()))},
                    {"base_hash", hash_of_copies(path_, copies)},
                    {"keep_checkpoints", keep_checkpoints},
                    {"reuse", reuse}};
  write_file_atomically(origin_file(path_), origin.dump(2) + "\n");
}

StudySource StudyFolder::source() const {
  if (!begun()) {
    std::vector<std::string> studies;
    for (const std::string& name : names_in(path_))
      if (StudyFolder(path_ + "/" + name).begun()) studies.push_back(name);
    expect_usage(studies.empty(), path_, "is the folder of a group of studies; name one of them in it: {}",
                 fmt::join(studies, ", "));
    throw UsageError(path_ +
                     ": is not the folder of a study: it has no study.json; name the --out of a surd study run");
  }
  const std::string text = read_file(origin_file(path_));
  const JsonObject origin(text, origin_file(path_), way_out);
  StudySource source{study_file(), {}, origin.truth("quick"), {}, true};
  const Json settings = Json::parse(text)["set"];
  origin.require(settings.is_array(), "'set' is no list");
  for (const Json& setting : settings) {
    origin.require(setting.is_string(), "'set' is no list of settings");
    source.settings.push_back(setting.get<std::string>());
  }
  expect(!origin.has("hash") || origin.text("hash") == hash_of(read_file(study_file())), study_file(),
         "was changed after the study was begun, and its runs belong to what it was; put it back");
  expect(!origin.has("base_hash") || origin.text("base_hash") == hash_of_copies(path_, origin.count("base_files")),
         base_folder(path_), "a file in it was changed after the study was begun; put it back");
  for (std::size_t i = 1; i <= origin.count("base_files"); ++i)
    source.base_copies.emplace_back(fmt::format("{}/{}.yaml", base_folder(path_), i));
  return source;
}

Study StudyFolder::study() const {
  Study study = load_study(source());
  const std::string file = origin_file(path_);
  const auto all = extensions();
  expect(all.size() < study.looks, file, "'more_seeds' has as many lists as the study has looks, or more; {}", way_out);
  for (const std::vector<std::uint64_t>& more : all) {
    for (const std::uint64_t seed : more) {
      const auto in = [&](const std::vector<std::uint64_t>& seeds) {
        return std::count(seeds.begin(), seeds.end(), seed);
      };
      expect(in(study.seeds) == 0 && (!study.tuning || in(study.tuning->seeds) == 0), file,
             "'more_seeds' has the seed {}, which the study has already; {}", seed, way_out);
      study.seeds.push_back(seed);
    }
  }
  return study;
}

std::vector<std::vector<std::uint64_t>> StudyFolder::extensions() const {
  const std::string text = read_file(origin_file(path_));
  const JsonObject origin(text, origin_file(path_), way_out);
  const Json lists = Json::parse(text).value("more_seeds", Json::array());
  const auto is_list = [](const Json& list) {
    return list.is_array() && !list.empty() &&
           std::all_of(list.begin(), list.end(), [](const Json& seed) { return seed.is_number_unsigned(); });
  };
  origin.require(lists.is_array() && std::all_of(lists.begin(), lists.end(), is_list),
                 "'more_seeds' is no list of lists of seeds");
  return lists.get<std::vector<std::vector<std::uint64_t>>>();
}

void StudyFolder::extend(std::size_t seeds) const {
  static_cast<void>(source());  // throws where there is no study to extend
  File guard(path_ + "/study.json.lock", O_RDWR | O_CREAT);
  expect_usage(guard.lock(), path_, "is being extended by another process; wait until that has begun its runs");
  const Study before = study();
  auto all = extensions();
  expect_usage(all.size() + 1 < before.looks, path_,
               "its verdicts may be taken {}, which is used up, and its p values are not corrected for another look; "
               "begin a study with other seeds (from {}), and with 'looks' if it may have to be extended",
               before.looks == 1 ? "once" : fmt::format("{} times", before.looks), before.fresh_seeds(1).front());
  all.push_back(before.fresh_seeds(seeds));
  Json origin = Json::parse(read_file(origin_file(path_)));
  origin["more_seeds"] = all;
  write_file_atomically(origin_file(path_), origin.dump(2) + "\n");
}

std::string StudyFolder::begun_from() const {
  return JsonObject(read_file(origin_file(path_)), origin_file(path_), way_out).text("file");
}

bool StudyFolder::keep_checkpoints() const {
  return JsonObject(read_file(origin_file(path_)), origin_file(path_), way_out).truth("keep_checkpoints");
}

std::vector<std::string> StudyFolder::reuse() const {
  const std::string text = read_file(origin_file(path_));
  const JsonObject origin(text, origin_file(path_), way_out);
  if (!origin.has("reuse")) return {};  // of a study that was begun before there was any
  std::vector<std::string> folders;
  const Json list = Json::parse(text)["reuse"];
  origin.require(list.is_array(), "'reuse' is no list");
  for (const Json& folder : list) {
    origin.require(folder.is_string(), "'reuse' is no list of folders");
    folders.push_back(folder.get<std::string>());
  }
  return folders;
}

void StudyFolder::add_reuse(const std::vector<std::string>& folders) const {
  std::vector<std::string> all = reuse();
  for (const std::string& folder : folders)
    if (std::find(all.begin(), all.end(), folder) == all.end()) all.push_back(folder);
  Json origin = Json::parse(read_file(origin_file(path_)));
  origin["reuse"] = all;
  write_file_atomically(origin_file(path_), origin.dump(2) + "\n");
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
    result.evaluation_seconds = evaluation_seconds_of(summary);
    result.splits = splits_of(summary);
    if (outcome.has("hashes") && outcome.object("hashes").has("splits"))
      expect(outcome.object("hashes").text("splits") == hash_of_splits(summary_file), summary_file,
             "was changed after the run; remove the run's folder, and it is made again by --resume");
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
