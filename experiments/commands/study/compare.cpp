#include "experiments/command_line/command.hpp"
#include "experiments/config/config_error.hpp"
#include "experiments/config/settings.hpp"
#include "experiments/config/yaml_document.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/report/charts/chart.hpp"
#include "experiments/study/report/publish.hpp"
#include "experiments/study/report/write_report.hpp"
#include "train/storage/files.hpp"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

struct StudyCompareArguments {
  std::string before, now;

  void fields(Fields& f) {
    f("before", before, "folder of a study, or of published results");
    f("now", now, "another one, of the same study");
  }
};

/// A study, or what was published of it.
struct ComparedStudy {
  std::string folder;
  Json verdicts;  ///< verdicts.json, of a study as its runs have it now
  Settings file;  ///< what was asked, key by key
  Settings base;  ///< the config of its first arm
};

/// Of the settings of a study file, those that change what is asked.
Settings what_is_asked(const std::string& text, const std::string& name) {
  const std::set<std::string> told = {"title", "question", "expectation", "claims", "changes", "quick"};
  Settings asked;
  for (const auto& [key, value] : settings_of(YamlDocument::parse(text, name).root())) {
    const std::string top = key.substr(0, key.find('.'));
    const std::string last = key.substr(key.rfind('.') + 1);
    if (told.count(top) == 0 && last != "claim" && last != "contradicts") asked[key] = value;
  }
  return asked;
}

ComparedStudy read_study(const std::string& path) {
  ComparedStudy study{path, {}, {}, {}};
  std::string text, base;
  if (is_published(path)) {
    const Json page = read_published(path);
    const std::string file = path + "/verdicts.json";
    study.verdicts = Json::parse(read_file(file), nullptr, false);
    expect(study.verdicts.is_object(), file, "is damaged; fetch it again");
    text = page.at("study_text").get<std::string>();
    base = page.at("base_config").get<std::string>();
  } else {
    const StudyFolder folder(path);
    const Study read = folder.study();
    study.verdicts = Json::parse(StudyReport(folder, read).verdicts);
    text = read_file(folder.study_file());
    base = to_yaml(read.config(0, {}, read.seeds.front()));
  }
  study.file = what_is_asked(text, path);
  const YamlDocument document = YamlDocument::parse(base, path);
  try {
    study.base = settings_of(ConfigFile(document).config);  // as this version writes them
  } catch (const ConfigError&) {                            // it lacks a key that an older one had
    study.base = settings_of(document.root());
  }
  return study;
}

/// Whether the first arm of a study sets a key, so that its config does not tell what the base has there.
bool first_arm_sets(const Settings& file, const std::string& key) {
  for (const auto& [setting, value] : file) {
    const bool axis = setting.rfind("axes.", 0) == 0;
    const std::size_t index = axis ? setting.find('.', std::strlen("axes.")) : 0;
    const std::string within = axis ? setting.substr(index + 1) : setting;
    if (within == "levels.0.set." + key || within == "arms.0.set." + key || (within == "key" && value == key))
      return true;
  }
  return false;
}

/// What was asked otherwise: of the base only what both versions of surd read, and not where data lie.
std::vector<std::string> asked_otherwise(const ComparedStudy& before, const ComparedStudy& now) {
  constexpr std::string_view base = "base.";
  std::vector<std::string> lines;
  bool told = false;
  for (const SettingChange& change : setting_changes(before.file, now.file)) {
    if (change.path.rfind(base, 0) == 0 && !first_arm_sets(now.file, change.path.substr(base.size()))) continue;
    lines.push_back(change.text());
    told = told || change.path.rfind("seeds", 0) == 0;
  }
  const std::size_t seeds = before.verdicts.at("seeds").size(), seeds_now = now.verdicts.at("seeds").size();
  if (seeds != seeds_now && !told)  // extended, or cut down
    lines.push_back(SettingChange{"seeds", std::to_string(seeds), std::to_string(seeds_now)}.text());
  for (const auto& [key, value] : before.base) {
    const auto found = now.base.find(key);
    if (found != now.base.end() && found->second != value && found->second.find('/') == std::string::npos)
      lines.push_back("base." + SettingChange{key, value, found->second}.text());
  }
  // Results that were published by an older version do not tell their data.
  if (const auto data = before.verdicts.find("data"), data_now = now.verdicts.find("data");
      data != before.verdicts.end() && data_now != now.verdicts.end() && *data != *data_now)
    lines.push_back(SettingChange{"data", data->dump(), data_now->dump()}.text());
  return lines;
}

