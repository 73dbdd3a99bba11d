#include "experiments/study/verdicts/groups.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace surd {
namespace {

/// How many different numbers the arms have along an axis whose levels have numbers.
std::size_t numbers_along(const Study& study, const std::string& axis, const std::vector<std::size_t>& arms) {
  std::set<double> numbers;
  for (const std::size_t arm : arms)
    if (const auto level = study.numbers(arm); level.count(axis) > 0) numbers.insert(level.at(axis));
  return numbers.size();
}

/// Says that a group has fewer numbers along an axis than a hypothesis takes; "" where all have enough.
std::string too_few_numbers(const Study& study, const Hypothesis& hypothesis, const std::string& axis,
                            const std::vector<ArmGroup>& groups, std::size_t fewest) {
  for (const ArmGroup& group : groups) {
    const std::size_t numbers = fewest > 0 ? numbers_along(study, axis, group.arms) : fewest;
    if (numbers < fewest)
      return fmt::format("{} {} needs {} numbers of '{}' or more, and arm '{}' has {} to be compared with; {}",
                         hypothesis.kind == "optimum" ? "an" : "a", hypothesis.kind, fewest == 2 ? "two" : "three",
                         axis, shown(study.arms[group.arms.front()].name), numbers == 1 ? "no other" : "one other",
                         numbers == 1 ? fmt::format("let 'arm' leave '{}' free, or name levels of further axes", axis)
                                      : "of two, a difference says as much");
  }
  return "";
}

}  // namespace

std::vector<ArmGroup> groups_along(const Study& study, const std::vector<std::string>& axes,
                                   const std::vector<std::size_t>& arms) {
  std::vector<ArmGroup> groups;
  std::vector<std::size_t> along;
  for (const std::string& axis : axes) along.push_back(study.axis_index(axis));
  std::map<std::vector<std::size_t>, std::size_t> index;
  for (const std::size_t arm : arms) {
    std::vector<std::size_t> others = study.arms[arm].levels;
    for (const std::size_t axis : along) others[axis] = 0;
    const auto [found, fresh] = index.emplace(others, groups.size());
    if (fresh) groups.push_back({text_of(study.levels_beside(arm, along)), {}});
    groups[found->second].arms.push_back(arm);
  }
  return groups;
}

bool check_along(const Study& study, const Hypothesis& hypothesis, const char* key, const std::string& axis,
                 std::size_t fewest_numbers, const Statement::Complain& complain, const std::string& also) {
  const auto refuse = [&](const std::string& message) {
    complain(key, message);
    return false;
  };
  const auto found = std::find_if(study.axes.begin(), study.axes.end(), [&](const Axis& a) { return a.name == axis; });
  if (found == study.axes.end())
    return refuse(fmt::format("there is no axis '{}'{}", shown(axis), not_among(axis, study.axis_names())));
  if (!std::all_of(found->levels.begin(), found->levels.end(), [](const Level& l) { return l.value.has_value(); }))
    return refuse(fmt::format("every level of '{}' must have a value", shown(axis)));
  std::vector<std::string> axes{axis};
  if (!also.empty()) axes.push_back(also);
  const auto groups = groups_along(study, axes, study.select(hypothesis.arm));
  const std::string few = too_few_numbers(study, hypothesis, axis, groups, fewest_numbers);
  return few.empty() || refuse(few);
}

Finding examine_groups(const StudyValues& values, const Hypothesis& hypothesis, const Side& side,
                       const std::vector<ArmGroup>& groups, const GroupNumber& number) {
  const std::vector<std::uint64_t>& all_seeds = values.seeds(values.study().metric(hypothesis.metric));
  Finding finding;
  finding.obstacle = groups.empty()
                         ? "the study has no such arm"
                         : too_few_numbers(values.study(), hypothesis, hypothesis.over, groups, number.fewest_numbers);
  if (!finding.obstacle.empty()) return finding;

  Tally tally(values);
  std::vector<Evidence> evidence;
  for (const ArmGroup& group : groups) {
    std::vector<std::uint64_t> seeds;
    std::vector<MetricValue> numbers;
    for (const std::uint64_t seed : all_seeds) {
      const auto found = number.in_seed(tally, group, seed);
      if (!found) continue;
      seeds.push_back(seed);
      numbers.push_back(*found);
    }
    Check check = check_of(group.label, number.by, std::move(seeds), numbers);
    const GroupTarget target = number.target(group);
    check.expected = target.value;
    check.tolerance = target.tolerance;
    if (target.region) {
      check.region = from_scale(number.by, *target.region);
      evidence.push_back(evidence_of(numbers, *target.region));
      check.verdict = verdict_of(evidence.back());
    }
    finding.result.checks.push_back(std::move(check));
  }
  finding.obstacle = obstacle_of(all_seeds.size(), tally);
  finding.tested = all_seeds.size() >= statistics::fewest_seeds;
  finding.unanimous = "all seeds agree";
  if (finding.obstacle.empty() && evidence.size() == groups.size()) finding.judge(all_of(evidence));
  finding.observe = [what = number.what, unit = number.unit](const auto& checks) {
    return observation_of(what, checks, unit);
  };
  finding.context = "pseudo-median of " + context_of(values, all_seeds.size(), {side.regime}, tally);
  return finding;
}

}  // namespace surd
