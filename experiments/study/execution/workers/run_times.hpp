#pragma once

#include "experiments/study/execution/study_folder.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace surd {

/// How long runs of each arm took, so that none is begun that will not end in time.
class RunTimes {
 public:
  explicit RunTimes(const StudyFolder& folder) : folder_(folder) {}

  /// Of a run that was not cut short.
  void add(std::size_t arm, double seconds);
  /// The longest of a run of this arm; nothing where none has ended.
  std::optional<double> expected(std::size_t arm) const;
  /// Learns from a run that some worker has ended; a few of each arm are enough.
  void learn(std::size_t arm, const std::string& id);

 private:
  struct Time {
    double longest = 0;
    std::size_t runs = 0;
    void add(double seconds);
  };

  const StudyFolder& folder_;
  std::map<std::size_t, Time> times_;
};

}  // namespace surd
