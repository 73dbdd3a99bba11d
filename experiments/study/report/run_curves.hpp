#pragma once

#include "experiments/run/metrics_reader.hpp"

#include <string>
#include <vector>

namespace surd {

/// What a run's curves are drawn from.
struct NamedMetrics {
  std::string name;
  Metrics metrics;
};

/// A page with the learning curves of runs, against updates: losses of training and validation, accuracies, BLEU and
/// chrF2 where they were measured, gradient norms and learning rates; each with its numbers in a table. It needs no
/// other file and no network. Without a chart library, "" or not there, it has tables only. Throws Error where that is
/// there and cannot be read.
std::string curves_page(const std::vector<NamedMetrics>& runs, const std::string& chart_library);

}  // namespace surd
