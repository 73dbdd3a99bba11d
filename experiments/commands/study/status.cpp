#include "experiments/command_line/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/commands/study/study_lines.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/report/group_report.hpp"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

struct StudyStatusArguments : GroupFolderArguments {
  bool json = false;

  void fields(Fields& f) {
    GroupFolderArguments::fields(f);
    f("json", json, "print one JSON object");
  }
};

Json json_of(const StudyFolder& folder) {
  const Study study = folder.study();
  StudyResults results(folder, study);
  const StudyCounts counts = count(study, folder, results);
  return {
      {"planned", counts.planned},   {"at_most", runs_at_most(study)}, {"finished", counts.finished},
      {"diverged", counts.diverged}, {"failed", counts.failed},        {"running", counts.running},
      {"underway", counts.underway}, {"reused", counts.reused},        {"complete", counts.ended() == counts.planned}};
}

void print_status(const StudyFolder& folder) {
  const Study study = folder.study();
  StudyResults results(folder, study);
  for (const std::string& line : status_lines(study, folder, results)) fmt::print("{}\n", line);
}

/// The status of a study, or of each study of a group that was begun, by its name.
int print_json(const std::string& path, const std::optional<StudyGroup>& group) {
  Json status = group ? Json::object() : json_of(StudyFolder(path));
  if (group)
    for (const std::filesystem::path& file : group->studies)
      if (const StudyFolder study(path + "/" + file.stem().string()); study.begun())
        status[file.stem().string()] = json_of(study);
  fmt::print("{}\n", status.dump(2));
  return exit_done;
}

int study_status_command(const StudyStatusArguments& arguments) {
  const auto group = group_in(arguments.folder);
  if (arguments.json) return print_json(arguments.folder, group);
  if (!group) print_status(StudyFolder(arguments.folder));
  if (!group) return exit_done;
  fmt::print("{}", wrapped(group->question, "", "", screen_width));
  for (const std::filesystem::path& file : group->studies) {
    const std::string name = file.stem().string();
    const StudyFolder folder(arguments.folder + "/" + name);
    fmt::print("\n{}{}\n", styled(name, Console::Style::bold, STDOUT_FILENO), folder.begun() ? "" : ": not begun");
    if (folder.begun()) print_status(folder);
  }
  return exit_done;
}

}  // namespace

void add_study_status(CommandTable& table) {
  table.add("study status", "How far a study is", {"folder"}, study_status_command);
}

}  // namespace surd
