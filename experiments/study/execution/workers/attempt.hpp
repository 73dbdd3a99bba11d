#pragma once

#include "experiments/study/execution/study_folder.hpp"

#include <cstddef>
#include <string>

namespace surd {

/// One try at a run of a study, in a folder that no other process writes to:
///
///     attempts/ID/NAME            the run folder, as long as the run is being made
///     attempts/ID/NAME.stopped    one that was stopped, and can be gone on with
///     attempts/ID/NAME.failed     one that failed
///
/// The run counts once the folder has got its final name, runs/ID, which of several attempts one gets.
class Attempt {
 public:
  /// Begins one. With checkpoints it goes on from the attempt that came furthest, if there is one. Where that was not
  /// stopped but its worker was not heard of, it takes a copy, because that worker may go on writing. Throws Error.
  Attempt(const StudyFolder& study, std::string id, const std::string& worker, bool with_checkpoints);
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  /// The run folder.
  const std::string& path() const { return path_; }
  std::string log() const { return path_ + "/log.txt"; }

  /// Writes outcome.json after syncing what else the run left, and makes this the run that counts. `reused_from` is the
  /// run folder of another study that it was taken from, if it was. False, and the folder is gone, where another
  /// attempt was faster. Throws Error.
  bool publish(RunResult::Status status, const std::string& message, const RunConfig& config,
               const std::string& reused_from = "");
  /// Keeps it, to be gone on with. Throws Error.
  void stop();
  /// Keeps it as one that failed, and returns how many have failed so far. Throws Error.
  std::size_t fail();
  /// Whether a name in attempts/ID is that of one that failed; it begins with its worker's.
  static bool has_failed(const std::string& name);
  /// Whether it is that of one which this worker is at.
  static bool is_made_by(const std::string& name, const std::string& worker);
  /// Removes what it made.
  void discard() const;
  /// The same, and leaves an empty folder.
  void begin_again() const;

 private:
  bool go_on_from(const std::string& other) const;
  void remove_failed() const;

  const StudyFolder& study_;
  std::string id_;
  std::string path_;
};

}  // namespace surd
