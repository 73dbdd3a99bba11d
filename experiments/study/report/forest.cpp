#include "experiments/study/report/forest.hpp"

#include "experiments/study/file/claims.hpp"
#include "experiments/study/file/study.hpp"
#include "experiments/study/report/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace surd::report {
namespace {

using statistics::infinity;

/// Three significant digits, or as many more as two numbers that differ need; an en dash for NaN.
std::string digits_text(double value, int digits) {
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  if (std::isnan(value)) return "–";
  std::string text = std::abs(value) >= 1e3 && std::abs(value) < 1e6 ? fmt::format("{:.0f}", value)
                                                                     : fmt::format("{:.{}g}", value, digits);
  if (text == "-0") text = "0";
  if (text.front() == '-') text.replace(0, 1, "−");
  return text;
}

std::string bound_text(const MetricValue& value, int digits) {
  if (value.known()) return digits_text(value.low, digits);
  const bool low = std::isfinite(value.low), high = std::isfinite(value.high);
  if (low && high) return digits_text(value.low, digits) + " to " + digits_text(value.high, digits);
  return low ? "≥ " + digits_text(value.low, digits) : high ? "≤ " + digits_text(value.high, digits) : "not known";
}

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
  std::string text = with_unit(bound_text(estimate.value, digits), unit);
  if (std::isnan(low) || std::isnan(high) || (std::isinf(low) && std::isinf(high))) return text;
  return fmt::format("{} [{}, {}]", text, digits_text(low, digits), digits_text(high, digits));
}

bool contains(const Region& region, const MetricValue& value) {
  return region.ends_included ? value.low >= region.low && value.high <= region.high
                              : value.low > region.low && value.high < region.high;
}

/// From the left of a drawing to its right, in per cent of its width.
class Scale {
 public:
  /// An axis that has all these numbers on it, with room beside them. A logarithmic one leaves out what is not above 0.
  Scale(const std::vector<double>& numbers, bool log) : log_(log) {
    low_ = infinity, high_ = -infinity;
    for (const double number : numbers) {
      if (!std::isfinite(number) || (log && number <= 0)) continue;
      low_ = std::min(low_, scaled(number));
      high_ = std::max(high_, scaled(number));
    }
    if (low_ > high_) low_ = high_ = 0;
    double room = 0.14 * (high_ - low_);
    if (room == 0) room = log ? std::log(2.0) : low_ == 0 ? 1 : 0.5 * std::abs(low_);
    low_ -= room, high_ += room;
  }

  double at(double number) const {
    if (log_ && number <= 0) return 0;
    return std::clamp(100 * (scaled(number) - low_) / (high_ - low_), 0.0, 100.0);
  }

  /// A few round numbers.
  std::vector<double> ticks() const {
    const double low = log_ ? std::exp(low_) : low_, high = log_ ? std::exp(high_) : high_;
    if (!log_ || high / low < 4) return multiples(low, high);
    std::vector<double> found;
    for (const auto& steps : {std::vector<double>{1, 2, 5}, {1, 3}, {1}}) {
      found.clear();
      for (int power = exponent(low); power <= exponent(high); ++power)
        for (const double step : steps)
          if (const double tick = step * std::pow(10, power); tick >= low && tick <= high) found.push_back(tick);
      if (found.size() <= most_ticks) return found;
    }
    // Every second, third ... power of ten, so that 1 is one of them.
    std::vector<double> few;
    const int stride = static_cast<int>(found.size() / most_ticks) + 1;
    for (const double tick : found)
      if (static_cast<int>(std::lround(std::log10(tick))) % stride == 0) few.push_back(tick);
    return few;
  }

 private:
  static constexpr std::size_t most_ticks = 5;
  static int exponent(double number) { return static_cast<int>(std::floor(std::log10(number))); }

  static std::vector<double> multiples(double low, double high) {
    double step = std::pow(10, std::floor(std::log10(high - low)));
    for (const double part : {0.2, 0.25, 0.5, 1.0, 2.0}) {
      if ((high - low) / (part * step) >= most_ticks) continue;
      step *= part;
      break;
    }
    std::vector<double> found;
    for (double i = std::ceil(low / step); i <= std::floor(high / step); ++i) found.push_back(i * step);
    return found;
  }

