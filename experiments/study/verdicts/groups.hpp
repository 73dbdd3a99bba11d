#pragma once

#include "experiments/study/verdicts/finding.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Statements about a number that each of several groups of arms has.
namespace surd {

/// The arms that one number is found from: a single one, or those along one axis or more.
struct ArmGroup {
  std::string label;
  std::vector<std::size_t> arms;
};
/// The arms along these axes for every combination of the other axes' levels.
std::vector<ArmGroup> groups_along(const Study& study, const std::vector<std::string>& axes,
                                   const std::vector<std::size_t>& arms);

/// Complains, with the key, where there is no such axis, where not all of its levels have a number, or where a group
/// along it, and along `also` if that is named, has fewer than so many different ones. Returns whether all is well.
bool check_along(const Study& study, const Hypothesis& hypothesis, const char* key, const std::string& axis,
                 std::size_t fewest_numbers, const Statement::Complain& complain, const std::string& also = "");

/// Where the number of a group is expected.
struct GroupTarget {
  std::optional<double> value, tolerance;  ///< of a formula; the tolerance is absolute
  std::optional<Region> region;            ///< on the scale of the number; nothing where that is not known
};

/// How the number of a group is found and where it is expected.
struct GroupNumber {
  std::string what, unit;  ///< in sentences
  ComparedBy by = ComparedBy::difference;
  /// In one seed, on the scale `by`; nothing where a run of the group has none.
  std::function<std::optional<MetricValue>(Tally& tally, const ArmGroup& group, std::uint64_t seed)> in_seed;
  std::function<GroupTarget(const ArmGroup& group)> target;
  std::size_t fewest_numbers = 0;  ///< how many different ones the axis `over` must have in each group
};
/// Makes a check for each group, and judges them together once all regions are known.
Finding examine_groups(const StudyValues& values, const Hypothesis& hypothesis, const Side& side,
                       const std::vector<ArmGroup>& groups, const GroupNumber& number);

}  // namespace surd
