#pragma once

#include "experiments/study/report/charts/study_runs.hpp"

#include <string>

namespace surd::report {

/// What a badge shows of a verdict beside its name.
std::string sign(Verdict verdict);
/// What was measured and how, in one line: effect, interval, seeds, tuning, p.
std::string evidence(const StudyRuns& runs, const HypothesisResult& result);
/// Each hypothesis with its checks, for the page's template.
Json hypotheses(const StudyRuns& runs);
/// Each claim with those of the hypotheses that bear on it, likewise.
Json claims(const StudyRuns& runs, const Json& hypotheses);

Table arm_table(const StudyRuns& runs);
/// The keys that tell the arms apart; no rows where none sets any.
Table settings_table(const Study& study);
/// Every run that did not finish, or has not ended.
Table unfinished_table(const StudyRuns& runs);
/// The runs that the curves are made of, for whoever makes them again from the folder: id, arm, panel, series, regime.
Json run_index(const StudyRuns& runs);

}  // namespace surd::report