  double scaled(double number) const { return log_ ? std::log(number) : number; }

  bool log_;
  double low_, high_;
};

/// What a row draws of a check: the check itself, or how far its effect is from what is expected there.
struct Mark {
  MetricValue value;
  double low, high;
  std::optional<Region> region;  ///< where that is known
  Verdict verdict;
};

struct Row {
  std::vector<Mark> marks;
  bool common = true;         ///< of all marks the same is expected
  bool in_tolerances = true;  ///< where it is not: what is drawn is a distance, in tolerances
  bool log = false;
  std::optional<double> neutral;  ///< no difference
  std::string unit;               ///< on the axis
};

/// Where the arms are to have different values, the row shows the distance of each from its own, in tolerances.
Row row_of(const Hypothesis& hypothesis, const HypothesisResult& result) {
  Row row;
  bool ratio = false;
  for (const Check& check : result.checks) {
    const auto& [low, high] = check.effect.interval;
    row.marks.push_back({check.effect.value, low, high, check.region, check.verdict});
    const auto& first = row.marks.front().region;
    row.common = row.common && first.has_value() == check.region.has_value() &&
                 (!first || (first->low == check.region->low && first->high == check.region->high));
    row.in_tolerances = row.in_tolerances && check.expected && check.tolerance.value_or(0) > 0;
    ratio = check.compared_by == ComparedBy::ratio;
  }
  if (row.common) {
    row.log = ratio;
    if (hypothesis.formula.empty() && !hypothesis.metric.empty()) row.neutral = ratio ? 1 : 0;
    if (row.neutral && ratio) row.unit = "×";
    return row;
  }
  std::size_t next = 0;
  for (const Check& check : result.checks) {
    const auto away = [&](double number) {
      return (number - check.expected.value_or(0)) / (row.in_tolerances ? *check.tolerance : 1);
    };
    Mark& mark = row.marks[next++];
    mark.value = MetricValue::between(away(mark.value.low), away(mark.value.high));
    mark.low = away(mark.low), mark.high = away(mark.high);
    if (mark.region) mark.region->low = away(mark.region->low), mark.region->high = away(mark.region->high);
  }
  return row;
}

/// A point in the shape of its verdict, so that colour is not all that tells; an arrow's head where only a bound is
/// known.
std::string point(double x, double y, double radius, const Mark& mark) {
  const double r = radius;
  std::string path;
  if (!mark.value.known()) {
    const double tip = std::isfinite(mark.value.low) ? 1.3 * r : -1.3 * r;
    path = fmt::format("M{:.4g} {:.4g}L{:.4g} 0L{:.4g} {:.4g}z", -tip, -1.2 * r, tip, -tip, 1.2 * r);
  } else if (mark.verdict == Verdict::refuted) {
    path = fmt::format("M{:.4g} 0L0 {:.4g}L{:.4g} 0L0 {:.4g}z", -1.25 * r, -1.25 * r, 1.25 * r, 1.25 * r);
  } else {
    path = fmt::format("M{0:.4g} 0a{1:.4g} {1:.4g} 0 1 0 {2:.4g} 0a{1:.4g} {1:.4g} 0 1 0 {3:.4g} 0z", -r, r, 2 * r,
                       -2 * r);
  }
  return fmt::format("<svg x=\"{:.2f}%\" y=\"{:.4g}\"><path class=\"point {}\" d=\"{}\"/></svg>", x, y,
                     name_of(mark.verdict), path);
}

