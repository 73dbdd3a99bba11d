#pragma once

#include "experiments/study/report/study_runs.hpp"

#include <string>

namespace surd::report {

/// "supported", as a badge that does not say it by colour alone.
std::string badge(Verdict verdict);
/// What was measured and how, in one line: effect, interval, seeds, tuning, p.
std::string evidence(const StudyRuns& runs, const HypothesisResult& result);
/// A card for each claim: HTML.
std::string claim_cards(const StudyRuns& runs);
/// A section for each hypothesis with its checks: HTML.
std::string hypothesis_details(const StudyRuns& runs);

Table arm_table(const StudyRuns& runs);
/// Every run that did not finish, or has not ended.
Table unfinished_table(const StudyRuns& runs);
/// The runs that the curves are made of, for whoever makes them again from the folder: id, arm, panel, series, regime.
Json run_index(const StudyRuns& runs);

}  // namespace surd::report
