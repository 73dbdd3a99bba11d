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
  /// Copies to read in place of the files that the base config extends; where there are none, those files are read.
  std::vector<std::filesystem::path> base_copies;
  /// A study that was begun: what it says of --quick matters no more, nor what its tuning might come to.
  bool begun = false;
};

/// Reads a study and the config of every arm, without settings also as --quick would. Throws ConfigError with every
/// problem of both, each at the line of the study that is to blame.
Study load_study(const StudySource& source);
Study load_study(const std::string& path, const std::vector<std::string>& settings = {}, bool quick = false);

/// Builds, for every arm, what its runs begin with. This shows options that contradict each other or the data. Throws
/// ConfigError. Takes longer than reading, because it makes a corpus and a model for each arm.
void check_experiments(const Study& study);

/// Makes the first update of an arm, and of the others as long as something is missing. Throws ConfigError with each
/// number of the probe that is asked for and that no arm records then.
void check_probes(const Study& study);

}  // namespace surd