/// The numbers along a row, with their places in per cent; as many as fit side by side on a phone.
std::vector<std::pair<double, std::string>> labels_of(const Scale& scale, const Row& row) {
  constexpr double letter = 3.9, gap = 2, beyond = 4;  // per cent of the width there
  const std::vector<double> ticks = scale.ticks();
  double step = ticks.empty() ? 0 : std::abs(ticks.front());
  for (std::size_t i = 1; i < ticks.size(); ++i) step = std::min(step > 0 ? step : infinity, ticks[i] - ticks[i - 1]);
  int digits = 3;  // or as many as it takes to say where each is
  for (const double tick : ticks)
    while (digits < 12 && std::abs(std::stod(fmt::format("{:.{}g}", tick, digits)) - tick) > 0.01 * step) ++digits;
  std::vector<std::pair<double, std::string>> all, shown;
  std::vector<double> widths;
  std::optional<std::size_t> first;  // the one that is shown in any case: no difference, where that is there
  for (const double tick : ticks) {
    const std::string text = digits_text(std::abs(tick) < 1e-12 * std::abs(ticks.back()) ? 0 : tick, digits);
    const auto continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
    const auto letters = static_cast<double>(text.size()) -
                         static_cast<double>(std::count_if(text.begin(), text.end(), continuation)) +
                         (row.unit.empty() ? 0 : 1);
    const double x = scale.at(tick), width = letter * letters + gap;
    const bool neutral = row.neutral && std::abs(tick - *row.neutral) < 1e-9;
    if (!neutral && (x - width / 2 < -beyond || x + width / 2 > 100 + beyond)) continue;
    if (neutral) first = all.size();
    widths.push_back(width);
    all.emplace_back(x, text + row.unit);
  }
  const auto fits = [&](std::size_t i, std::size_t last) {
    return std::abs(all[i].first - all[last].first) >= (widths[i] + widths[last]) / 2;
  };
  const std::size_t begin = first.value_or(0);
  for (std::size_t i = begin, last = begin; i < all.size(); ++i)
    if (i == begin || fits(i, last)) shown.push_back(all[last = i]);
  for (std::size_t i = begin, last = begin; i-- > 0;)
    if (fits(i, last)) shown.push_back(all[last = i]);
  return shown;
}

