#pragma once

#include "experiments/run/data/fingerprint.hpp"
#include "experiments/study/execution/plan.hpp"
#include "experiments/study/file/read_study.hpp"

#include <string>
#include <unordered_set>
#include <vector>

namespace surd {

/// The folder of a study:
///
///     study.yaml          the study as it was when it was begun
///     base/               copies of the files that its base config extends: 1.yaml, 2.yaml, ...
///     study.json          where it came from, --set, --quick, --reuse; written last, so that it makes the folder a
///                         study's
///     runs/ID/            a run that has ended: a run folder with log.txt, what it printed, and outcome.json, how it
///                         ended
///     attempts/, leases/, workers/    runs that are being made, and by whom; see Attempt and Leases
///
/// Any number of workers may work on a study at the same time, on any machines that share the folder. A run counts once
/// its folder is there: it gets its name when all is written, and is never changed or removed after that.
class StudyFolder {
 public:
  explicit StudyFolder(std::string folder) : path_(std::move(folder)) {}

  const std::string& path() const { return path_; }
  /// Whether a study was begun in it.
  bool begun() const;
  /// Whether it holds at most what a freeze() that was killed leaves, so that nothing is lost by beginning again.
  bool only_prepared() const;
  /// Writes what the study is made from, and the studies whose runs it may take. Throws Error.
  void freeze(const StudySource& source, const Study& study, bool keep_checkpoints,
              const std::vector<std::string>& reuse = {}, std::size_t retries = default_retries) const;
  static constexpr std::size_t default_retries = 2;
  /// The study as it was frozen, with the seeds that it was extended by. Throws UsageError where none was begun here.
  Study study() const;
  /// Adds so many seeds to the study, for another look at its verdicts. Workers that are at it go on with those they
  /// know. Throws UsageError where its looks are used up.
  void extend(std::size_t seeds) const;
  bool keep_checkpoints() const;
  /// How often a run that failed is tried again, unless its config was what was wrong.
  std::size_t retries() const;
  /// The folders of the studies whose runs it may take, as they were named by --reuse, with absolute paths.
  std::vector<std::string> reuse() const;
  /// Adds to them those that are not among them. Throws Error.
  void add_reuse(const std::vector<std::string>& folders) const;
  /// What differs between the frozen study and another, a line each; "" where nothing does.
  std::string difference(const Study& other, const StudySource& source) const;

  std::string runs() const { return path_ + "/runs"; }
  std::string run(const std::string& id) const { return runs() + "/" + id; }
  std::string outcome(const std::string& id) const { return run(id) + "/outcome.json"; }
  /// What the first run of each task that reads files was made with.
  std::string data() const { return path_ + "/data"; }
  /// Of those files, a fingerprint a task. Throws Error where one is damaged.
  std::vector<Fingerprint> data_read() const;
  std::string attempts(const std::string& id) const { return path_ + "/attempts/" + id; }

  bool ended(const std::string& id) const;
  /// The ids of all runs that have ended, found by listing folders and not by asking for each run.
  std::unordered_set<std::string> ended() const;
  /// Moves what surd 0.1.0 left of runs that it did not end to where attempts are, so that they can be gone on with.
  /// Throws Error where one of its workers is still at a run.
  void upgrade() const;
  /// Removes what is of no use once all runs have ended: remains of attempts and leases.
  void tidy() const;
  /// Lets runs that failed be made again, and returns how many these are. Throws Error.
  std::size_t retry_failed() const;

  /// The study file and settings that the study was begun with, as they were frozen here.
  StudySource source() const;
  /// The seeds that a study was extended by, each time. Throws Error where they are damaged.
  std::vector<std::vector<std::uint64_t>> extensions() const;
  /// The path of that study file itself, so that the study can be begun again elsewhere.
  std::string begun_from() const;
  std::string study_file() const { return path_ + "/study.yaml"; }
  /// What a folder has whose results were published without their runs; see report/publish.hpp.
  std::string published_page() const { return path_ + "/report.json.gz"; }

 private:
  std::string path_;
};

}  // namespace surd
