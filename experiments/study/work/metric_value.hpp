#pragma once

#include "experiments/study/work/plan.hpp"

#include <optional>

namespace surd {

/// The value of a metric for one run; nothing where the run failed or does not record it. Throws Error for a metric of
/// the tuning, which metric_of_tuning() is asked for.
std::optional<MetricValue> metric_value(const Study& study, const MetricSpec& metric, std::size_t arm,
                                        const RunResult& result);

/// The same for one seed of the tuning, from its runs over the learning rates (the first coordinate, where none has the
/// key optimizer.learning_rate): the grid as it was written, without extensions, so that every arm has the same range.
/// Nothing until all of them have ended well or diverged.
std::optional<MetricValue> metric_of_tuning(const Study& study, const MetricSpec& metric, const Tuned& search,
                                            std::uint64_t seed, const KnownResults& known);

}  // namespace surd
