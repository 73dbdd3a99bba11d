#pragma once

#include "experiments/study/verdicts/estimate.hpp"
#include "experiments/study/verdicts/study_values.hpp"

#include <string>
#include <vector>

namespace surd {

/// What the runs of a pilot let one expect of a comparison: how far its differences scatter from seed to seed, and what
/// the seeds that are planned would find if they scattered as much. Lengths are on the scale of the metric.
struct PilotFinding {
  std::size_t hypothesis = 0;  ///< index in the planned study
  std::string obstacle;        ///< why the pilot says nothing of it; "" where it does
  ComparedBy compared_by = ComparedBy::difference;
  std::size_t pilot_seeds = 0;
  double deviation = 0;  ///< standard deviation of the pilot's differences, that of a sample
  double margin = 0;
  /// Of a hypothesis that two arms differ: the smallest effect that 8 of 10 such studies find.
  std::optional<double> smallest_effect;
  /// Of a hypothesis that they do not: the share of such studies that support it if the true effect is 0, and the
  /// smallest margin for which it is 8 of 10.
  std::optional<double> share_supported, smallest_margin;
};
/// One for each comparison of the planned study that its seeds can decide, by simulation. Each test counts with its p
/// times the number of all tests, which is the most that Holm's method asks for. `known` are the runs of the pilot.
/// Throws UsageError where the pilot has other axes than the study, or lacks its tuning.
std::vector<PilotFinding> expect_from_pilot(const Study& planned, const Study& pilot, const KnownResults& known);

}  // namespace surd
