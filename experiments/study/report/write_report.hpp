#pragma once

#include "experiments/study/execution/study_folder.hpp"
#include "experiments/study/verdicts/analysis.hpp"

namespace surd {

/// Writes verdicts.json, report.html, report.md and runs.csv into a study's folder, from what its runs have left so
/// far. Throws Error where a file of a run is damaged or one of these cannot be written.
Analysis write_report(const StudyFolder& folder, const Study& study);

}  // namespace surd
