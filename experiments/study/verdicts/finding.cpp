#include "experiments/study/verdicts/finding.hpp"

#include "autograd/base/counted.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace surd {
namespace {

std::string reason(const Finding& finding, std::size_t looks) {
  const HypothesisResult& result = finding.result;
  if (!finding.obstacle.empty()) {
    const std::string so_far = finding.observed.empty() ? "" : fmt::format("; so far {}", finding.observed);
    return fmt::format("Undecided: {}{}.", finding.obstacle, so_far);
  }
  std::string p;
  if (result.p) {
    std::size_t seeds = 0;
    for (const Check& check : result.checks) seeds = std::max(seeds, check.seeds.size());
    const bool smallest = *result.p <= statistics::smallest_p(seeds);
    p = fmt::format(", p = {} ({}{} after Holm{})", short_number(*result.p),
                    smallest ? finding.unanimous + ", the smallest there is; " : "", short_number(*result.p_holm),
                    looks == 1 ? "" : fmt::format(" and for {} looks", looks));
  }
  std::string words;
  switch (result.verdict) {
    case Verdict::supported: words = fmt::format("as expected ({})", finding.expected); break;
    case Verdict::refuted: words = fmt::format("against what was expected ({})", finding.expected); break;
    case Verdict::undecided:
      words = fmt::format("which does not decide whether it is {}", finding.expected);
      if (result.p && *result.p <= statistics::significance && *result.p_holm > statistics::significance)
        words += ": p is small enough alone, and not once it is corrected; more seeds could decide";
      break;
  }
  return fmt::format("{}{}, {}, {}.", finding.observed, p, finding.context, words);
}

}  // namespace

Side::Side(const Study& study, const Hypothesis& hypothesis, Selector names, const Selector& more)
    : selector(std::move(names)), regime(hypothesis.regime) {
  for (const auto& [axis, level] : more) selector[axis] = level;
  if (const auto named = selector.find("regime"); named != selector.end()) {
    expect(named->second == "shared" || named->second == "tuned", "hypothesis",
           "'{}': regime is shared or tuned; got '{}'", hypothesis.name, named->second);
    regime = named->second == "tuned" ? Regime::tuned : Regime::shared;
  }
  arms = study.select(selector);
}

std::vector<std::pair<std::size_t, std::size_t>> pairs_of(const Study& study, const Side& arm, const Side& against) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const std::size_t a : arm.arms) {
    for (const std::size_t b : against.arms) {
      bool match = true;
      for (std::size_t i = 0; i < study.axes.size(); ++i) {
        const std::string& axis = study.axes[i].name;
        const bool compared = arm.selector.count(axis) > 0 && against.selector.count(axis) > 0;
        match = match && (compared || study.arms[a].levels[i] == study.arms[b].levels[i]);
      }
      if (match) pairs.emplace_back(a, b);
    }
  }
  return pairs;
}

void Finding::judge(const Evidence& evidence) {
  result.p = evidence.p();
  result.verdict = evidence.speaks_for() ? Verdict::supported : Verdict::refuted;
}

Check check_of(std::string label, ComparedBy by, std::vector<std::uint64_t> seeds,
               const std::vector<MetricValue>& on_scale) {
  Check check;
  check.label = std::move(label);
  check.compared_by = by;
  check.effect = estimate_of(by, on_scale);
  check.seeds = std::move(seeds);
  for (const MetricValue& value : on_scale) check.values.push_back(from_scale(by, value));
  return check;
}

Verdict verdict_of(const Evidence& evidence) {
  if (evidence.p() > statistics::significance) return Verdict::undecided;
  return evidence.speaks_for() ? Verdict::supported : Verdict::refuted;
}

std::string text_of(const MetricValue& value, const std::function<std::string(double)>& number, const char* unknown) {
  if (value.known()) return number(value.low);
  const bool low = std::isfinite(value.low), high = std::isfinite(value.high);
  if (low && high) return fmt::format("{} to {}", number(value.low), number(value.high));
  return low ? "≥ " + number(value.low) : high ? "≤ " + number(value.high) : unknown;
}

std::string text_of(const Estimate& estimate, const std::string& unit) {
  const auto& [low, high] = estimate.interval;
  const bool known = !std::isnan(estimate.value.nearest());
  std::string number = text_of(estimate.value) + (unit.empty() || !known ? "" : " " + unit);
  if (!std::isfinite(low) && !std::isfinite(high)) return number;
  return fmt::format("{} [{}, {}]", number, short_number(low), short_number(high));
}

std::string text_of(const Selector& selector, const char* all) {
  std::vector<std::string> words;
  for (const auto& [axis, level] : selector) words.push_back(fmt::format("{}={}", axis, level));
  return words.empty() ? all : fmt::format("{}", fmt::join(words, ", "));
}

