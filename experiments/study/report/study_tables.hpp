#pragma once

#include "experiments/study/execution/study_folder.hpp"

#include <string>
#include <vector>

/// Studies in lines for a terminal of 80 columns.
namespace surd {

/// What a study asks, and of what it is made.
std::vector<std::string> describe(const Study& study);
/// Each failed run and why, two lines or more.
std::vector<std::string> failures(const Study& study, StudyResults& results);
/// How far it is: counts, a table of arms, failures.
std::vector<std::string> status_lines(const Study& study, const StudyFolder& folder, StudyResults& results);

}  // namespace surd
