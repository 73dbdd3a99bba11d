#pragma once

#include "experiments/study/execution/plan.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace surd {

/// What made some of the runs of a study: one program on one kind of machine.
struct Maker {
  std::map<std::string, std::string> system;  ///< of system_info(), as the runs' summaries have it
  std::size_t runs = 0;
  double core_hours = 0;  ///< of their last processes, from before the first update to the end, a core a replica
};

/// Who made the runs that have ended and left a summary, in the order of the plan.
std::vector<Maker> makers_of(const Study& study, const KnownResults& known);

/// The same for a reader: each fact once, and where makers differ all of its values; the runs and their core-hours.
std::vector<std::pair<std::string, std::string>> facts_of(const std::vector<Maker>& makers);

}  // namespace surd
