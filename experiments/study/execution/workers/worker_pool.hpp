#pragma once

#include "experiments/program/console.hpp"
#include "experiments/study/execution/study_results.hpp"

namespace surd {

/// How run_workers() ended.
struct PoolEnd {
  StudyCounts counts;
  int stopped_by = 0;  ///< the signal that stopped it, 0 where none did
};

/// Works on a study with `jobs` processes, which die with this one, and shows how far they are. Throws Error.
PoolEnd run_workers(const StudyFolder& folder, const Study& study, std::size_t jobs, Console& console);

/// How long one run takes alone on this machine, roughly, in seconds: building it, a few updates and an evaluation are
/// timed in a process of their own. Nothing where that fails or diverges.
std::optional<double> estimated_seconds(const ConfigFile& file);

}  // namespace surd