std::string context_of(const StudyValues& values, std::size_t seeds, const std::set<Regime>& regimes,
                       const Tally& tally) {
  std::string text = counted(seeds, "seed");
  if (regimes.count(Regime::shared) > 0) text += ", nothing tuned";
  if (regimes.count(Regime::tuned) > 0 && values.study().tuning) {
    const Tuning& tuning = *values.study().tuning;
    std::vector<std::string> keys;
    for (const TuningAxis& axis : tuning.axes) keys.push_back(axis.key);
    std::size_t at_edge = 0;
    for (const Tuned& tuned : values.tuned()) at_edge += tuned.at_edge;
    text += fmt::format("{}{} tuned for each arm on {}", regimes.size() > 1 ? " beside " : ", ",
                        fmt::join(keys, " and "), counted(tuning.seeds.size(), "other seed"));
    if (at_edge > 0)
      text += fmt::format(" (best at the edge of the grid for {} of {} arms)", at_edge, values.tuned().size());
  }
  for (const std::string& told : {tally.censored(), tally.within_twice_warmup(), tally.diverged()})
    if (!told.empty()) text += ", " + told;
  return text;
}

std::string obstacle_of(std::size_t seeds, const Tally& tally) {
  std::string text;
  if (seeds < statistics::fewest_seeds)
    text = fmt::format("{} seeds are needed and there {} {}: the smallest p that {} can give a comparison is {}",
                       statistics::fewest_seeds, seeds == 1 ? "is" : "are", seeds, seeds == 1 ? "it" : "these",
                       short_number(statistics::smallest_p(seeds)));
  if (!tally.complete()) text += fmt::format("{}{}", text.empty() ? "" : "; ", tally.gaps());
  return text;
}

Verdict all_of(const std::set<Verdict>& verdicts) {
  if (verdicts.count(Verdict::refuted) > 0) return Verdict::refuted;
  return verdicts == std::set{Verdict::supported} ? Verdict::supported : Verdict::undecided;
}

Verdict all_of(const std::vector<Check>& checks) {
  std::set<Verdict> verdicts;
  for (const Check& check : checks) verdicts.insert(check.verdict);
  return all_of(verdicts);
}

std::string one_sided(const Check& check) {
  const Region region = check.region.value_or(Region());
  const bool low = region.low > -statistics::infinity, high = region.high < statistics::infinity;
  if (low == high) return "";
  return low ? "at least " + short_number(region.low) : "at most " + short_number(region.high);
}

std::string held_in(const std::vector<Check>& checks) {
  const auto held = std::count_if(checks.begin(), checks.end(),
                                  [](const Check& check) { return check.verdict == Verdict::supported; });
  return fmt::format("holds in {} of {} cases", held, checks.size());
}

const Check& least_as_expected(const std::vector<Check>& checks) {
  const auto rank = [](const Check& check) {
    const int kind = check.verdict == Verdict::refuted ? 2 : check.verdict == Verdict::undecided ? 1 : 0;
    const double value = check.effect.value.nearest();
    if (!check.region || std::isnan(value)) return std::pair(kind, -statistics::infinity);
    const double out = std::max(check.region->low - value, value - check.region->high);
    return std::pair(kind, check.tolerance.value_or(0) > 0 ? out / *check.tolerance : out);
  };
  return *std::max_element(checks.begin(), checks.end(),
                           [&](const Check& a, const Check& b) { return rank(a) < rank(b); });
}

std::string observation_of(const std::string& what, const std::vector<Check>& checks, const std::string& unit) {
  const Check& worst = least_as_expected(checks);
  if (worst.values.empty()) return "";
  const std::string number = text_of(worst.effect, unit);
  const std::string bound = one_sided(worst);
  const std::string target =
      worst.expected ? fmt::format(" for {}", bound.empty() ? short_number(*worst.expected) : bound) : "";
  if (checks.size() == 1) return fmt::format("{} of {} is {}{}", what, worst.label, number, target);
  return fmt::format("{} {}; {} {} is {}{}", what, held_in(checks),
                     worst.verdict == Verdict::supported ? "the nearest to failing," : "in", worst.label, number,
                     target);
}

std::string short_number(double value) {
  if (std::isinf(value)) return value > 0 ? "∞" : "-∞";
  if (std::fabs(value) >= 1000 && std::fabs(value) < 1e9) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::vector<HypothesisResult> conclude(std::vector<Finding> findings, std::size_t looks) {
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
      const double p_holm = std::min(1.0, static_cast<double>(looks) * adjusted[next++]);
      if (result.p) {
        result.p_holm = p_holm;
        if (p_holm > statistics::significance) result.verdict = Verdict::undecided;
      }
    }
    if (!finding.obstacle.empty()) result.verdict = Verdict::undecided;
    if (result.verdict == Verdict::undecided && (finding.tested || !finding.obstacle.empty()))
      for (Check& check : result.checks) check.verdict = Verdict::undecided;
    if (finding.observe) finding.observed = finding.observe(result.checks);
    result.reason = reason(finding, looks);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace surd
