#pragma once

#include "experiments/study/execution/study_folder.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

/// Results without the runs they come from, small enough for a repository:
///
///     verdicts.json     as a study's folder has it: verdicts, effects, arms, and what made the runs
///     report.md         the same to be read
///     runs.csv.gz       a row a run and metric
///     report.json.gz    all that report.html shows, from which `surd study report` writes that page
namespace surd {

/// Writes the results of a study into a folder, over those that are there of a study of the same title. Throws
/// UsageError where they are not to be believed: where runs are missing or failed, or the study was cut down (--quick);
/// and where the folder holds something else; Error where a file cannot be written.
void publish(const StudyFolder& folder, const Study& study, const std::string& to);

/// Whether a folder holds published results, and no study.
bool is_published(const std::string& folder);
/// All that report.html shows of published results; see report_page(). Throws Error where they are damaged.
nlohmann::ordered_json read_published(const std::string& folder);
/// The answer of such a page in lines: a sentence, and one for each hypothesis. Throws Error, naming the folder, where
/// it is damaged.
std::vector<std::string> lines_of_published(const nlohmann::ordered_json& page, const std::string& folder);
/// Writes report.html into a folder of published results. Returns the answer in lines: a sentence, and one for each
/// hypothesis. Throws Error where they are damaged.
std::vector<std::string> write_published_report(const std::string& folder);

}  // namespace surd
