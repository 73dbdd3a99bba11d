#pragma once

#include "experiments/study/file/study_group.hpp"
#include "experiments/study/verdicts/analysis.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace surd {

/// What a study of a group says of a claim.
struct GroupAnswer {
  std::string study, title;
  ClaimResult claim;
};
/// By the number of the claim.
using GroupAnswers = std::map<std::size_t, std::vector<GroupAnswer>>;

/// Refuted where one study says so, supported where all do.
Verdict together(const std::vector<GroupAnswer>& answers);
/// "Claim 3: The factor balances tokens and positions".
std::string claim_heading(std::size_t claim);

/// Writes group.json into the folder of a group: its question and the names of its studies. Throws Error.
void freeze_group(const StudyGroup& group, const std::string& folder);
/// The group that was begun in a folder, with the names of its studies as files; nothing where none was. Throws Error.
std::optional<StudyGroup> group_in(const std::string& folder);

/// Writes verdicts.json, report.md and report.html into the folder of a group, from the folders of its studies beneath
/// it; those that are not begun are named as such. Throws Error.
GroupAnswers write_group_report(const StudyGroup& group, const std::string& folder);
/// The same for the group that the folder of a study lies in; nothing where it lies in none. Returns why it cannot be
/// written, be it that another study of the group is damaged; "" where it is: the study itself has its own report.
std::string write_report_of_group_around(const std::string& study_folder);

}  // namespace surd
