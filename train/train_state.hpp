#pragma once

#include <cstdint>
#include <optional>

namespace surd {

/// Where a run stands after an update; with the parameters and the optimizer's slots, all that is needed to go on.
struct TrainState {
  std::uint64_t update = 0;         ///< updates done
  std::uint64_t epoch = 0;          ///< of the next batch
  std::uint64_t next_batch = 0;     ///< in that epoch
  std::uint64_t target_tokens = 0;  ///< seen so far
  std::optional<double> best;       ///< best value of the metric
  std::uint64_t best_update = 0;
  std::uint64_t evaluations_without_improvement = 0;
  std::uint64_t evaluations_good_enough = 0;  ///< the last so many were at stop_at or past it
  bool finished = false;                      ///< all updates done, or stopped early
};

}  // namespace surd
