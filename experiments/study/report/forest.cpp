#include "experiments/study/report/forest.hpp"

#include "autograd/base/counted.hpp"
#include "experiments/study/file/claims.hpp"
#include "experiments/study/file/study.hpp"
#include "experiments/study/report/forest_drawing.hpp"
#include "experiments/study/report/tables.hpp"
#include "experiments/study/verdicts/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace surd::report {
namespace {

using statistics::infinity;

std::string with_unit(const std::string& number, const std::string& unit) {
  return unit.empty() ? number : number + " " + unit;
}

/// "0.42 times [0.38, 0.47]", with the digits it takes to tell the numbers apart and from the ends of the region.
std::string estimate_text(const Estimate& estimate, const std::string& unit, const Region& region) {
  const double low = estimate.interval.low, high = estimate.interval.high, value = estimate.value.nearest();
  if (std::isnan(value)) return "not known";
  int digits = 3;
  const auto alike = [&](double a, double b) { return a != b && digits_text(a, digits) == digits_text(b, digits); };
  const auto at_end = [&](double a) { return alike(a, region.low) || alike(a, region.high); };
  while (digits < 7 &&
         (alike(low, high) || alike(low, value) || alike(value, high) || at_end(low) || at_end(value) || at_end(high)))
    ++digits;
  if (digits == 7) digits = 3;  // they differ by what is rounded
  const auto number = [digits](double value) { return digits_text(value, digits); };
  std::string text = with_unit(text_of(estimate.value, number), unit);
  if (std::isnan(low) || std::isnan(high) || (std::isinf(low) && std::isinf(high))) return text;
  return fmt::format("{} [{}, {}]", text, number(low), number(high));
}

bool contains(const Region& region, const MetricValue& value) {
  return region.ends_included ? value.low >= region.low && value.high <= region.high
                              : value.low > region.low && value.high < region.high;
}

/// "below 0", "at most 3 nats", "between 0.9 and 1.1 times", "0.25 ± 0.01"
std::string expected_text(const Hypothesis& hypothesis, const Check& check, const std::string& unit) {
  const auto number = [](double value) { return digits_text(value, 4); };
  if (check.expected && hypothesis.expect == "within" && check.tolerance == 0.0)
    return with_unit("exactly " + number(*check.expected), unit);
  if (check.expected && hypothesis.expect == "within")
    return with_unit(fmt::format("{} ± {}", number(*check.expected), number(check.tolerance.value_or(0))), unit);
  const Region& region = *check.region;
  const bool low = region.low > -infinity, high = region.high < infinity;
  if (low && high) return with_unit(fmt::format("between {} and {}", number(region.low), number(region.high)), unit);
  const char* word = high ? (region.ends_included ? "at most" : "below") : region.ends_included ? "at least" : "above";
  const double end = high ? region.high : region.low;
  // Of 0 and of a ratio of 1 the unit says nothing.
  return with_unit(fmt::format("{} {}", word, number(end)), end == 0 ? "" : unit);
}

std::string quoted(const std::string_view text) { return fmt::format("“{}”", text); }

}  // namespace

std::string answer(const Analysis& analysis) {
  const std::size_t all = analysis.hypotheses.size();
  if (all == 0) return "The study states nothing in advance; it shows what its arms do.";
  if (analysis.runs > 0 && analysis.runs == analysis.missing) return "No run has ended yet.";
  const auto count = [&](Verdict verdict) {
    return static_cast<std::size_t>(
        std::count_if(analysis.hypotheses.begin(), analysis.hypotheses.end(),
                      [&](const HypothesisResult& result) { return result.verdict == verdict; }));
  };
  const std::size_t hold = count(Verdict::supported);
  const auto are = [&](Verdict verdict) {
    const std::size_t n = count(verdict);
    return fmt::format("{} {} {}", n == 1 ? "one" : std::to_string(n), n == 1 ? "is" : "are", name_of(verdict));
  };
  const auto sentence = [&](std::string text) {
    if (analysis.missing == 0) return text;
    text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
    return "So far " + text;
  };
  const std::string every = all == 1   ? "The statement"
                            : all == 2 ? "Both statements"
                                       : fmt::format("All {} statements", all);
  if (hold == all) {
    std::vector<std::string> refuted;  // by what holds, which may speak against a claim
    for (const ClaimResult& claim : analysis.claims)
      if (claim.verdict == Verdict::refuted) refuted.push_back(std::to_string(claim.claim));
    const std::string against =
        refuted.empty()
            ? ""
            : fmt::format(", which refutes claim{} {}", refuted.size() == 1 ? "" : "s", fmt::join(refuted, " and "));
    return sentence(every + (all == 1 ? " holds" : " hold") + against + ".");
  }
  for (const Verdict verdict : {Verdict::refuted, Verdict::undecided})
    if (count(verdict) == all)
      return sentence(fmt::format("{} {} {}.", every, all == 1 ? "is" : "are", name_of(verdict)));
  std::string text = hold == 0 ? fmt::format("None of {} statements holds", all)
                               : fmt::format("{} of {} statements {}", hold == 1 ? "One" : std::to_string(hold), all,
                                             hold == 1 ? "holds" : "hold");
  for (const Verdict verdict : {Verdict::refuted, Verdict::undecided})
    if (count(verdict) > 0) text += "; " + are(verdict);
  return sentence(text + ".");
}

