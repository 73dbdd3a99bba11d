#include "experiments/study/file/hypothesis.hpp"

#include "experiments/study/file/study.hpp"

#include <algorithm>

namespace surd {

std::vector<std::string> names_of(Regime) { return {"shared", "tuned"}; }

Selector WrittenSelector::levels() const {
  Selector selector;
  if (node)
    for (const YamlNode& child : node->children) selector[child.key] = child.text;
  return selector;
}

HypothesisTerms StatementOptions::terms() const {
  return {metric,        regime, arm.levels(), against.levels(), under.levels(), versus.levels(),
          expect.text(), margin, over,         formula,          tolerance,      relative};
}

void Statement::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  const std::vector<std::string> names = study.metric_names();
  if (hypothesis.metric.empty())
    complain("metric", "is required" + not_among("", names));
  else if (!includes(names, hypothesis.metric))
    complain("metric",
             fmt::format("there is no metric '{}'{}", shown(hypothesis.metric), not_among(hypothesis.metric, names)));
}

void check_sides(const Study& study, const Hypothesis& hypothesis, const Statement::Complain& complain) {
  const auto arms = study.select(hypothesis.arm), others = study.select(hypothesis.against);
  if (hypothesis.arm == hypothesis.against)
    return complain("against", "is the same as 'arm'; name the levels in which they differ");
  if (arms.size() != others.size() && others.size() != 1)
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
