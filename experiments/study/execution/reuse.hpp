#pragma once

#include "experiments/run/data/fingerprint.hpp"
#include "experiments/run/run_result.hpp"
#include "experiments/study/execution/study_folder.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace surd {

/// The studies in what --reuse names, with absolute paths: the folder of a study, or that of a group, which stands for
/// all that were begun in it. Throws UsageError where it is neither, or is the folder `own` itself.
std::vector<std::string> folders_to_reuse(const std::vector<std::string>& named, const StudyFolder& own);

/// The runs that other studies have made, to be taken instead of being made again. A run is taken where it would be the
/// same to the last bit, as far as anyone can tell:
///   - its config.yaml has the same text;
///   - data.json in its folder tells the data as they are now, so that files that changed are noticed;
///   - summary.json names the same program, compiler, libraries and processor. The program is told by the hash of its
///     file too, because a commit does not tell a modified tree, nor what a program of one's own adds to surd;
///   - it was made in one go, so that all of it was made by what summary.json names;
///   - it finished or diverged, and its logs are those that it ended with.
/// What the folders hold is looked up once, when this is made.
class ReusableRuns {
 public:
  /// Folders that are no longer there hold nothing.
  ReusableRuns(const std::vector<std::string>& folders, bool with_checkpoints);

  struct Source {
    StudyFolder folder;
    std::string id;
    std::string path() const { return folder.run(id); }
  };
  struct Found : Source {
    RunResult outcome;  ///< as read_outcome() reads it
  };
  /// A run of this config that can be taken. A damaged one cannot.
  std::optional<Found> find(const RunConfig& config) const;

  /// Copies the run's files into a folder that is there. False where they cannot be copied, all of them.
  bool copy(const Source& source, const std::string& run) const;

 private:
  bool same_data(const Source& source, const RunConfig& config) const;

  bool with_checkpoints_;
  std::map<std::string, std::vector<Source>> by_config_;     // by the hash of config.yaml
  mutable std::map<std::string, Fingerprint> data_;          // by task and seed
  std::vector<std::pair<std::string, std::string>> system_;  // what a run's summary.json must say
};

/// How many of the runs that are planned so far, and have not ended, can be taken.
std::size_t reusable(const Study& study, const KnownResults& known, const ReusableRuns& runs);

}  // namespace surd
