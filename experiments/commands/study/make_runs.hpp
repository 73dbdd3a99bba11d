#pragma once

#include "experiments/program/console.hpp"
#include "experiments/study/execution/study_folder.hpp"

namespace surd {

/// Makes all that is left of a study that was begun, on so many processes or as many as there are cores for: prints
/// what there is to do, shows progress, and writes the report. Returns 0 where all runs have ended, be it by
/// divergence, 1 where any failed or is missing, and 128 + the number of a signal that stopped it. `in_group`: whether
/// a group of studies is being run, whose report is written at its end; otherwise that of the group around the study
/// is.
int make_runs(const StudyFolder& folder, const Study& study, std::optional<std::size_t> jobs, bool in_group = false);

/// Writes the report of a study and prints its verdicts, which are told even where the report cannot be written.
/// Returns why it cannot be; "" where it is. Throws Error where a file of a run is damaged.
std::string report_study(const StudyFolder& folder, const Study& study, Console& console);

/// Writes the report of the group of studies that the study's folder lies in, if it lies in one; warns where that
/// cannot be.
void update_group_around(const StudyFolder& folder, Console& console);

}  // namespace surd
