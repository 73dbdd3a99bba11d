#include "experiments/study/verdicts/finding.hpp"

#include <cmath>

namespace surd {
namespace {

std::string reason(const Finding& finding) {
  const HypothesisResult& result = finding.result;
  if (!finding.obstacle.empty()) {
    const std::string so_far = finding.observed.empty() ? "" : fmt::format("; so far {}", finding.observed);
    return fmt::format("Undecided: {}{}.", finding.obstacle, so_far);
  }
  std::string p;
  if (result.p) p = fmt::format(", p = {} ({} after Holm)", short_number(*result.p), short_number(*result.p_holm));
  std::string words;
  switch (result.verdict) {
    case Verdict::supported: words = fmt::format("as expected ({})", finding.expected); break;
    case Verdict::refuted: words = fmt::format("against what was expected ({})", finding.expected); break;
    case Verdict::undecided:
      words = fmt::format("which does not decide whether it is {}", finding.expected);
      if (result.p && *result.p <= significance && *result.p_holm > significance)
        words += ": p is small enough alone, and not among as many tests as this study makes; more seeds could decide";
      break;
  }
  return fmt::format("{}{}, {}, {}.", finding.observed, p, finding.context, words);
}

}  // namespace

std::string short_number(double value) {
  if (std::fabs(value) >= 1000 && std::fabs(value) < 1e9) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::vector<HypothesisResult> conclude(std::vector<Finding> findings) {
  // A test that waits for its runs counts with p = 1, so that no verdict is taken back when they have ended.
  std::vector<double> p;
  for (const Finding& finding : findings)
    if (finding.tested) p.push_back(finding.result.p.value_or(1));
  const std::vector<double> adjusted = statistics::holm(p);
  std::vector<HypothesisResult> results;
  std::size_t next = 0;
  for (Finding& finding : findings) {
    HypothesisResult& result = finding.result;
    if (finding.tested) {
      const double p_holm = adjusted[next++];
      if (result.p) {
        result.p_holm = p_holm;
        if (p_holm > significance) result.verdict = Verdict::undecided;
      }
    }
    if (!finding.obstacle.empty()) result.verdict = Verdict::undecided;
    if (result.verdict == Verdict::undecided && (finding.tested || !finding.obstacle.empty()))
      for (Check& check : result.checks) check.verdict = Verdict::undecided;
    result.reason = reason(finding);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace surd
