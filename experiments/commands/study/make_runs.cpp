#include "experiments/commands/study/make_runs.hpp"

#include "experiments/commands/study/study_lines.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/execution/outlook.hpp"
#include "experiments/study/execution/reuse.hpp"
#include "experiments/study/execution/workers/worker_pool.hpp"
#include "experiments/study/report/group_report.hpp"
#include "experiments/study/report/write_report.hpp"

namespace surd {
namespace {

/// Writes the report once the runs have ended, prints how they ended, and returns the exit code.
int finish_study(const StudyFolder& folder, const Study& study, StudyResults& results, const StudyCounts& counts,
                 bool in_group, Console& console) {
  console.line(fmt::format("{} of {} runs made: {} finished, {} diverged, {} failed{}", counts.ended(), counts.planned,
                           counts.finished, counts.diverged, counts.failed,
                           counts.reused > 0 ? fmt::format("; {} reused from other studies", counts.reused) : ""));
  results.refresh();
  for (const std::string& line : failures(study, results)) console.line(line);
  if (const std::string problem = report_study(folder, study, console); !problem.empty()) {
    console.warn(problem);  // an error would leave the other studies of a group unmade
    return exit_failed;
  }
  if (!in_group) update_group_around(folder, console);
  console.line(fmt::format("\nreport      {}/report.html", folder.path()));
  return counts.ended() == counts.planned && counts.failed == 0 ? exit_done : exit_failed;
}

}  // namespace

std::string report_study(const StudyFolder& folder, const Study& study, Console& console) {
  StudyReport report(folder, study);
  const std::vector<std::string> answers = answer_lines(study, report.analysis);
  std::string problem = write_report(std::move(report), folder);
  for (const std::string& line : answers) console.line(line);
  return problem;
}

void update_group_around(const StudyFolder& folder, Console& console) {
  const std::string problem = write_report_of_group_around(folder.path());
  if (!problem.empty())
    console.warn(fmt::format("the report of the group that this study belongs to was not written: {}", problem));
}

int make_runs(const StudyFolder& folder, const Study& study, std::optional<std::size_t> jobs, bool in_group) {
  StudyResults results(folder, study);
  const std::size_t workers = jobs.value_or(usual_jobs(study));
  Console console;
  for (const std::string& line : describe(study)) console.line(line);
  const ReusableRuns others(folder.reuse(), folder.keep_checkpoints());
  const std::size_t to_reuse = reusable(study, results.known(), others);
  for (const std::string& line : outlook(study, count(study, folder, results), workers, to_reuse)) console.line(line);
  if (!study.quick)  // which is not to be believed anyway
    for (const std::string& line : undecidable_lines(study, decidability_of(study))) console.line(line);
  console.line(fmt::format("folder      {}\n", folder.path()));

  const PoolEnd end = run_workers(folder, study, workers, console);
  if (end.stopped_by != 0) {
    console.warn(fmt::format("stopped with {} of {} runs made; --resume goes on, and so does surd study work {}",
                             end.counts.ended(), end.counts.planned, shell_word(folder.path())));
    return 128 + end.stopped_by;
  }
  return finish_study(folder, study, results, end.counts, in_group, console);
}

}  // namespace surd
