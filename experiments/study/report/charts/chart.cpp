#include "experiments/study/report/charts/chart.hpp"

#include "autograd/base/fields.hpp"
#include "experiments/study/verdicts/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace surd::report {
namespace {

Json to_json(const Series& series) {
  Json json = {{"name", series.name},
               {"kind", name_of(series.kind)},
               {"style", series.style},
               {"x", rounded(series.x)},
               {"y", rounded(series.y)}};
  if (!series.low.empty()) json["low"] = rounded(series.low);
  if (!series.high.empty()) json["high"] = rounded(series.high);
  return json;
}

Json to_json(const ChartAxis& axis) {
  Json json = {{"title", axis.title}, {"log", axis.log}};
  if (axis.cap) json["cap"] = rounded(*axis.cap);
  return json;
}

Json to_json(const Panel& panel) {
  Json json = {{"title", panel.title}, {"series", Json::array()}};
  for (const Series& series : panel.series) json["series"].push_back(to_json(series));
  if (!panel.rows.empty()) json["rows"] = panel.rows;
  if (panel.z.empty()) return json;
  json["columns"] = panel.columns;
  json["z"] = Json::array();
  for (const auto& row : panel.z) json["z"].push_back(rounded(row));
  return json;
}

/// Its point at x, as the table shows it.
std::string cell(const Series& series, double x) {
  const auto at = std::find(series.x.begin(), series.x.end(), x);
  if (at == series.x.end()) return number_text(nan);
  const auto i = static_cast<std::size_t>(at - series.x.begin());
  std::string text =
      series.low.empty() ? number_text(series.y[i]) : number_text(series.y[i], {series.low[i], series.high[i]});
  const bool fewer =
      !series.counts.empty() && series.counts[i] < *std::max_element(series.counts.begin(), series.counts.end());
  if (fewer && series.counts[i] > 0) text += fmt::format(" ({} seeds)", series.counts[i]);
  return text;
}

bool in_table(const Series& series) { return series.kind == Series::Kind::mean || series.kind == Series::Kind::theory; }

}  // namespace

Json rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

Json rounded(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(rounded(value));
  return json;
}

std::vector<std::string> names_of(Series::Kind) { return {"mean", "seeds", "theory", "chosen"}; }
std::vector<std::string> names_of(Chart::Kind) { return {"lines", "heatmap", "intervals"}; }

std::string number_text(double value) {
  if (!std::isfinite(value)) return "\u2013";
  const double size = std::abs(value);
  if (value == std::round(value) && size < 1e7) return fmt::format("{:.0f}", value == 0 ? 0 : value);
  if (size >= 1e3 && size < 1e7) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string number_text(double value, const statistics::Interval& interval) {
  return number_text(Estimate{value, interval});
}

std::string number_text(const MetricValue& value) {
  return text_of(
      value, [](double number) { return number_text(number); }, "–");
}

std::string number_text(const Estimate& estimate) {
  const auto& [low, high] = estimate.interval;
  if (std::isnan(low) || std::isnan(high) || (std::isinf(low) && std::isinf(high))) return number_text(estimate.value);
  const auto end = [](double value) {
    return std::isinf(value) ? std::string(value > 0 ? "∞" : "-∞") : number_text(value);
  };
  return fmt::format("{} [{}, {}]", number_text(estimate.value), end(low), end(high));
}

std::string heading_of(const MetricSpec& metric) {
  std::string more = metric.unit;
  if (const auto quantile = metric.metric->quantile())
    more += fmt::format("{}{} % quantile", more.empty() ? "" : ", ", number_text(100 * *quantile));
  return more.empty() ? metric.name : fmt::format("{} ({})", metric.name, more);
}

Json to_json(const Table& table) {
  Json json = {{"caption", table.caption}, {"columns", table.columns}, {"rows", Json::array()}};
  for (const auto& row : table.rows)
    json["rows"].push_back({{"heading", row.front()}, {"cells", std::vector<std::string>(row.begin() + 1, row.end())}});
  return json;
}

Json to_json(const Chart& chart) {
  Json json = {{"id", chart.id},         {"kind", name_of(chart.kind)},    {"x", to_json(chart.x)},
               {"y", to_json(chart.y)},  {"error_bars", chart.error_bars}, {"panel_label", chart.panel_label},
               {"panels", Json::array()}};
  for (const Panel& panel : chart.panels) json["panels"].push_back(to_json(panel));
  return json;
}

Table table_of(const Chart& chart) {
  Table table{chart.title + ": pseudo-median [95 % interval] over seeds", {}, {}};
  const bool panels = chart.panels.size() > 1;
  if (panels) table.columns.emplace_back("panel");
  table.columns.push_back(chart.x.title);
  std::vector<std::string> names;
  for (const Panel& panel : chart.panels)
    for (const Series& series : panel.series)
      if (in_table(series) && std::find(names.begin(), names.end(), series.name) == names.end())
        names.push_back(series.name);
  table.columns.insert(table.columns.end(), names.begin(), names.end());
  for (const Panel& panel : chart.panels) {
    std::set<double> places;
    std::map<std::string, const Series*> by_name;
    for (const Series& series : panel.series) {
      if (!in_table(series)) continue;
      places.insert(series.x.begin(), series.x.end());
      by_name[series.name] = &series;
    }
    for (const double x : places) {
      std::vector<std::string> row;
      if (panels) row.push_back(panel.title);
      row.push_back(number_text(x));
      for (const std::string& name : names) {
        const auto found = by_name.find(name);
        row.push_back(found == by_name.end() ? number_text(nan) : cell(*found->second, x));
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

std::string extremes(const Chart& chart, const std::string& what) {
  struct End {
    double value;
    std::string name;
  };
  std::vector<End> ends;
  for (const Panel& panel : chart.panels) {
    for (const Series& series : panel.series) {
      if (series.kind != Series::Kind::mean) continue;
      for (std::size_t i = series.y.size(); i-- > 0;) {
        if (!std::isfinite(series.y[i])) continue;
        ends.push_back({series.y[i], chart.panels.size() > 1 ? panel.title + ", " + series.name : series.name});
        break;
      }
    }
  }
  if (ends.empty()) return fmt::format("{}: no run has ended with a number.", what);
  const auto less = [](const End& a, const End& b) { return a.value < b.value; };
  const auto [low, high] = std::minmax_element(ends.begin(), ends.end(), less);
  if (ends.size() == 1) return fmt::format("{}: {} comes to {}.", what, low->name, number_text(low->value));
  return fmt::format("{}, {} lines: at the right end the lowest is {} ({}), the highest {} ({}).", what, ends.size(),
                     low->name, number_text(low->value), high->name, number_text(high->value));
}

std::vector<double> means_of(const Chart& chart) {
  std::vector<double> means;
  for (const Panel& panel : chart.panels)
    for (const Series& series : panel.series)
      if (series.kind == Series::Kind::mean) means.insert(means.end(), series.y.begin(), series.y.end());
  return means;
}

bool spans(const std::vector<double>& values, double factor) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return low > 0 && high > factor * low;
}

}  // namespace surd::report
