#include "experiments/commands/list/found_runs.hpp"
#include "experiments/commands/show/show.hpp"
#include "experiments/config/settings.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/run/data/fingerprint.hpp"
#include "experiments/run/metrics_log.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/study/execution/study_folder.hpp"
#include "train/storage/json_object.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <tuple>
#include <utility>

namespace surd {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using SettingChanges = std::vector<SettingChange>;

/// How a run came about.
struct RunFacts {
  explicit RunFacts(const std::string& path);

  RunFolder folder;
  FoundRun found;
  Settings settings;
  SettingChanges from_defaults, from_extended;
  std::optional<RunOrigin> origin;
  std::optional<JsonObject> summary;
  Fingerprint data;
  std::string study, id;  // of a run of a study: that, and its name there
  std::string again;      // the command line that repeats it
};

/// The folder without "/" or "/." at its end.
fs::path whole_path(const std::string& folder) { return without_end_slash(fs::absolute(folder).string()); }

/// The study that a run lies in, and its name there; two empty texts where it lies in none.
std::pair<std::string, std::string> study_around(const RunFolder& folder) {
  if (!path_exists(folder.outcome())) return {};
  const fs::path run = whole_path(folder.path);
  for (fs::path above = run.parent_path(); above.has_relative_path(); above = above.parent_path())
    if (StudyFolder(above.string()).begun())
      return {above.string(), run.lexically_relative(above / "runs").generic_string()};
  return {};
}

/// Paths of data files are relative to where the run was begun, so that is where it is repeated.
std::string command_to_repeat(const RunFolder& folder, const std::optional<RunOrigin>& origin) {
  const fs::path path = whole_path(folder.path);
  const std::string out = shell_word(path.filename().string() + "-again");
  std::error_code unknown;
  const std::string from = !origin || origin->from.empty() ? "" : " --from " + shell_word(origin->from);
  if (!origin || origin->folder == fs::current_path(unknown).string())
    return fmt::format("surd train {}{} --out {}", shell_word(folder.config()), from, out);
  return fmt::format("cd {} && surd train {}{} --out {}", shell_word(origin->folder),
                     shell_word((path / "config.yaml").string()), from, out);
}

RunFacts::RunFacts(const std::string& path) : folder(path), found(found_run(path)) {
  const RunConfig config = load_config(folder.config());
  settings = settings_of(config);
  from_defaults = setting_changes(settings_of(defaults_with_choices<RunConfig>(settings)), settings);
  if (path_exists(folder.origin())) origin = parse_origin(read_file(folder.origin()), folder.origin());
  if (origin && !origin->extended.empty()) from_extended = setting_changes(origin->extended, settings);
  if (path_exists(folder.summary())) summary.emplace(folder.read_summary());
  if (path_exists(folder.data())) data = parse_fingerprint(read_file(folder.data()), folder.data());
  std::tie(study, id) = study_around(folder);
  // One that went on to another end was trained with two schedules, which no one command repeats.
  if (!origin || (!origin->imported && origin->ends.empty())) again = command_to_repeat(folder, origin);
}

Json json_of_changes(const SettingChanges& changes) {
  Json list = Json::array();
  for (const SettingChange& change : changes)
    list.push_back({{"key", change.path}, {"from", change.before}, {"to", change.after}});
  return list;
}

void print_run_as_json(const RunFacts& facts) {
  const auto contents = [](const std::string& file) {
    return path_exists(file) ? Json::parse(read_file(file), nullptr, false) : Json();
  };
  const Json json{{"run", facts.folder.path},
                  {"status", facts.found.value("status")},
                  {"problem", facts.found.value("problem")},
                  {"when", facts.found.value("when")},
                  {"repeat", facts.again},
                  {"origin", contents(facts.folder.origin())},
                  {"study", facts.study.empty() ? Json() : Json(facts.study)},
                  {"id", facts.id.empty() ? Json() : Json(facts.id)},
                  {"settings", facts.settings},
                  {"changed_from_extended", json_of_changes(facts.from_extended)},
                  {"changed_from_defaults", json_of_changes(facts.from_defaults)},
                  {"data", contents(facts.folder.data())},
                  {"summary", contents(facts.folder.summary())}};
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_list(const std::string& label, const std::vector<std::string>& items, const char* separator) {
  if (!items.empty()) fmt::print("{}\n", labelled(label, items, separator));
}

std::vector<std::string> texts_of(const SettingChanges& changes) {
  std::vector<std::string> texts;
  for (const SettingChange& change : changes) texts.push_back(change.text());
  return texts;
}

void print_beginning(const RunFacts& facts) {
  if (facts.origin) {
    const RunOrigin& origin = *facts.origin;
    print_fact(origin.imported ? "imported" : "begun", fmt::format("{} in {}", origin.began, origin.folder));
    if (origin.imported) print_fact("from", origin.file);
    if (!origin.command.empty()) fmt::print("{:<12}{}\n", "by", origin.command);
    for (const ChangedEnd& end : origin.ends) print_fact("went on", end.text());
    print_list("extends", origin.extends, ",");
    print_list("changed", texts_of(facts.from_extended), ",");
  }
  if (!facts.study.empty()) print_fact("study", fmt::format("{}, run {}", facts.study, facts.id));
  if (!facts.again.empty()) fmt::print("{:<12}{}\n", "repeat", facts.again);
  print_list("defaults", texts_of(facts.from_defaults), ",");
}

void print_data(const Fingerprint& data) {
  std::vector<std::string> splits;
  for (const auto& [name, split] : data)
    splits.push_back(fmt::format("{} {} pairs, hash {}", name, with_commas(split.pairs), split.hash));
  print_list("data", splits, ";");
}

void print_scores(const JsonObject& summary) {
  for (const std::string which : {"best", "last"}) {
    if (summary.is_null(which)) continue;
    std::vector<std::string> texts = score_texts(scores_of(summary.object(which)));
    const std::string update = which + "_update";
    if (summary.has(update)) texts.push_back(fmt::format("update {}", summary.count(update)));
    print_list(which, texts, " ");
  }
  if (!summary.has("splits")) return;
  const JsonObject splits = summary.object("splits");
  for (const std::string& name : splits.keys()) print_list(name, score_texts(scores_of(splits.object(name))), " ");
}

/// The texts of summary.json under these keys, each after its label.
std::string facts_of_system(const JsonObject& summary, const std::vector<std::pair<const char*, const char*>>& keys) {
  std::vector<std::string> texts;
  for (const auto& [key, label] : keys)
    if (summary.has(key)) texts.push_back(label + summary.text(key));
  return fmt::format("{}", fmt::join(texts, ", "));
}

void print_ending(const RunFacts& facts) {
  const JsonObject& summary = *facts.summary;
  print_scores(summary);
  if (summary.has("wall_seconds"))
    print_fact("time",
               fmt::format("{} of the last process, {} tokens/s; ended {}", clock_time(summary.real("wall_seconds")),
                           with_commas(static_cast<std::uint64_t>(summary.real("tokens_per_second"))),
                           facts.found.value("when").get<std::string>()));
  print_fact("program",
             facts_of_system(
                 summary,
                 {{"surd", "surd "}, {"git_commit", "commit "}, {"program", "file "}, {"real", ""}, {"compiler", ""}}));
  print_fact("libraries", facts_of_system(summary, {{"blas", ""}, {"products", ""}, {"libraries", ""}}));
  print_fact("machine",
             facts_of_system(summary, {{"cpu", ""}, {"cores", "cores "}, {"memory", ""}, {"simd_width", "SIMD of "}}));
}

}  // namespace

void show_run(const std::string& path, bool json) {
  const RunFacts facts(path);
  if (json) return print_run_as_json(facts);
  const Json problem = facts.found.value("problem"), updates = facts.found.value("updates");
  std::string state = facts.found.value("status").get<std::string>();
  if (!updates.is_null()) state += fmt::format(", {} updates", with_commas(updates.get<std::uint64_t>()));
  if (!problem.is_null()) state += "; " + problem.get<std::string>();
  print_fact("run", fmt::format("{}: {}", path, state));
  print_beginning(facts);
  print_data(facts.data);
  if (facts.summary) print_ending(facts);
}

}  // namespace surd
