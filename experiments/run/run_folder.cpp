#include "experiments/run/run_folder.hpp"

#include "experiments/program/console.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/checkpoint_metadata.hpp"
#include "experiments/run/data/fingerprint.hpp"
#include "train/storage/checkpoint.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

namespace surd {

namespace fs = std::filesystem;

RunOrigin origin_of(const ConfigFile& config, const std::string& file, const std::vector<std::string>& settings,
                    const std::string& command) {
  std::error_code unknown;
  RunOrigin origin{command, fs::current_path(unknown).string(), iso_time(std::time(nullptr)), file, settings, {}, {}};
  for (const fs::path& extended : config.document.extended_files()) origin.extends.push_back(extended.string());
  if (origin.extends.empty()) return origin;
  try {
    const RunConfig alone = load_config(origin.extends.front());
    origin.extended = settings_of(alone);
  } catch (const ConfigError&) {  // alone it is no config: what every config needs it leaves to those that extend it
  }
  return origin;
}

std::string ChangedEnd::text() const {
  std::vector<std::string> texts;
  for (const SettingChange& change : changes) texts.push_back(change.text());
  return fmt::format("after update {}: {}", with_commas(after_update), fmt::join(texts, ", "));
}

std::string to_json_text(const RunOrigin& origin) {
  nlohmann::ordered_json json{{"command", origin.command},  {"folder", origin.folder}, {"began", origin.began},
                              {"file", origin.file},        {"set", origin.settings},  {"extends", origin.extends},
                              {"extended", origin.extended}};
  if (!origin.from.empty()) json["from"] = origin.from;
  if (!origin.from_checksum.empty()) json["from_checksum"] = origin.from_checksum;
  if (origin.imported) json["imported"] = true;
  for (const ChangedEnd& end : origin.ends) {
    auto changes = nlohmann::ordered_json::array();
    for (const SettingChange& change : end.changes)
      changes.push_back({{"key", change.path}, {"from", change.before}, {"to", change.after}});
    json["ends"].push_back({{"after_update", end.after_update}, {"changes", changes}});
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

RunOrigin parse_origin(const std::string& text, const std::string& name) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  using Texts = std::vector<std::string>;
  try {
    std::vector<ChangedEnd> ends;
    for (const auto& end : json.value("ends", nlohmann::ordered_json::array())) {
      ends.push_back({end.at("after_update").get<std::uint64_t>(), {}});
      for (const auto& change : end.at("changes"))
        ends.back().changes.push_back({change.at("key").get<std::string>(), change.at("from").get<std::string>(),
                                       change.at("to").get<std::string>()});
    }
    return {json.at("command").get<std::string>(), json.at("folder").get<std::string>(),
            json.at("began").get<std::string>(),   json.at("file").get<std::string>(),
            json.at("set").get<Texts>(),           json.at("extends").get<Texts>(),
            json.at("extended").get<Settings>(),   ends,
            json.value("imported", false),         json.value("from", ""),
            json.value("from_checksum", "")};
  } catch (const nlohmann::ordered_json::exception&) {
    throw Error(name + ": was changed or damaged; remove it, and what else is known of the run is shown");
  }
}

bool RunFolder::exists() const { return path_exists(path) && !(is_folder(path) && names_in(path).empty()); }

bool RunFolder::begun() const { return is_file(config()); }

void RunFolder::expect_begun() const {
  expect_usage(begun(), path, "is not the folder of a run: it has no config.yaml; name the --out of a surd train");
}

void RunFolder::expect_trained() const {
  expect_begun();
  expect_usage(!read_origin().imported, path, "was imported, so it has no log of a training and no results");
}

bool RunFolder::in_use() const {
  const int descriptor = ::open(lock_file().c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  // Shared with whoever else looks at this moment.
  const bool taken = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return taken;
}

bool RunFolder::only_prepared() const {
  if (!is_folder(path) || begun()) return false;
  const auto empty = [](const std::string& folder) { return is_folder(folder) && names_in(folder).empty(); };
  for (const std::string& name : names_in(path)) {
    const bool ours = name == "lock" || is_temporary_file(name, config()) || is_temporary_file(name, data()) ||
                      is_temporary_file(name, origin()) ||
                      ((name == "data.json" || name == "origin.json") && path_exists(lock_file())) ||
                      (name == "vocabulary" && (path_exists(lock_file()) || empty(vocabulary()))) ||
                      (name == "checkpoints" && empty(checkpoints()));
    if (!ours) return false;
  }
  return true;
}

void RunFolder::create() const {
  for (const std::string& folder : {path, vocabulary(), checkpoints()}) make_folders(folder);
}

void RunFolder::begin(const std::string& config_text, const std::optional<RunOrigin>& told, const Corpus& corpus,
                      const TextCodec& codec, const UnknownShares& unknown) const {
  const std::string data_text = to_json_text(fingerprint(corpus), unknown);
  const std::string origin_text = told ? to_json_text(*told) : "";
  const std::map<std::string, std::string> vocabularies = codec.files();
  std::map<std::string, std::string_view> files = {{data(), data_text}};
  if (told) files[origin()] = origin_text;
  for (const auto& [name, bytes] : vocabularies) files[vocabulary() + "/" + name] = bytes;
  write_files_atomically(files);
  write_file_atomically(config(), config_text);
}

std::string RunFolder::changed_data(const Corpus& corpus, const std::vector<std::string>& splits) const {
  return difference(parse_fingerprint(read_file(data()), data()), fingerprint(corpus), splits);
}

void RunFolder::expect_same_data(const Corpus& corpus, const std::vector<std::string>& splits) const {
  expect(path_exists(data()), data(),
         "is missing, so nobody can tell whether the data are still the same; put it back, or train into another "
         "folder by --out");
  const std::string changes = changed_data(corpus, splits);
  expect_usage(
      changes.empty(), path,
      "the data are not those that the run was begun with, so it cannot go on with them:{}\nput the files back "
      "(relative paths begin at the current folder), or train into another folder by --out",
      changes);
}

std::unique_ptr<File> RunFolder::lock() const {
  auto file = std::make_unique<File>(lock_file(), O_RDWR | O_CREAT);
  bool locked = file->lock();
  for (int i = 0; !locked && i < 10; ++i) {  // somebody may just be looking whether the run is in use
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    locked = file->lock();
  }
  if (!locked) {
    std::string owner = file->read();
    while (!owner.empty() && owner.back() == '\n') owner.pop_back();
    throw Error(fmt::format("{}: another process{} is training in this folder; wait for its end, or use another --out",
                            path, owner.empty() ? "" : " (" + owner + ")"));
  }
  file->truncate(0);
  file->write(fmt::format("pid {}\n", ::getpid()));
  return file;
}

RunOrigin RunFolder::read_origin() const {
  return path_exists(origin()) ? parse_origin(read_file(origin()), origin()) : RunOrigin();
}

JsonObject RunFolder::read_summary() const {
  return {read_file(summary()), summary(),
          fmt::format("remove it and write it anew by: surd train {} --out {} --resume", shell_word(config()),
                      shell_word(path))};
}

Metrics RunFolder::read_log() const {
  Metrics log = read_metrics(metrics());
  if (!path_exists(summary())) return log;
  const JsonObject known = read_summary();
  // Of a run that goes on the log may be shorter, from its checkpoint on.
  if (!known.truth("finished") || !known.has("last_update")) return log;
  const std::uint64_t last = known.count("last_update");
  const std::uint64_t told = log.evaluations.empty() ? 0 : log.evaluations.back().update;
  expect(
      told >= last, metrics(),
      "ends with the evaluation after update {}, and {} knows of one after update {}: lines are missing; put the file "
      "back, or train again into another folder",
      told, summary(), last);
  return log;
}

std::string RunFolder::changed_config() const {
  if (!path_exists(summary())) return "";
  const JsonObject known = read_summary();
  if (!known.has("settings")) return "";
  std::vector<std::string> changes;
  for (const SettingChange& change : setting_changes(known.object("settings").texts(), settings_in(config())))
    if (!is_moved_file(change)) changes.push_back(change.text());
  if (changes.empty()) return "";
  return fmt::format("{} was changed since the run was trained ({}); put it back as it was", config(),
                     fmt::join(changes, ", "));
}

void RunFolder::clean() const {
  for (const std::string& folder : {path, vocabulary(), checkpoints()}) remove_temporary_files(folder);
}

Settings settings_in(const std::string& config) { return settings_of(YamlDocument::load(config).root()); }

Settings settings_of(const RunFolder& folder) {
  Settings settings = settings_in(folder.config());
  RunOrigin origin;
  try {
    origin = folder.read_origin();
  } catch (const Error&) {  // damaged: what it told of the run is lost, and the rest is as it was
  }
  if (!origin.from.empty()) settings["--from"] = origin.from;
  if (!origin.from_checksum.empty()) settings["--from checksum"] = origin.from_checksum;
  bool same_for_all_seeds = false;
  try {
    same_for_all_seeds = !load_config(folder.config()).task.make()->takes_seed();
  } catch (const Error&) {  // of another version
  }
  if (same_for_all_seeds && path_exists(folder.data()))
    for (const auto& [split, found] : parse_fingerprint(read_file(folder.data()), folder.data()))
      settings["text of " + split] = found.hash;
  for (const ChangedEnd& end : origin.ends) settings["--resume " + end.text()] = "yes";
  return settings;
}

std::vector<std::string> distinct_folders(const std::vector<std::string>& paths) {
  std::vector<std::string> folders;
  std::set<fs::path> seen;
  for (const std::string& path : paths) {
    std::error_code unresolved;
    const bool fresh = seen.insert(fs::weakly_canonical(path, unresolved)).second;
    if (fresh || unresolved) folders.push_back(path);
  }
  return folders;
}

namespace {

RunFolder begun_folder(const std::string& path) {
  RunFolder folder(path);
  folder.expect_begun();
  return folder;
}

/// Where the run went on after its checkpoints were averaged.
void warn_of_old_average(const RunFolder& folder, const Checkpoints& checkpoints, const std::string& file,
                         const Checkpoints::Metadata& metadata) {
  const auto averaged = metadata.find("averaged_updates"), made_at = metadata.find("averaged_at");
  if (averaged == metadata.end() || made_at == metadata.end() ||
      made_at->second == std::to_string(checkpoints.last_update()))
    return;
  const std::string& updates = averaged->second;
  Console().warn(
      fmt::format("{} is of the updates {}, made when the run was at {}, and now it is at {}; surd average {} "
                  "--last {} makes it anew",
                  file, updates, made_at->second, checkpoints.last_update(), shell_word(folder.path),
                  1 + std::count(updates.begin(), updates.end(), ',')));
}

/// Sets the parameters to those of the checkpoint that a person named.
void load_checkpoint(const RunFolder& folder, const RunConfig& config, const TextCodec& codec, const std::string& name,
                     ParameterSet& parameters) {
  const Checkpoints checkpoints(folder.checkpoints(), config.train.keep_checkpoints);
  const auto names = names_in(folder.checkpoints());
  const std::string others =
      fmt::format("--checkpoint takes best, last, average or a file; {} holds {}", folder.checkpoints(),
                  names.empty() ? "none yet" : fmt::format("{}", fmt::join(names, ", ")));
  const bool role = name == "best" || name == "last" || name == "average";
  expect_usage(!names.empty() || !role || !path_exists(folder.outcome()), folder.path,
               "has no checkpoint: it is a run of a study, which keeps none unless it is begun with "
               "--keep-checkpoints; train it again by: surd train {} --out FOLDER",
               shell_word(folder.config()));
  if (names.empty() && role && path_exists(folder.summary()))
    throw UsageError(fmt::format(
        "{}: has no checkpoint{}; train it again into another folder", folder.path,
        folder.read_summary().is_null("diverged") ? " any more" : ": it diverged (train.checkpoint_every makes more)"));
  expect_usage(!names.empty() || !role, folder.path, "there is no checkpoint yet; the first comes after {} updates",
               std::min(config.train.checkpoint_every, config.train.evaluate_every));
  expect_usage(name != "average" || path_exists(checkpoints.average_path()), folder.path,
               "there is no average yet; make it by: surd average {} --last N", shell_word(folder.path));
  expect_usage(role || path_exists(name), "--checkpoint", "there is no file '{}'; {}", name, others);
  try {
    const std::string path = name == "best"      ? checkpoints.best_path()
                             : name == "last"    ? checkpoints.last_path()
                             : name == "average" ? checkpoints.average_path()
                                                 : name;
    const Checkpoints::Check check = expect_same_model(folder.path, config, codec);
    load_parameters(path, parameters, [&](const std::string& file, const Checkpoints::Metadata& metadata) {
      check(file, metadata);
      if (name == "average") warn_of_old_average(folder, checkpoints, file, metadata);
    });
  } catch (const Error& error) {
    throw Error(fmt::format("{}; use another one: {}", error.what(), others));
  }
}

}  // namespace

OpenRun::OpenRun(const std::string& path, const std::string& checkpoint)
    : folder(begun_folder(path)),
      config(load_config(folder.config())),
      codec(TextCodec::load(folder.vocabulary(), config.task.make()->format())),
      model(config, codec) {
  load_checkpoint(folder, config, codec, checkpoint, model.parameters());
}

}  // namespace surd
