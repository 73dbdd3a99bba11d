#include "experiments/study/report/export.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/study/execution/study_results.hpp"

namespace surd {
namespace {

struct StudyExportArguments : StudyFolderArguments {
  bool latex = false, markdown = false;

  void fields(Fields& f) {
    StudyFolderArguments::fields(f);
    f("latex", latex, "the verdicts instead, as a table for a paper (booktabs)");
    f("markdown", markdown, "the verdicts instead, as a table in Markdown");
    f.rule(!latex || !markdown, "markdown", "is given beside --latex; give one of them");
  }
};

int study_export_command(const StudyExportArguments& arguments) {
  const StudyFolder folder(arguments.folder);
  const Study study = folder.study();
  StudyResults results(folder);
  const KnownResults known = results.known_of(study);
  if (!arguments.latex && !arguments.markdown) {
    fmt::print("{}", to_csv(study, known));
    return exit_done;
  }
  const Analysis analysis = analyse(study, known);
  fmt::print("{}", arguments.latex ? verdicts_as_latex(study, analysis) : verdicts_as_markdown(study, analysis));
  return exit_done;
}

}  // namespace

void add_study_export(CommandTable& table) {
  table.add("study export", "Print one row a run and metric, as CSV", {"folder"}, study_export_command);
}

}  // namespace surd
