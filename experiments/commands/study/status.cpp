#include "experiments/commands/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/commands/study/study_lines.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/report/group_report.hpp"

#include <unistd.h>

#include <filesystem>

namespace surd {
namespace {

void print_status(const StudyFolder& folder) {
  const Study study = folder.study();
  StudyResults results(folder, StudyResults::Parts::metrics);
  for (const std::string& line : status_lines(study, folder, results)) fmt::print("{}\n", line);
}

int study_status_command(const GroupFolderArguments& arguments) {
  const auto group = group_in(arguments.folder);
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
