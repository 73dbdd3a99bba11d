#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace surd {

/// A question that several studies answer together: a file with `question` and `studies`, the names of study files that
/// lie beside it. The group's folder holds the folders of the studies, by name, and verdicts.json, report.md and
/// report.html over all of them.
struct StudyGroup {
  std::string question;
  std::vector<std::filesystem::path> studies;
};

/// The files of a folder that hold a study or a group of studies: their names without ".yaml", in order.
std::vector<std::string> study_names(const std::filesystem::path& folder);
/// Whether a file describes a group of studies, and not a single study.
bool is_study_group(const std::string& file);
/// Throws ConfigError with every problem.
StudyGroup load_study_group(const std::string& file);

}  // namespace surd
