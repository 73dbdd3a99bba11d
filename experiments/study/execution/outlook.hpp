#pragma once

#include "experiments/study/execution/study_results.hpp"

#include <optional>
#include <string>
#include <vector>

namespace surd {

/// How long a run of a study takes alone on this machine, by estimated_seconds() of a few arms that are spread over all
/// of them.
struct RunTime {
  double seconds = 0;       ///< of a mean run
  double core_seconds = 0;  ///< the same times the threads that it computes with
  std::size_t arms = 0;     ///< how many were timed
};
/// Nothing where no arm can be timed.
std::optional<RunTime> time_of_a_run(const Study& study);

/// How many workers a study has unless it is told: as many as there are cores for their threads.
std::size_t usual_jobs(const Study& study);

/// How many runs there are to make, besides those that are taken from other studies, and how long that may take with so
/// many workers, in lines for a terminal.
std::vector<std::string> outlook(const Study& study, const StudyCounts& counts, std::size_t jobs,
                                 std::size_t reusable = 0);

}  // namespace surd
