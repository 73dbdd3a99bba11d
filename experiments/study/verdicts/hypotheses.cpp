#include "experiments/study/verdicts/hypotheses.hpp"

#include <cmath>
#include <limits>

namespace surd {

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

Check check_of(std::string label, std::vector<std::uint64_t> seeds, std::vector<double> values) {
  Check check;
  check.label = std::move(label);
  check.effect = check.interval.low = check.interval.high = std::numeric_limits<double>::quiet_NaN();
  if (!values.empty()) {
    check.effect = statistics::mean(values);
    check.interval = statistics::bca_interval(values);
  }
  check.seeds = std::move(seeds);
  check.values = std::move(values);
  return check;
}

std::string text_of(const Check& check, const std::string& unit) {
  return fmt::format("{}{}{} [{}, {}]", short_number(check.effect), unit.empty() ? "" : " ", unit,
                     short_number(check.interval.low), short_number(check.interval.high));
}

std::string text_of(const Selector& selector) {
  std::vector<std::string> words;
  for (const auto& [axis, level] : selector) words.push_back(fmt::format("{}={}", axis, level));
  return words.empty() ? "all arms" : fmt::format("{}", fmt::join(words, ", "));
}

std::string context_of(const StudyValues& values, std::size_t seeds, const std::set<Regime>& regimes,
                       const Tally& tally) {
  std::string text = fmt::format("{} seed{}", seeds, seeds == 1 ? "" : "s");
  if (regimes.count(Regime::shared) > 0) text += ", nothing tuned";
  if (regimes.count(Regime::tuned) > 0 && values.study().tuning) {
    const Tuning& tuning = *values.study().tuning;
    std::vector<std::string> keys;
    for (const TuningAxis& axis : tuning.axes) keys.push_back(axis.key);
    std::size_t at_edge = 0;
    for (const Tuned& tuned : values.tuned()) at_edge += tuned.at_edge;
    text += fmt::format("{}{} tuned for each arm on {} other seed{}", regimes.size() > 1 ? " beside " : ", ",
                        fmt::join(keys, " and "), tuning.seeds.size(), tuning.seeds.size() == 1 ? "" : "s");
    if (at_edge > 0)
      text += fmt::format(" (best at the edge of the grid for {} of {} arms)", at_edge, values.tuned().size());
  }
  if (const std::string censored = tally.censored(); !censored.empty()) text += ", " + censored;
  return text;
}

std::string obstacle_of(std::size_t seeds, const Tally& tally) {
  std::string text;
  if (seeds < fewest_seeds)
    text = fmt::format("{} seeds are needed and there {} {}: the smallest p that {} can give a comparison is {}",
                       fewest_seeds, seeds == 1 ? "is" : "are", seeds, seeds == 1 ? "it" : "these",
                       short_number(2 / std::pow(2.0, static_cast<double>(seeds))));
  if (!tally.complete()) text += fmt::format("{}{}", text.empty() ? "" : "; ", tally.gaps());
  return text;
}

Finding examine(const StudyValues& values, std::size_t index) {
  using Kind = Hypothesis::Kind;
  const Hypothesis& hypothesis = values.study().hypotheses.at(index);
  const bool has_p = hypothesis.kind == Kind::difference || hypothesis.kind == Kind::equivalence ||
                     hypothesis.kind == Kind::interaction;
  Finding finding = has_p ? examine_test(values, hypothesis) : examine_checks(values, hypothesis);
  finding.result.hypothesis = index;
  return finding;
}

}  // namespace surd
