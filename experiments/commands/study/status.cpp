#include "experiments/commands/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/study/report/study_tables.hpp"

namespace surd {
namespace {

int study_status_command(const StudyFolderArguments& arguments) {
  const StudyFolder folder(arguments.folder);
  const Study study = folder.study();
  StudyResults results(folder, StudyResults::Parts::metrics);
  for (const std::string& line : status_lines(study, folder, results)) fmt::print("{}\n", line);
  return exit_done;
}

}  // namespace

void add_study_status(CommandTable& table) {
  table.add("study status", "How far a study is", {"folder"}, study_status_command);
}

}  // namespace surd
