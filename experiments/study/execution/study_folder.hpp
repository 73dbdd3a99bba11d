#pragma once

#include "experiments/study/execution/plan.hpp"
#include "experiments/study/file/read_study.hpp"
#include "train/storage/files.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace surd {

/// The folder of a study:
///
///     study.yaml          the study as it was when it was begun
///     base/               copies of the files that its base config extends: 1.yaml, 2.yaml, ...
///     study.json          where it came from, --set, --quick, --reuse; written last, so that it makes the folder a
///                         study's
///     runs/ID/            a run folder; log.txt, what it printed; outcome.json, written last: how it ended
///     runs/ID.claim       held (flock) by the worker that is at this run
///
/// Any number of workers may work on a study at the same time. A run counts once its outcome.json is there. When a
/// worker takes a run that was begun and has none, it removes what is in the run's folder, or, where the study keeps
/// checkpoints, resumes the run.
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
              const std::vector<std::string>& reuse = {}) const;
  /// The study as it was frozen, with the seeds that it was extended by. Throws UsageError where none was begun here.
  Study study() const;
  /// Adds so many seeds to the study, for another look at its verdicts. Workers that are at it go on with those they
  /// know. Throws UsageError where its looks are used up.
  void extend(std::size_t seeds) const;
  bool keep_checkpoints() const;
  /// The folders of the studies whose runs it may take, as they were named by --reuse, with absolute paths.
  std::vector<std::string> reuse() const;
  /// Adds to them those that are not among them. Throws Error.
  void add_reuse(const std::vector<std::string>& folders) const;
  /// What differs between the frozen study and another, a line each; "" where nothing does.
  std::string difference(const Study& other, const StudySource& source) const;

  std::string runs() const { return path_ + "/runs"; }
  std::string run(const std::string& id) const { return runs() + "/" + id; }
  std::string outcome(const std::string& id) const { return run(id) + "/outcome.json"; }
  std::string log(const std::string& id) const { return run(id) + "/log.txt"; }
  std::string claim_file(const std::string& id) const { return run(id) + ".claim"; }

  bool ended(const std::string& id) const;
  /// Keeps every other worker from this run until the result is destroyed, or this process and its children end. Null
  /// where another worker has the run, or where it has ended.
  std::unique_ptr<File> claim(const std::string& id) const;
  /// Whether a worker is making this run.
  bool claimed(const std::string& id) const;
  /// Writes outcome.json, after syncing what else the run left: once it is there, the run counts. `reused_from` is the
  /// run folder of another study that it was taken from, if it was. Throws Error.
  void end(const std::string& id, RunResult::Status status, const std::string& message, const RunConfig& config,
           const std::string& reused_from = "") const;
  /// Whether the logs of a run that has ended are those that it ended with. Throws Error where outcome.json is damaged.
  bool logs_unchanged(const std::string& id) const;
  /// How a run has ended: what its outcome.json says, and no more. Throws Error where that is damaged.
  RunResult read_outcome(const std::string& id) const;

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

/// What the runs in a folder have left so far. Each is read once, when it is first asked for.
class StudyResults {
 public:
  enum class Parts { metrics, all };  ///< whether probe.jsonl is read too, which may be large
  explicit StudyResults(StudyFolder folder, Parts parts = Parts::all) : folder_(std::move(folder)), parts_(parts) {}

  /// Null where the run has not ended. Throws Error for a damaged file.
  const RunResult* find(const std::string& id);
  /// find() in the form that plan() and analyse() take. This object must outlive what is returned.
  KnownResults known() {
    return [this](const std::string& id) { return find(id); };
  }

 private:
  StudyFolder folder_;
  Parts parts_;
  std::map<std::string, RunResult> results_;
};

/// How many runs are planned so far, and how many of them have ended in which way or are being made.
struct StudyCounts {
  std::size_t planned = 0, finished = 0, diverged = 0, failed = 0, running = 0;
  std::size_t reused = 0;  ///< of those that have ended: taken from another study
  std::size_t ended() const { return finished + diverged + failed; }
};
StudyCounts count(const Study& study, const StudyFolder& folder, StudyResults& results);

}  // namespace surd
