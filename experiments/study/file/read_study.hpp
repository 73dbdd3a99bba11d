#pragma once

#include "experiments/study/file/study.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace surd {

/// Where a study is read from.
struct StudySource {
  std::filesystem::path file;
  std::vector<std::string> settings;  ///< "a.b.c=value" over the base config
  bool quick = false;
  /// Read in place of the files that the base config extends; empty: those themselves.
  std::vector<std::filesystem::path> base_copies;
};

/// Reads a study and the config of every arm. Throws ConfigError with every problem of both, each at the line of the
/// study that is to blame.
Study load_study(const StudySource& source);
Study load_study(const std::string& path, const std::vector<std::string>& settings = {}, bool quick = false);

/// Builds what the runs of every arm begin with, which shows contradictions between options, or with the data. Throws
/// ConfigError. Takes longer than reading: a corpus and a model an arm.
void check_experiments(const Study& study);

}  // namespace surd
