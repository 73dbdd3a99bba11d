#include "experiments/study/report/forest_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace surd::report {
namespace {

using statistics::infinity;

/// From the left of a drawing to its right, in per cent of its width.
class Scale {
 public:
  /// An axis that has all these numbers on it, with room beside them. A logarithmic one leaves out what is not above 0.
  /// Numbers that only rounding tells apart are drawn as one.
  Scale(const std::vector<double>& numbers, bool log) : log_(log) {
    low_ = infinity, high_ = -infinity;
    for (const double number : numbers) {
      if (!std::isfinite(number) || (log && number <= 0)) continue;
      low_ = std::min(low_, scaled(number));
      high_ = std::max(high_, scaled(number));
    }
    if (low_ > high_) low_ = high_ = 0;
    constexpr double rounding = 1e-7;
    const double size = std::max(std::abs(low_), std::abs(high_));
    double room = 0.14 * (high_ - low_);
    if (high_ - low_ <= (log ? rounding : std::max(rounding * size, 1 / largest)))
      room = log ? std::log(2.0) : size <= 1 / largest ? 1 : 0.5 * size;
    low_ -= room, high_ += room;
  }

  double at(double number) const {
    if (log_ && number <= 0) return 0;
    return std::clamp(100 * (scaled(number) - low_) / (high_ - low_), 0.0, 100.0);
  }

  /// A few round numbers.
  std::vector<double> ticks() const {
    if (!log_) return multiples(low_, high_);
    if (high_ - low_ < std::log(4.0)) return multiples(std::exp(low_), std::exp(high_));
    std::vector<double> found;
    for (const auto& steps : {std::vector<double>{1, 2, 5}, {1, 3}, {1}}) {
      found.clear();
      for (int power = exponent(low_); power <= exponent(high_); ++power)
        for (const double step : steps)
          if (const double tick = step * std::pow(10, power); std::log(tick) >= low_ && std::log(tick) <= high_)
            found.push_back(tick);
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
  static constexpr double largest = 1e300;  // what is larger, or nearer to 0 on a logarithmic axis, is drawn there
  static int exponent(double log) { return static_cast<int>(std::floor(log / std::log(10.0))); }

  static std::vector<double> multiples(double low, double high) {
    double step = std::pow(10, std::floor(std::log10(high - low)));
    for (const double part : {0.2, 0.25, 0.5, 1.0, 2.0}) {
      if ((high - low) / (part * step) >= most_ticks) continue;
      step *= part;
      break;
    }
    std::vector<double> found;
    const double first = std::ceil(low / step);
    for (std::size_t i = 0; i <= most_ticks; ++i)
      if (const double tick = (first + static_cast<double>(i)) * step; tick <= high) found.push_back(tick);
    return found;
  }

  double scaled(double number) const {
    return log_ ? std::log(std::clamp(number, 1 / largest, largest)) : std::clamp(number, -largest, largest);
  }

  bool log_;
  double low_, high_;
};

/// A point in the shape of its verdict, so that colour is not all that tells; an arrow's head where only a bound is
/// known.
std::string point(double x, double y, double radius, const ForestMark& mark) {
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
std::vector<std::pair<double, std::string>> labels_of(const Scale& scale, const ForestRow& row) {
  constexpr double letter = 3.9, gap = 2, beyond = 4;  // per cent of the width there
  const std::vector<double> ticks = scale.ticks();
  double step = ticks.empty() ? 0 : std::abs(ticks.front());
  for (std::size_t i = 1; i < ticks.size(); ++i) step = std::min(step > 0 ? step : infinity, ticks[i] - ticks[i - 1]);
  const auto rounded = [](double tick, int digits) {
    const std::string text = fmt::format("{:.{}g}", tick, digits);
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  int digits = 3;  // or as many as it takes to say where each is
  for (const double tick : ticks)
    while (digits < 12 && std::abs(rounded(tick, digits) - tick) > 0.01 * step) ++digits;
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
    const bool neutral = row.neutral && std::abs(tick - *row.neutral) <= 1e-3 * step;
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

}  // namespace

std::string digits_text(double value, int digits) {
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  if (std::isnan(value)) return "–";
  if (std::abs(value) >= 1e3 && std::abs(value) < 1e6)
    digits = std::max(digits, static_cast<int>(std::log10(std::abs(value))) + 1);
  std::string text = fmt::format("{:.{}g}", value, digits);
  if (text == "-0") text = "0";
  if (text.front() == '-') text.replace(0, 1, "−");
  return text;
}

ForestRow row_of(const Hypothesis& hypothesis, const HypothesisResult& result) {
  ForestRow row;
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
    ForestMark& mark = row.marks[next++];
    mark.value = MetricValue::between(away(mark.value.low), away(mark.value.high));
    mark.low = away(mark.low), mark.high = away(mark.high);
    if (mark.region) mark.region->low = away(mark.region->low), mark.region->high = away(mark.region->high);
  }
  return row;
}

std::string draw(const ForestRow& row) {
  std::vector<double> numbers;
  if (row.neutral) numbers.push_back(*row.neutral);
  for (const ForestMark& mark : row.marks)
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
  for (const ForestMark& mark : row.marks) {
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

}  // namespace surd::report