std::string draw(const Row& row) {
  std::vector<double> numbers;
  if (row.neutral) numbers.push_back(*row.neutral);
  for (const Mark& mark : row.marks)
    for (const double number : {mark.value.low, mark.value.high, mark.low, mark.high,
                                mark.region.value_or(Region()).low, mark.region.value_or(Region()).high})
      numbers.push_back(number);
  const Scale scale(numbers, row.log);
  const std::size_t count = row.marks.size();
  const double gap = count > 12 ? 2 : count > 4 ? 4 : 7, radius = count > 12 ? 2.2 : count > 1 ? 3.2 : 5;
  const double bottom = 22 + gap * static_cast<double>(count > 0 ? count - 1 : 0);
  std::string svg =
      fmt::format("<svg class=\"row\" width=\"100%\" height=\"{:.4g}\" aria-hidden=\"true\">", bottom + 15);
  if (count > 0 && row.marks.front().region) {
    const Region& region = *row.marks.front().region;
    const double left = region.low > -infinity ? scale.at(region.low) : 0;
    const double right = region.high < infinity ? scale.at(region.high) : 100;
    svg += fmt::format("<rect class=\"region\" x=\"{:.2f}%\" width=\"{:.2f}%\" height=\"{:.4g}\"/>", left, right - left,
                       bottom);
    for (const double end : {region.low, region.high})
      if (std::isfinite(end))
        svg +=
            fmt::format("<line class=\"edge\" x1=\"{0:.2f}%\" x2=\"{0:.2f}%\" y2=\"{1:.4g}\"/>", scale.at(end), bottom);
  }
  svg += fmt::format("<line class=\"axis\" x2=\"100%\" y1=\"{0:.4g}\" y2=\"{0:.4g}\"/>", bottom);
  if (row.neutral)
    svg += fmt::format("<line class=\"neutral\" x1=\"{0:.2f}%\" x2=\"{0:.2f}%\" y2=\"{1:.4g}\"/>",
                       scale.at(*row.neutral), bottom);
  for (const auto& [x, label] : labels_of(scale, row))
    svg += fmt::format("<text x=\"{:.2f}%\" y=\"{:.4g}\">{}</text>", x, bottom + 12, label);
  double y = 11;
  for (const Mark& mark : row.marks) {
    if (std::isfinite(mark.low) || std::isfinite(mark.high)) {
      svg += fmt::format("<line class=\"interval {}\" x1=\"{:.2f}%\" x2=\"{:.2f}%\" y1=\"{:.4g}\" y2=\"{:.4g}\"/>",
                         name_of(mark.verdict), std::isfinite(mark.low) ? scale.at(mark.low) : 0,
                         std::isfinite(mark.high) ? scale.at(mark.high) : 100, y, y);
      for (const bool left : {true, false})
        if (std::isinf(left ? mark.low : mark.high))
          svg += fmt::format("<svg x=\"{}%\" y=\"{:.4g}\"><path class=\"arrow {}\" d=\"M{} -4L0 0L{} 4\"/></svg>",
                             left ? 0 : 100, y, name_of(mark.verdict), left ? 6 : -6, left ? 6 : -6);
    }
    if (const double value = mark.value.nearest(); std::isfinite(value)) svg += point(scale.at(value), y, radius, mark);
    y += gap;
  }
  return svg + "</svg>";
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

/// The check that is least as expected: the farthest out of its region, or the nearest to its end.
const Check& furthest(const std::vector<Check>& checks) {
  const auto off = [](const Check& check) {
    const double value = check.effect.value.nearest();
    if (!check.region || std::isnan(value)) return -infinity;
    const double out = std::max(check.region->low - value, value - check.region->high);
    return check.tolerance.value_or(0) > 0 ? out / *check.tolerance : out;
  };
  return *std::max_element(checks.begin(), checks.end(),
                           [&](const Check& a, const Check& b) { return off(a) < off(b); });
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
  const Check& check = furthest(result.checks);
  std::string unit;
  if (curves)
    unit = "nats";
  else if (hypothesis.over.empty())
    unit = check.compared_by == ComparedBy::ratio && hypothesis.formula.empty() ? "times"
                                                                                : study.metric(hypothesis.metric).unit;
  words.effect =
      check.seeds.empty() ? "no value yet" : estimate_text(check.effect, unit, check.region.value_or(Region()));
  if (check.region) words.expected = "expected " + expected_text(hypothesis, check, unit);
  const std::string what = curves ? "loss curves"
                           : hypothesis.kind == "slope"
                               ? fmt::format("slope of log {} over log {}", hypothesis.metric, hypothesis.over)
                               : hypothesis.metric;
  words.about = fmt::format("{}: {}", what, check.label);
  for (const Check& one : result.checks) words.seeds = std::max(words.seeds, one.seeds.size());
  const std::size_t all = result.checks.size();
  if (all == 1) return words;
  const auto in = std::count_if(result.checks.begin(), result.checks.end(), [](const Check& c) {
    return c.region ? contains(*c.region, c.effect.value) : c.verdict == Verdict::supported;
  });
  words.about = fmt::format("{} in {} {}", what, all, curves ? "pairs of arms" : "cases");
  words.expected =
      fmt::format("{}: {}, {}; {}", static_cast<std::size_t>(in) == all ? "nearest to failing" : "furthest off",
                  check.label, words.effect, words.expected);
  words.effect = fmt::format("{} of {} as expected", in, all);
  return words;
}

Json forest_rows(const Study& study, const Analysis& analysis, const std::string& page) {
  Json rows = Json::array();
  for (const HypothesisResult& result : analysis.hypotheses) {
    const Hypothesis& hypothesis = study.hypotheses[result.hypothesis];
    const Row row = row_of(hypothesis, result);
    RowWords words = words_of(study, result);
    if (!row.common)
      words.about += fmt::format("; drawn: how far each is from its own expected value{}",
                                 row.in_tolerances ? ", in tolerances" : "");
    if (hypothesis.contradicts)
      words.about += fmt::format("; where it holds, it speaks against claim {}", hypothesis.claim);
    const std::string and_expected = words.expected.empty() ? "" : "; " + words.expected;
    std::string rest;
    if (words.seeds > 0) rest = fmt::format("; {} seed{}", words.seeds, words.seeds == 1 ? "" : "s");
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
