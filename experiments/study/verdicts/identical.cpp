#include "experiments/study/verdicts/identical.hpp"

#include "experiments/run/system_info.hpp"
#include "experiments/study/verdicts/finding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace surd {
namespace {

/// The largest distance of two loss curves; infinite where one has an update, or a number, that the other has not.
double distance(const std::vector<UpdateRecord>& a, const std::vector<UpdateRecord>& b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return infinity;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].update != b[i].update || std::isnan(a[i].loss) != std::isnan(b[i].loss)) return infinity;
    if (!std::isnan(a[i].loss)) largest = std::max(largest, std::fabs(a[i].loss - b[i].loss));
  }
  return largest;
}

/// What decides how the sums of a run are rounded, in a few words.
std::string arithmetic_of(const RunResult& run) {
  std::vector<std::string> words;
  for (const char* fact : facts_of_rounding)
    if (const auto found = run.system.find(fact); found != run.system.end()) words.push_back(found->second);
  return fmt::format("{}", fmt::join(words, " "));
}

/// Why two runs cannot be compared bit for bit; "" where they can.
std::string unlike(const RunResult& one, const RunResult& other, std::uint64_t seed) {
  const std::string a = arithmetic_of(one), b = arithmetic_of(other);
  if (a == b || one.system.empty() || other.system.empty()) return "";
  return fmt::format(
      "the runs with seed {} were made by machines or programs that round differently ({}; {}), so their loss curves "
      "cannot be the same; make both sides on one kind of machine",
      seed, a, b);
}

}  // namespace

void IdenticalOptions::fields(Fields& f) {
  f("regime", regime, "one rate for all arms, or each arm's own best");
  f("arm", arm, "levels by axis, e.g. {task: reverse, rho: '1.41'}; an axis that is not named is free");
  f("against", against, "likewise");
  f("expect", expect, "of the loss curves");
  f("tolerance", tolerance, "how far they may be apart", at_least(0));
}

std::string Identical::words(const Hypothesis& h) const {
  return fmt::format("loss curves of {} and {} are {}, tolerance {}", text_of(h.arm, "every arm"),
                     text_of(h.against, "every arm"), h.expect, short_number(h.tolerance));
}

Finding Identical::examine(const StudyValues& values, const Hypothesis& hypothesis) const {
  expect(hypothesis.expect == "same" || hypothesis.expect == "different", "hypothesis",
         "'{}' expects same or different; got '{}'", hypothesis.name, hypothesis.expect);
  const bool same = hypothesis.expect == "same";
  const Study& study = values.study();
  const Side arm(study, hypothesis, hypothesis.arm), against(study, hypothesis, hypothesis.against);

  Finding finding;
  finding.expected = fmt::format("{} than {} in every seed", same ? "no farther apart" : "farther apart",
                                 short_number(hypothesis.tolerance));
  Tally tally(values);
  for (const auto& [a, b] : pairs_of(study, arm, against)) {
    Check check =
        check_of(fmt::format("{} - {}", study.arms[a].name, study.arms[b].name), ComparedBy::difference, {}, {});
    check.tolerance = hypothesis.tolerance;
    check.region.emplace();
    check.region->ends_included = same;
    (same ? check.region->high : check.region->low) = hypothesis.tolerance;
    bool holds = true;
    std::vector<double> distances;
    for (const std::uint64_t seed : study.seeds) {
      const RunResult* one = tally.run(a, arm.regime, seed);
      const RunResult* other = tally.run(b, against.regime, seed);
      if (one != nullptr && one->metrics.updates.empty()) tally.unusable(a, arm.regime, seed);
      if (other != nullptr && other->metrics.updates.empty()) tally.unusable(b, against.regime, seed);
      if (one == nullptr || other == nullptr || one->metrics.updates.empty() || other->metrics.updates.empty())
        continue;
      if (finding.obstacle.empty()) finding.obstacle = unlike(*one, *other, seed);
      check.seeds.push_back(seed);
      distances.push_back(distance(one->metrics.updates, other->metrics.updates));
      check.values.emplace_back(distances.back());
      holds = holds && (distances.back() <= hypothesis.tolerance) == same;
    }
    if (!distances.empty()) {
      const auto [least, largest] = std::minmax_element(distances.begin(), distances.end());
      check.effect = {same ? *largest : *least, {*least, *largest}};
    }
    check.verdict = holds ? Verdict::supported : Verdict::refuted;
    finding.result.checks.push_back(std::move(check));
  }
  if (finding.result.checks.empty()) {
    finding.obstacle = "no arms of the study can be compared this way";
    return finding;
  }
  if (finding.obstacle.empty()) finding.obstacle = obstacle_of(study.seeds.size(), tally);
  finding.result.verdict = all_of(finding.result.checks);
  finding.observe = [same](const std::vector<Check>& checks) {
    return observation_of(fmt::format("the {} distance of the loss curves", same ? "largest" : "smallest"), checks,
                          "nats");
  };
  finding.context = context_of(values, study.seeds.size(), {arm.regime, against.regime}, tally);
  return finding;
}

void Identical::check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const {
  check_sides(study, hypothesis, complain);
}

}  // namespace surd
