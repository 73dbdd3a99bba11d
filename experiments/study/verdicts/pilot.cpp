#include "experiments/study/verdicts/pilot.hpp"

#include "experiments/program/usage_error.hpp"
#include "experiments/study/verdicts/comparisons.hpp"
#include "experiments/study/verdicts/decidability.hpp"
#include "experiments/study/verdicts/finding.hpp"
#include "experiments/study/verdicts/power.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace surd {
namespace {

/// "optimizer.learning_rate, train.clip_norm by loss, search: in_turn"
std::string words_of(const Tuning& tuning) {
  std::vector<std::string> keys;
  for (const TuningAxis& axis : tuning.axes) keys.push_back(axis.key);
  return fmt::format("{} by {}, search: {}", fmt::join(keys, ", "), tuning.metric, name_of(tuning.search));
}

void expect_same_arms(const Study& planned, const Study& pilot) {
  const auto arms_of = [](const Study& study) {
    std::vector<std::string> names;
    for (const Arm& arm : study.arms) names.push_back(arm.name);
    return names;
  };
  expect_usage(planned.axis_names() == pilot.axis_names() && arms_of(planned) == arms_of(pilot), "--pilot",
               "has other axes or levels than the study; name the folder of a study that has the same");
  expect_usage(!planned.tuning || pilot.tuning, "--pilot",
               "has no tuning, and the study has one; name the folder of a study that has one too");
  if (!planned.tuning) return;
  const std::string own = words_of(*planned.tuning), its = words_of(*pilot.tuning);
  expect_usage(own == its, "--pilot", "tunes {}, and the study {}; name the folder of a study that is tuned alike", its,
               own);
}

/// Measures the pilot's differences of one comparison; there is an obstacle where they have no deviation.
PilotFinding measure(const StudyValues& pilot, const Hypothesis& hypothesis) {
  PilotFinding finding;
  const Finding examined = hypothesis.statement->examine(pilot, hypothesis);
  std::vector<double> differences;
  bool censored = false;
  for (const Check& check : examined.result.checks) {
    finding.compared_by = check.compared_by;
    for (const MetricValue& value : check.values) {
      const auto on_scale = to_scale(check.compared_by, value);
      censored = censored || !on_scale || !on_scale->known() || !std::isfinite(on_scale->low);
      if (on_scale) differences.push_back(on_scale->low);
    }
  }
  finding.pilot_seeds = differences.size();
  const std::size_t seeds = pilot.seeds(pilot.study().metric(hypothesis.metric)).size();
  if (differences.size() < 2)
    finding.obstacle = fmt::format("a deviation takes two seeds, and the pilot has {}", differences.size());
  else if (censored)
    finding.obstacle = "some of the pilot's values are censored";
  else if (differences.size() < seeds)
    finding.obstacle = fmt::format("{} of the pilot's {} seeds have no such value", seeds - differences.size(), seeds);
  else
    finding.deviation = statistics::standard_deviation(differences);
  return finding;
}

}  // namespace

std::vector<PilotFinding> expect_from_pilot(const Study& planned, const Study& pilot, const KnownResults& known) {
  expect_same_arms(planned, pilot);
  Study asked = pilot;  // its runs are asked what the planned study asks
  asked.metrics = planned.metrics;
  asked.hypotheses = planned.hypotheses;
  if (!planned.tuning) asked.tuning.reset();
  const StudyValues values(asked, known);
  const Decidability decidability = decidability_of(planned);
  constexpr double share = 0.8;
  std::map<std::size_t, SimulatedStudies> by_seeds;
  std::vector<PilotFinding> findings;
  for (std::size_t i = 0; i < planned.hypotheses.size(); ++i) {
    const Hypothesis& hypothesis = asked.hypotheses[i];
    const auto* comparison = dynamic_cast<const Comparison*>(hypothesis.statement.get());
    const Reach& reach = decidability.hypotheses[i];
    if (comparison == nullptr || !reach.decidable) continue;
    PilotFinding finding = measure(values, hypothesis);
    finding.hypothesis = i;
    const Region region = comparison->region(asked, hypothesis);
    finding.margin = std::min(std::fabs(region.low), std::fabs(region.high));
    if (finding.obstacle.empty()) {
      const double error = statistics::significance / static_cast<double>(decidability.tests * planned.looks);
      const SimulatedStudies& studies = by_seeds.try_emplace(reach.seeds, reach.seeds, error).first->second;
      const bool two_ends = std::isfinite(region.low) && std::isfinite(region.high);
      if (two_ends) {
        finding.share_supported = finding.deviation == 0 ? 1 : studies.share_within(finding.margin / finding.deviation);
        finding.smallest_margin = finding.deviation * studies.smallest_margin(share);
      } else {
        finding.smallest_effect = finding.margin + finding.deviation * studies.smallest_effect(share);
      }
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace surd
