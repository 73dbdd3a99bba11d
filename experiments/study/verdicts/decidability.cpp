#include "experiments/study/verdicts/decidability.hpp"

#include "experiments/study/verdicts/finding.hpp"

#include <algorithm>

namespace surd {
namespace {

Reach seeds_of(const Study& study, const Hypothesis& hypothesis) {
  Reach reach;
  reach.seeds = study.seeds.size();
  for (const MetricSpec& metric : study.metrics)
    if (metric.name == hypothesis.metric && metric.metric->of_tuning() && study.tuning) {
      reach.seeds = study.tuning->seeds.size();
      reach.of_tuning = true;
    }
  return reach;
}

/// What each hypothesis could come to if its seeds were at least as many as this.
Decidability with_seeds(const Study& study, std::size_t at_least) {
  Decidability result;
  std::vector<double> p;
  for (const Hypothesis& hypothesis : study.hypotheses) {
    Reach reach = seeds_of(study, hypothesis);
    reach.seeds = std::max(reach.seeds, at_least);
    reach.decidable = reach.seeds >= statistics::fewest_seeds;
    reach.tested = hypothesis.statement->tested() && reach.decidable;
    if (reach.tested) {
      reach.p = statistics::smallest_p(reach.seeds);
      p.push_back(reach.p);
    }
    result.hypotheses.push_back(reach);
  }
  result.tests = p.size();
  const std::vector<double> adjusted = statistics::holm(p);
  std::size_t next = 0;
  for (Reach& reach : result.hypotheses) {
    if (!reach.tested) continue;
    reach.p_holm = std::min(1.0, static_cast<double>(study.looks) * adjusted[next++]);
    reach.decidable = reach.p_holm <= statistics::significance;
  }
  return result;
}

}  // namespace

std::size_t Decidability::undecidable() const {
  return static_cast<std::size_t>(
      std::count_if(hypotheses.begin(), hypotheses.end(), [](const Reach& reach) { return !reach.decidable; }));
}

Decidability decidability_of(const Study& study) {
  Decidability result = with_seeds(study, 0);
  if (result.undecidable() == 0) return result;
  result.seeds_for_all = statistics::fewest_seeds;
  while (with_seeds(study, result.seeds_for_all).undecidable() > 0) ++result.seeds_for_all;
  return result;
}

}  // namespace surd
