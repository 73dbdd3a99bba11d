#include "experiments/commands/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/study/report/study_tables.hpp"
#include "experiments/study/report/write_report.hpp"

namespace surd {
namespace {

int study_report_command(const StudyFolderArguments& arguments) {
  const StudyFolder folder(arguments.folder);
  const Study study = folder.study();
  Console console;
  for (const std::string& line : answer_lines(study, write_report(folder, study))) console.line(line);
  console.line(fmt::format("\nreport      {}/report.html", folder.path()));
  return exit_done;
}

}  // namespace

void add_study_report(CommandTable& table) {
  table.add("study report", "Write the report anew from what the runs have left", {"folder"}, study_report_command);
}

}  // namespace surd