/// "232 runs on Intel(R) Xeon(R) Processor, surd 0.1.0 (d9f868229914)", a line a maker, and what makes it no evidence.
std::vector<std::string> maker_lines(const Json& verdicts) {
  std::vector<std::string> lines;
  for (const Json& maker : verdicts.at("made_by"))
    lines.push_back(fmt::format("{} runs on {}, surd {} ({})", maker.at("runs").get<std::size_t>(),
                                maker.at("cpu").get<std::string>(), maker.at("surd").get<std::string>(),
                                maker.at("git_commit").get<std::string>()));
  if (verdicts.at("quick").get<bool>()) lines.emplace_back("cut down by --quick: it is no evidence");
  for (const char* how : {"missing", "failed", "diverged"})
    if (const auto count = verdicts.at("runs").at(how).get<std::size_t>(); count > 0)
      lines.push_back(
          fmt::format("{} of {} runs {}", count, verdicts.at("runs").at("planned").get<std::size_t>(), how));
  return lines;
}

struct ComparedEffect {
  double value = std::numeric_limits<double>::quiet_NaN();
  statistics::Interval interval{value, value};

  std::string text() const { return report::number_text(value, interval); }
};

double number_or_nan(const Json& json) {
  return json.is_number() ? json.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

ComparedEffect effect_in(const Json& check) {
  const Json& effect = check.at("effect");
  ComparedEffect result;
  result.value = number_or_nan(effect.at("value"));
  if (effect.contains("interval") && effect["interval"].is_array())
    result.interval = {number_or_nan(effect["interval"].at(0)), number_or_nan(effect["interval"].at(1))};
  return result;
}

/// The effects of a statement's checks before and now, a line each, and its p.
std::vector<std::string> effect_lines(const Json& before, const Json& now) {
  std::map<std::string, ComparedEffect> effects;
  for (const Json& check : before.at("checks")) effects[check.at("label").get<std::string>()] = effect_in(check);
  std::vector<std::string> lines;
  for (const Json& check : now.at("checks")) {
    const auto found = effects.find(check.at("label").get<std::string>());
    if (found == effects.end()) continue;
    const ComparedEffect &then = found->second, effect = effect_in(check);
    const auto beyond = [&](double end, bool past) {  // as far as it is shown
      return past && report::number_text(effect.value) != report::number_text(end);
    };
    const bool outside = beyond(then.interval.low, effect.value < then.interval.low) ||
                         beyond(then.interval.high, effect.value > then.interval.high);
    lines.push_back(
        fmt::format("{} -> {}{}", then.text(), effect.text(), outside ? ", outside the first interval" : ""));
  }
  const double p = number_or_nan(before.at("p_holm")), p_now = number_or_nan(now.at("p_holm"));
  if (!std::isnan(p) && !std::isnan(p_now) && !lines.empty())
    lines.back() += fmt::format("; p {:.2g} -> {:.2g}", p, p_now);
  return lines;
}

/// What a statement's checks compare, by their labels.
std::set<std::string> cases_in(const Json& statement) {
  std::set<std::string> cases;
  for (const Json& check : statement.at("checks")) cases.insert(check.at("label").get<std::string>());
  return cases;
}

/// What was tuned for an arm, by the arm: "optimizer.learning_rate 0.01".
std::map<std::string, std::string> tuned_in(const Json& verdicts) {
  std::map<std::string, std::string> arms;
  for (const Json& arm : verdicts.at("tuned")) {
    if (!arm.at("done").get<bool>()) continue;
    std::vector<std::string> settings;
    for (const auto& [key, value] : arm.at("settings").items())
      settings.push_back(key + " " + (value.is_string() ? value.get<std::string>() : value.dump()));
    arms[arm.at("arm").get<std::string>()] = fmt::format("{}", fmt::join(settings, ", "));
  }
  return arms;
}

void add_indented(std::string& text, const std::string& words, std::size_t indent) {
  const std::string blank(indent, ' ');
  text += wrapped(words, blank, blank, screen_width);
}

struct Agreement {
  std::string text;
  std::size_t verdicts = 0, of = 0;
};

/// Both, statement by statement.
Agreement agreement(const Json& before, const Json& now) {
  constexpr std::size_t indent = 9, deeper = 11;
  std::map<std::string, Json> statements;
  for (const Json& statement : now.at("hypotheses")) statements[statement.at("name").get<std::string>()] = statement;
  Agreement result{"", 0, statements.size()};
  const auto add = [&](bool same, const std::string& verdict, const std::string& name) {
    const std::string word = same ? "same   " : styled("differs", Console::Style::yellow, STDOUT_FILENO);
    result.text += fmt::format("{}  {}\n", word, verdict);
    add_indented(result.text, name, indent);
  };
  for (const Json& then : before.at("hypotheses")) {
    const auto name = then.at("name").get<std::string>(), verdict = then.at("verdict").get<std::string>();
    const auto found = statements.find(name);
    if (found == statements.end()) {
      ++result.of;
      add(false, verdict + " -> not asked", name);
      continue;
    }
    const auto verdict_now = found->second.at("verdict").get<std::string>();
    const bool same = verdict == verdict_now && cases_in(then) == cases_in(found->second);
    result.verdicts += same ? 1 : 0;
    add(same, verdict == verdict_now ? verdict : verdict + " -> " + verdict_now, name);
    for (const std::string& line : effect_lines(then, found->second)) add_indented(result.text, line, deeper);
    statements.erase(found);
  }
  for (const auto& [name, statement] : statements)
    add(false, "not asked -> " + statement.at("verdict").get<std::string>(), name);
  return result;
}

/// A heading and lines beneath it; "" where there are none.
std::string section(const std::string& heading, const std::vector<std::string>& lines) {
  std::string text = lines.empty() ? "" : "\n" + heading + "\n";
  for (const std::string& line : lines) add_indented(text, line, 2);
  return text;
}

std::vector<std::string> tuned_otherwise(const Json& before, const Json& now) {
  const auto tuned = tuned_in(before), tuned_now = tuned_in(now);
  std::vector<std::string> lines;
  for (const auto& [arm, settings] : tuned)
    if (const auto found = tuned_now.find(arm); found != tuned_now.end() && found->second != settings)
      lines.push_back(fmt::format("{}: {} -> {}", arm, settings, found->second));
  return lines;
}

/// Returns 0 where the same is asked and every verdict agrees, and else 1.
int study_compare_command(const StudyCompareArguments& arguments) try {
  const ComparedStudy before = read_study(arguments.before), now = read_study(arguments.now);
  std::string text;
  for (const ComparedStudy* study : {&before, &now}) {
    text += study->folder + "\n";
    for (const std::string& line : maker_lines(study->verdicts)) add_indented(text, line, 2);
  }
  const Agreement statements = agreement(before.verdicts, now.verdicts);
  const std::vector<std::string> otherwise = asked_otherwise(before, now);
  text += "\n" + statements.text + section("tuned otherwise", tuned_otherwise(before.verdicts, now.verdicts)) +
          section("asked otherwise", otherwise);
  fmt::print("{}\n{} of {} verdicts agree{}\n", text, statements.verdicts, statements.of,
             otherwise.empty() ? "" : ", but not the same was asked");
  return statements.verdicts == statements.of && otherwise.empty() ? exit_done : exit_failed;
} catch (const Json::exception&) {
  throw Error(fmt::format("{}: the published verdicts of one of them are damaged; fetch them again",
                          fmt::join({arguments.before, arguments.now}, ", ")));
}

}  // namespace

void add_study_compare(CommandTable& table) {
  table.add("study compare", "Two times the same study, statement by statement", {"before", "now"},
            study_compare_command);
}

}  // namespace surd
