#pragma once

#include "experiments/study/execution/study_results.hpp"
#include "experiments/study/report/group_report.hpp"
#include "experiments/study/verdicts/decidability.hpp"
#include "experiments/study/verdicts/pilot.hpp"

#include <string>
#include <vector>

/// Studies in lines for a terminal of 80 columns.
namespace surd {

/// What a study asks, and of what it is made.
std::vector<std::string> describe(const Study& study);
/// Which hypotheses the seeds can decide and which they cannot, and how many seeds would do.
std::vector<std::string> decidability_lines(const Study& study, const Decidability& decidability);
/// The same of those alone that cannot be decided, and no more than a dozen of their names; empty where all can.
std::vector<std::string> undecidable_lines(const Study& study, const Decidability& decidability);
/// What a pilot lets one expect of each comparison.
std::vector<std::string> pilot_lines(const Study& study, const std::vector<PilotFinding>& findings);
/// What speaks against relying on it: few seeds, or those of the study; empty where nothing does.
std::vector<std::string> pilot_doubts(const Study& study, const Study& pilot);
/// Each failed run and why, two lines or more.
std::vector<std::string> failures(const Study& study, StudyResults& results);
/// How far it is: counts, a table of arms, failures.
std::vector<std::string> status_lines(const Study& study, const StudyFolder& folder, StudyResults& results);
/// The answers for a terminal: a line or two a claim and a hypothesis.
std::vector<std::string> answer_lines(const Study& study, const Analysis& analysis);
/// The answers for a terminal: a line a claim.
std::vector<std::string> answer_lines(const StudyGroup& group, const GroupAnswers& answers);

}  // namespace surd
