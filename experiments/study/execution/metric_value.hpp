#pragma once

#include "experiments/study/execution/plan.hpp"

#include <optional>

namespace surd {

/// The value of a metric for one run; nothing where the run failed or does not record it. Throws Error for a metric of
/// the tuning, which metric_of_tuning() is asked for.
std::optional<MetricValue> metric_value(const Study& study, const MetricSpec& metric, std::size_t arm,
                                        const RunResult& result);

/// The value of a metric of the tuning for one seed, from its runs over the learning rates; after a joint search,
/// from those with the other settings chosen.
/// Unless the metric takes extensions, only the grid as it was written counts, so that every arm has the same range.
/// Nothing until all
/// of these runs have ended, or where one failed.
std::optional<MetricValue> metric_of_tuning(const Study& study, const MetricSpec& metric, const Tuned& search,
                                            std::uint64_t seed, const KnownResults& known);

}  // namespace surd
