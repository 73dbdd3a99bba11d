#include "experiments/commands/command.hpp"
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
#include <limits>
#include <map>
#include <set>
#include <string>
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

/// verdicts.json of a study, as its runs have it now, or of published results.
Json verdicts_in(const std::string& path) {
  if (is_published(path)) return Json::parse(read_file(path + "/verdicts.json"));
  const StudyFolder folder(path);
  return Json::parse(StudyReport(folder, folder.study()).verdicts);
}

/// "232 runs on Intel(R) Xeon(R) Processor, surd 0.1.0 (d9f868229914)", a line a maker.
std::vector<std::string> maker_lines(const Json& verdicts) {
  std::vector<std::string> lines;
  for (const Json& maker : verdicts.at("made_by"))
    lines.push_back(fmt::format("{} runs on {}, surd {} ({})", maker.at("runs").get<std::size_t>(),
                                maker.at("cpu").get<std::string>(), maker.at("surd").get<std::string>(),
                                maker.at("git_commit").get<std::string>()));
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
    const bool outside = effect.value < then.interval.low || effect.value > then.interval.high;
    lines.push_back(
        fmt::format("{} -> {}{}", then.text(), effect.text(), outside ? ", outside the first interval" : ""));
  }
  const double p = number_or_nan(before.at("p_holm")), p_now = number_or_nan(now.at("p_holm"));
  if (!std::isnan(p) && !std::isnan(p_now) && !lines.empty())
    lines.back() += fmt::format("; p {:.2g} -> {:.2g}", p, p_now);
  return lines;
}

/// Which of a statement's parts differ, of those that both versions of surd wrote, without what came out: "margin".
std::string other_parts(const Json& before, const Json& now) {
  const std::set<std::string> results = {"verdict", "reason", "p", "p_holm", "checks"};
  std::vector<std::string> parts;
  for (const auto& [key, value] : before.items())
    if (results.count(key) == 0 && now.contains(key) && now[key] != value) parts.push_back(key);
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// What was tuned for an arm, by the arm: "optimizer.learning_rate 0.01".
std::map<std::string, std::string> tuned_in(const Json& verdicts) {
  std::map<std::string, std::string> arms;
  for (const Json& arm : verdicts.at("tuned")) {
    std::vector<std::string> settings;
    for (const auto& [key, value] : arm.at("settings").items())
      settings.push_back(key + " " + (value.is_string() ? value.get<std::string>() : value.dump()));
    arms[arm.at("arm").get<std::string>()] = fmt::format("{}", fmt::join(settings, ", "));
  }
  return arms;
}

void print_indented(const std::string& text, std::size_t indent) {
  const std::string blank(indent, ' ');
  fmt::print("{}", wrapped(text, blank, blank, screen_width));
}

/// Prints both, statement by statement; how many agree, and of how many.
std::pair<std::size_t, std::size_t> print_statements(const Json& before, const Json& now) {
  std::map<std::string, Json> statements;
  for (const Json& statement : now.at("hypotheses")) statements[statement.at("name").get<std::string>()] = statement;
  std::size_t agree = 0, all = statements.size();
  for (const Json& then : before.at("hypotheses")) {
    const auto name = then.at("name").get<std::string>(), verdict = then.at("verdict").get<std::string>();
    const auto found = statements.find(name);
    if (found == statements.end()) {
      ++all;
      fmt::print("{}  {} -> not asked\n", styled("differs", Console::Style::yellow, STDOUT_FILENO), verdict);
      print_indented(name, 9);
      continue;
    }
    const auto verdict_now = found->second.at("verdict").get<std::string>();
    const std::string parts = other_parts(then, found->second);
    const bool same = verdict == verdict_now && parts.empty();
    agree += same ? 1 : 0;
    fmt::print("{}  {}\n", same ? "same   " : styled("differs", Console::Style::yellow, STDOUT_FILENO),
               verdict == verdict_now ? verdict : verdict + " -> " + verdict_now);
    print_indented(name, 9);
    if (!parts.empty()) print_indented("is not the same statement: " + parts, 11);
    for (const std::string& line : effect_lines(then, found->second)) print_indented(line, 11);
    statements.erase(found);
  }
  for (const auto& [name, statement] : statements) {
    fmt::print("{}  not asked -> {}\n", styled("differs", Console::Style::yellow, STDOUT_FILENO),
               statement.at("verdict").get<std::string>());
    print_indented(name, 9);
  }
  return {agree, all};
}

/// Returns 0 where the same is asked and every verdict agrees, and else 1.
int study_compare_command(const StudyCompareArguments& arguments) try {
  const Json before = verdicts_in(arguments.before), now = verdicts_in(arguments.now);
  for (const auto& [folder, verdicts] : {std::pair(arguments.before, &before), std::pair(arguments.now, &now)}) {
    fmt::print("{}\n", folder);
    for (const std::string& line : maker_lines(*verdicts)) print_indented(line, 2);
  }
  fmt::print("\n");
  const auto [agree, all] = print_statements(before, now);
  const auto tuned = tuned_in(before), tuned_now = tuned_in(now);
  std::size_t otherwise = 0;
  for (const auto& [arm, settings] : tuned)
    if (const auto found = tuned_now.find(arm); found != tuned_now.end() && found->second != settings) {
      if (++otherwise == 1) fmt::print("\ntuned otherwise\n");
      print_indented(fmt::format("{}: {} -> {}", arm, settings, found->second), 2);
    }
  fmt::print("\n{} of {} verdicts agree\n", agree, all);
  return agree == all ? exit_done : exit_failed;
} catch (const Json::exception&) {
  throw Error(fmt::format("{} or {}: its verdicts.json is damaged; surd study report writes that of a study anew",
                          arguments.before, arguments.now));
}

}  // namespace

void add_study_compare(CommandTable& table) {
  table.add("study compare", "Two times the same study, statement by statement", {"before", "now"},
            study_compare_command);
}

}  // namespace surd
