#include "experiments/study/file/hypothesis.hpp"

#include "experiments/study/file/study.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace surd {
namespace {

std::set<std::string> axes_of(const Selector& selector) {
  std::set<std::string> axes;
  for (const auto& [axis, level] : selector)
    if (axis != "regime") axes.insert(axis);
  return axes;
}

/// The levels of an arm along the axes that are not named.
std::vector<std::size_t> levels_along_others(const Study& study, std::size_t arm, const std::set<std::string>& named) {
  std::vector<std::size_t> levels = study.arms[arm].levels;
  for (const std::string& axis : named) levels[study.axis_index(axis)] = 0;
  return levels;
}

/// The name of an arm that `one` selects and to which `other`, which names the same axes, has no counterpart; "" where
/// every arm has one, or where they name different axes.
std::string unpaired(const Study& study, const Selector& one, const Selector& other) {
  const std::set<std::string> named = axes_of(one);
  if (named != axes_of(other)) return "";
  std::set<std::vector<std::size_t>> counterparts;
  for (const std::size_t arm : study.select(other)) counterparts.insert(levels_along_others(study, arm, named));
  for (const std::size_t arm : study.select(one))
    if (counterparts.count(levels_along_others(study, arm, named)) == 0) return study.arms[arm].name;
  return "";
}

/// Whether two arms agree along all axes that are not named on both sides.
bool any_pair(const Study& study, const Selector& one, const Selector& other) {
  std::set<std::string> both, named = axes_of(other);
  for (const std::string& axis : axes_of(one))
    if (named.count(axis) > 0) both.insert(axis);
  std::set<std::vector<std::size_t>> counterparts;
  for (const std::size_t arm : study.select(other)) counterparts.insert(levels_along_others(study, arm, both));
  const auto arms = study.select(one);
  return std::any_of(arms.begin(), arms.end(),
                     [&](std::size_t arm) { return counterparts.count(levels_along_others(study, arm, both)) > 0; });
}

/// Complains about what only a study that leaves out combinations can have: sides without arms, and arms without a
/// counterpart on another side, over which the means of the sides would not be taken alike.
void check_counterparts(const Study& study, const Hypothesis& hypothesis, const Statement::Complain& complain) {
  struct Compared {
    const char* key;
    Selector selector;
  };
  const bool two = hypothesis.under.empty() && hypothesis.versus.empty();
  std::vector<Compared> sides = {{two ? "arm" : "under", narrowed(hypothesis.arm, hypothesis.under)},
                                 {two ? "against" : "under", narrowed(hypothesis.against, hypothesis.under)}};
  if (!two) {
    sides.push_back({"versus", narrowed(hypothesis.arm, hypothesis.versus)});
    sides.push_back({"versus", narrowed(hypothesis.against, hypothesis.versus)});
  }
  for (const Compared& side : sides)
    if (study.select(side.selector).empty())
      return complain(side.key, "selects no arm: 'without' leaves out every one; name other levels");
  for (std::size_t i = 0; i + 1 < sides.size(); i += 2)
    if (!any_pair(study, sides[i].selector, sides[i + 1].selector))
      return complain(sides[i + 1].key,
                      "selects no arm to be paired with one of 'arm': 'without' leaves them out; name "
                      "the same axes in both");
  for (const Compared& side : sides) {
    for (const Compared& other : sides) {
      const std::string arm = unpaired(study, side.selector, other.selector);
      if (!arm.empty())
        return complain(other.key, fmt::format("has no counterpart of arm '{}', because 'without' leaves it out; name "
                                               "levels of further axes that every side has",
                                               shown(arm)));
    }
  }
}

}  // namespace

std::vector<std::string> names_of(Regime) { return {"shared", "tuned"}; }

Selector WrittenSelector::levels() const {
  Selector selector;
  if (node)
    for (const YamlNode& child : node->children) selector[child.key] = child.text;
  return selector;
}

HypothesisTerms StatementOptions::terms() const {
  return {metric, regime, arm.levels(), against.levels(), under.levels(), versus.levels(), expect.text(),
          margin, over,   along,        formula,          tolerance,      relative};
}

std::string Statement::quantity(const Hypothesis& hypothesis) const { return hypothesis.metric; }

void Statement::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  const std::vector<std::string> names = study.metric_names();
  if (hypothesis.metric.empty())
    complain("metric", "is required" + not_among("", names));
  else if (!includes(names, hypothesis.metric))
    complain("metric",
             fmt::format("there is no metric '{}'{}", shown(hypothesis.metric), not_among(hypothesis.metric, names)));
}

Selector narrowed(Selector selector, const Selector& more) {
  for (const auto& [axis, level] : more) selector[axis] = level;
  return selector;
}

void check_sides(const Study& study, const Hypothesis& hypothesis, const Statement::Complain& complain) {
  const auto arms = study.select(hypothesis.arm), others = study.select(hypothesis.against);
  if (hypothesis.arm == hypothesis.against)
    return complain("against", "is the same as 'arm'; name the levels in which they differ");
  if (!study.arms.empty()) check_counterparts(study, hypothesis, complain);
  if (axes_of(hypothesis.arm) != axes_of(hypothesis.against) && arms.size() != others.size() && others.size() != 1)
    complain("against", fmt::format("selects {} arms and 'arm' {}; name the same axes in both, or a single arm here",
                                    others.size(), arms.size()));
  const auto regime = [&](const Selector& selector) {
    const auto found = selector.find("regime");
    return found == selector.end() ? name_of(hypothesis.regime) : found->second;
  };
  const bool shares = std::any_of(arms.begin(), arms.end(), [&](std::size_t arm) {
    return std::find(others.begin(), others.end(), arm) != others.end();
  });
  if (shares && regime(hypothesis.arm) == regime(hypothesis.against))
    complain("against",
             "selects an arm that 'arm' selects too; name the level of the axis in which they differ in both");
}

}  // namespace surd
