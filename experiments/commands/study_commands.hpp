#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// The commands of `surd study`; each returns the exit code.
namespace surd {

struct StudyRunArguments {
  std::string file;
  std::vector<std::string> settings;  ///< "a.b.c=value", over the base config
  std::string out;                    ///< "": runs/ and the name of the study file
  std::optional<std::size_t> jobs;    ///< nothing: one a core
  bool resume = false;
  bool quick = false;
  bool keep_checkpoints = false;
};
/// Makes every run of a study: 0 where all have ended (one that diverged has), 1 where any failed or is missing.
int study_run_command(const StudyRunArguments& arguments);
/// One more worker for a study that was begun, here or on another machine.
int study_work_command(const std::string& folder);
/// How far a study is.
int study_status_command(const std::string& folder);
/// The studies that come with the program.
int study_list_command();
/// Every key of a study file, as docs/studies.md has them.
int study_reference_command();

/// Writes the report anew from what the runs have left so far.
int study_report_command(const std::string& folder);
/// Prints one row a run and metric, as CSV.
int study_export_command(const std::string& folder);

/// What follows once the runs have ended: the report, and how they did; the exit code.
int finish_study(const std::string& folder);

}  // namespace surd
