#include "experiments/study/report/export.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/study/execution/study_folder.hpp"

namespace surd {
namespace {

int study_export_command(const StudyFolderArguments& arguments) {
  const StudyFolder folder(arguments.folder);
  const Study study = folder.study();
  StudyResults results(folder, StudyResults::Parts::all);
  fmt::print("{}", to_csv(study, results.known()));
  return exit_done;
}

}  // namespace

void add_study_export(CommandTable& table) {
  table.add("study export", "Print one row a run and metric, as CSV", {"folder"}, study_export_command);
}

}  // namespace surd