std::string claim_answer(const ClaimResult& claim) {
  const std::string_view said = claim_text(claim.claim);
  return fmt::format("Claim {} is {}{}", claim.claim, name_of(claim.verdict), said.empty() ? "." : ": " + quoted(said));
}

RowWords words_of(const Study& study, const HypothesisResult& result) {
  const Hypothesis& hypothesis = study.hypotheses[result.hypothesis];
  RowWords words{hypothesis.metric, "nothing measured yet", "", 0, ""};
  if (result.p_holm) words.p = digits_text(*result.p_holm, 2);
  if (result.checks.empty()) return words;
  const bool curves = hypothesis.metric.empty();
  const Check& check = least_as_expected(result.checks);
  std::string unit;
  if (curves)
    unit = "nats";
  else if (hypothesis.over.empty() && hypothesis.along.empty())
    unit = check.compared_by == ComparedBy::ratio && hypothesis.formula.empty() ? "times"
                                                                                : study.metric(hypothesis.metric).unit;
  words.effect =
      check.seeds.empty() ? "no value yet" : estimate_text(check.effect, unit, check.region.value_or(Region()));
  if (check.region) words.expected = "expected " + expected_text(hypothesis, check, unit);
  const std::string what = curves ? "loss curves" : hypothesis.statement->quantity(hypothesis);
  words.about = fmt::format("{}: {}", what, check.label);
  for (const Check& one : result.checks) words.seeds = std::max(words.seeds, one.seeds.size());
  const std::size_t all = result.checks.size();
  if (all == 1) return words;
  const bool in = check.region ? contains(*check.region, check.effect.value) : check.verdict == Verdict::supported;
  words.about = fmt::format("{} in {} {}", what, all, curves ? "pairs of arms" : "cases");
  words.expected = fmt::format("{}: {}, {}; {}", in ? "nearest to failing" : "furthest off", check.label, words.effect,
                               words.expected);
  words.effect = held_in(result.checks);
  return words;
}

Json forest_rows(const Study& study, const Analysis& analysis, const std::string& page) {
  Json rows = Json::array();
  for (const HypothesisResult& result : analysis.hypotheses) {
    const Hypothesis& hypothesis = study.hypotheses[result.hypothesis];
    const ForestRow row = row_of(hypothesis, result);
    RowWords words = words_of(study, result);
    if (!row.common)
      words.about += fmt::format("; drawn: how far each is from its own expected value{}",
                                 row.in_tolerances ? ", in tolerances" : "");
    if (hypothesis.contradicts)
      words.about += fmt::format("; where it holds, it speaks against claim {}", hypothesis.claim);
    const std::string and_expected = words.expected.empty() ? "" : "; " + words.expected;
    std::string rest;
    if (words.seeds > 0) rest = "; " + counted(words.seeds, "seed");
    if (!words.p.empty()) rest += fmt::format(", p = {} after Holm", words.p);
    rows.push_back({{"page", page},
                    {"number", result.hypothesis + 1},
                    {"name", hypothesis.name},
                    {"about", words.about},
                    {"drawing", draw(row)},
                    {"alt", fmt::format("Found: {}{}; {}", words.effect, and_expected, name_of(result.verdict))},
                    {"effect", words.effect},
                    {"expected", words.expected},
                    {"rest", rest},
                    {"verdict", name_of(result.verdict)},
                    {"sign", sign(result.verdict)}});
  }
  return rows;
}

}  // namespace surd::report
