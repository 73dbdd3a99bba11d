#include "experiments/study/execution/makers.hpp"

#include "autograd/base/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace surd {

std::vector<Maker> makers_of(const Study& study, const KnownResults& known) {
  constexpr double seconds_of_an_hour = 3600;
  std::vector<double> replicas;  // by arm
  for (std::size_t arm = 0; arm < study.arms.size(); ++arm)
    replicas.push_back(static_cast<double>(study.config(arm, {}, study.seeds.front()).train.replicas));
  std::vector<Maker> makers;
  for (const PlannedRun& run : plan(study, known)) {
    const RunResult* result = known(run.id(study));
    if (result == nullptr || result->system.empty()) continue;
    auto maker = std::find_if(makers.begin(), makers.end(),
                              [&](const Maker& candidate) { return candidate.system == result->system; });
    if (maker == makers.end()) maker = makers.insert(makers.end(), {result->system});
    ++maker->runs;
    const auto seconds = result->summary.find("wall_seconds");
    if (seconds != result->summary.end()) maker->core_hours += replicas[run.arm] * seconds->second / seconds_of_an_hour;
  }
  return makers;
}

std::vector<std::pair<std::string, std::string>> facts_of(const std::vector<Maker>& makers) {
  std::vector<std::pair<std::string, std::string>> facts;
  if (makers.empty()) return facts;
  std::size_t runs = 0;
  double core_hours = 0;
  for (const Maker& maker : makers) runs += maker.runs, core_hours += maker.core_hours;
  std::map<std::string, std::set<std::string>> values;
  for (const Maker& maker : makers)
    for (const auto& [name, value] : maker.system) values[name].insert(value);
  for (const auto& [name, all] : values) facts.emplace_back(name, fmt::format("{}", fmt::join(all, "; ")));
  if (makers.size() > 1) {  // which machines made what
    for (const Maker& maker : makers) {
      std::vector<std::string> own;
      for (const auto& [name, value] : maker.system)
        if (values[name].size() > 1) own.push_back(fmt::format("{} {}", name, value));
      facts.emplace_back(counted(maker.runs, "run"),
                         fmt::format("{:.2g} core-hours; {}", maker.core_hours, fmt::join(own, ", ")));
    }
  }
  facts.emplace_back("runs", std::to_string(runs));
  facts.emplace_back("core-hours", fmt::format("{:.2g}", core_hours));
  return facts;
}

}  // namespace surd
