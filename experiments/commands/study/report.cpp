#include "experiments/command_line/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/commands/study/make_runs.hpp"
#include "experiments/commands/study/study_lines.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/study/report/group_report.hpp"
#include "experiments/study/report/publish.hpp"
#include "experiments/study/report/write_report.hpp"

#include <filesystem>

namespace surd {
namespace {

int study_group_report(const StudyGroup& group, const std::string& folder) {
  Console console;
  int code = exit_done;
  for (const std::filesystem::path& file : group.studies) {
    const StudyFolder study(folder + "/" + file.stem().string());
    if (!study.begun()) continue;
    const std::string problem = write_report(StudyReport(study, study.study()), study);
    if (problem.empty()) continue;
    console.warn(problem);
    code = exit_failed;
  }
  for (const std::string& line : answer_lines(group, write_group_report(group, folder))) console.line(line);
  console.line(fmt::format("\nreport      {}/report.html", folder));
  return code;
}

int published_report(const std::string& folder) {
  Console console;
  for (const std::string& line : write_published_report(folder)) console.line(line);
  console.line(fmt::format("\nreport      {}/report.html", folder));
  return exit_done;
}

struct StudyReportArguments {
  std::string folder;

  void fields(Fields& f) { f("folder", folder, "folder of a study, of a group of studies, or of published results"); }
};

int study_report_command(const StudyReportArguments& arguments) {
  if (const auto group = group_in(arguments.folder)) return study_group_report(*group, arguments.folder);
  if (is_published(arguments.folder)) return published_report(arguments.folder);
  const StudyFolder folder(arguments.folder);
  const Study study = folder.study();
  Console console;
  if (const std::string problem = report_study(folder, study, console); !problem.empty()) throw Error(problem);
  update_group_around(folder, console);
  console.line(fmt::format("\nreport      {}/report.html", folder.path()));
  return exit_done;
}

}  // namespace

void add_study_report(CommandTable& table) {
  table.add("study report", "Write the report anew from what the runs have left, or from published results", {"folder"},
            study_report_command);
}

}  // namespace surd
