#pragma once

#include "experiments/study/execution/study_folder.hpp"
#include "experiments/study/verdicts/analysis.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace surd {

/// The command lines that make a study again, in a folder beside whatever the shell is in, and extend it as it was.
std::vector<std::string> commands_to_repeat(const StudyFolder& folder, const Study& study);

/// All that is written about a study, from what its runs have left so far.
struct StudyReport {
  /// Throws Error where a file of a run is damaged.
  StudyReport(const StudyFolder& folder, const Study& study);

  Analysis analysis;
  std::string verdicts, markdown, csv;  ///< verdicts.json, report.md, runs.csv
  nlohmann::ordered_json page;          ///< of report.html
};

/// Writes verdicts.json, report.html, report.md and runs.csv into a study's folder. Returns why one cannot be written,
/// and the way out; "" where all are.
std::string write_report(StudyReport report, const StudyFolder& folder);

}  // namespace surd
