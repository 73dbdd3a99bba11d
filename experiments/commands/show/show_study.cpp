#include "experiments/commands/show/show.hpp"
#include "experiments/commands/study/study_lines.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/execution/makers.hpp"
#include "experiments/study/execution/study_json.hpp"
#include "experiments/study/report/export.hpp"
#include "experiments/study/report/publish.hpp"
#include "experiments/study/report/write_report.hpp"
#include "train/storage/files.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// The hashes that guard what a study is made from, by the file in its folder.
NamedTexts hashes_of(const Beginning& begun) {
  NamedTexts hashes{{"study.yaml", begun.hash}};
  for (std::size_t i = 0; i < begun.base_hashes.size(); ++i)
    hashes.emplace_back(fmt::format("base/{}.yaml", i + 1), begun.base_hashes[i]);
  return hashes;
}

void print_study_as_json(const std::string& path, const Study& study, const Analysis& analysis,
                         const std::vector<Maker>& makers) {
  const StudyFolder folder(path);
  const Beginning begun = read_beginning(path);
  Json json = Json::parse(to_json(study, analysis, makers, folder.data_read()));
  json["folder"] = path;
  json["begun_from"] = begun.file;
  json["set"] = begun.settings;
  json["commands"] = commands_to_repeat(folder, study);
  for (const auto& [file, hash] : hashes_of(begun)) json["hashes"][file] = hash;
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_makers(const NamedTexts& facts) {
  fmt::print("\nMade by\n");
  constexpr std::size_t width = 16;
  for (const auto& [name, value] : facts)
    fmt::print("{}", wrapped(value, fmt::format("  {:<{}}", name, width), std::string(width + 2, ' '), screen_width));
}

void print_commands(const std::vector<std::string>& commands) {
  fmt::print("\nTo repeat it\n");
  for (const std::string& command : commands) fmt::print("  {}\n", command);
}

/// A text of a published page; "" where it has none.
std::string text_of_page(const Json& page, const char* key) {
  const auto found = page.find(key);
  return found != page.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

void show_study(const std::string& path, bool json) {
  const StudyFolder folder(path);
  const Study study = folder.study();
  StudyResults results(folder);
  const KnownResults known = results.known_of(study);
  const Analysis analysis = analyse(study, known);
  const std::vector<Maker> makers = makers_of(study, known);
  if (json) return print_study_as_json(path, study, analysis, makers);
  for (const std::string& line : describe(study)) fmt::print("{}\n", line);
  print_fact("runs", fmt::format("{} of {} made: {} finished, {} diverged, {} failed", analysis.runs - analysis.missing,
                                 analysis.runs, analysis.finished, analysis.diverged, analysis.failed));
  const Beginning begun = read_beginning(path);
  print_fact("begun from", begun.file);
  for (const std::string& setting : begun.settings) print_fact("set", setting);
  for (const auto& [file, hash] : hashes_of(begun)) print_fact("hash", fmt::format("{} {}", hash, file));
  for (const std::string& line : answer_lines(study, analysis)) fmt::print("{}\n", line);
  if (!makers.empty()) print_makers(facts_of(makers));
  print_commands(commands_to_repeat(folder, study));
}

void show_published_study(const std::string& path, bool json) {
  if (json) {
    fmt::print("{}", read_file(path + "/verdicts.json"));
    return;
  }
  const Json page = read_published(path);
  std::string question = text_of_page(page, "heading");
  question.erase(question.find_last_not_of('\n') + 1);
  fmt::print("{}\n", text_of_page(page, "title"));
  if (question != text_of_page(page, "title")) fmt::print("{}", wrapped(question, "  ", "  ", screen_width));
  fmt::print("{}\n\n", text_of_page(page, "state"));
  for (const std::string& line : lines_of_published(page, path))
    fmt::print("{}", wrapped(line, "", "           ", screen_width));
  NamedTexts facts;
  if (const auto system = page.find("system"); system != page.end())
    for (const Json& fact : *system) facts.emplace_back(text_of_page(fact, "name"), text_of_page(fact, "value"));
  print_makers(facts);
  print_commands({text_of_page(page, "commands")});
}

}  // namespace surd
