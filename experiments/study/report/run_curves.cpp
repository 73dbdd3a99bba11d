#include "experiments/study/report/run_curves.hpp"

#include "experiments/study/report/assets.hpp"
#include "experiments/study/report/charts/chart.hpp"
#include "experiments/study/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace surd {
namespace {

using report::Chart;
using report::Series;

template <class Record>
using Value = std::function<std::optional<double>(const Record&)>;

constexpr std::size_t most_points = 400;  // of a line; more are thinned out

/// A line through the records that have the value.
template <class Record>
Series line(const std::vector<Record>& records, const std::string& name, std::size_t style, Series::Kind kind,
            const Value<Record>& value) {
  Series series;
  series.name = name;
  series.style = style;
  series.kind = kind;
  const std::size_t step = 1 + records.size() / most_points;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::optional<double> y = value(records[i]);
    if (!y || ((records.size() - 1 - i) % step != 0)) continue;  // the last one stays
    series.x.push_back(static_cast<double>(records[i].update));
    series.y.push_back(*y);
    series.low.push_back(report::nan);
    series.high.push_back(report::nan);
    series.counts.push_back(1);
  }
  return series;
}

Chart chart_of(const std::string& id, const std::string& title, const std::string& unit, std::vector<Series> lines) {
  Chart chart;
  chart.id = id;
  chart.title = title;
  chart.x.title = "update";
  chart.y.title = unit.empty() ? title : fmt::format("{} ({})", title, unit);
  chart.panels.push_back({"", std::move(lines), {}, {}, {}});
  chart.y.log = report::spans(report::means_of(chart), 30);
  chart.alt = report::extremes(chart, title + " against update");
  chart.table = report::table_of(chart);
  chart.table.caption = chart.title;
  return chart;
}

template <class Record>
std::vector<Series> lines_of(const std::vector<NamedMetrics>& runs, std::vector<Record> Metrics::*records,
                             const Value<Record>& value) {
  std::vector<Series> lines;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Series series = line(runs[i].metrics.*records, runs[i].name, i, Series::Kind::mean, value);
    if (!series.x.empty()) lines.push_back(std::move(series));
  }
  return lines;
}

Chart losses(const std::vector<NamedMetrics>& runs) {
  auto lines = lines_of<EvaluationRecord>(runs, &Metrics::evaluations, [](const auto& r) { return r.loss; });
  for (std::size_t i = 0; i < runs.size(); ++i)
    lines.push_back(line<UpdateRecord>(runs[i].metrics.updates, runs[i].name + ", training", i, Series::Kind::seeds,
                                       [](const UpdateRecord& r) { return r.loss; }));
  Chart chart = chart_of("loss", "Loss", "nats a token", std::move(lines));
  chart.note = "Strong lines are of the validation split, faint ones of training, with dropout and label smoothing.";
  return chart;
}

}  // namespace

std::string curves_page(const std::vector<NamedMetrics>& runs, const std::string& chart_library) {
  std::vector<Chart> charts = {losses(runs)};
  const auto add = [&](const char* id, const char* title, const char* unit, std::vector<Series> lines) {
    if (!lines.empty()) charts.push_back(chart_of(id, title, unit, std::move(lines)));
  };
  const auto of_evaluations = [&](const Value<EvaluationRecord>& value) {
    return lines_of<EvaluationRecord>(runs, &Metrics::evaluations, value);
  };
  const auto of_updates = [&](const Value<UpdateRecord>& value) {
    return lines_of<UpdateRecord>(runs, &Metrics::updates, value);
  };
  add("tokens", "Token accuracy", "share", of_evaluations([](const auto& r) { return r.token_accuracy; }));
  add("sequences", "Sequence accuracy", "share", of_evaluations([](const auto& r) { return r.sequence_accuracy; }));
  add("bleu", "BLEU", "", of_evaluations([](const auto& r) { return r.bleu; }));
  add("chrf", "chrF2", "", of_evaluations([](const auto& r) { return r.chrf; }));
  add("gradient", "Gradient norm before clipping", "", of_updates([](const auto& r) { return r.gradient_norm; }));
  add("rate", "Learning rate", "", of_updates([](const auto& r) { return r.learning_rate; }));
  std::vector<std::string> names;
  for (const NamedMetrics& run : runs) names.push_back(run.name);
  const std::string title = fmt::format("Learning curves of {}", fmt::join(names, ", "));
  const std::vector<report::Section> sections = {{"curves", "Curves", charts}};
  return report::render_charts(
      report::charts_page,
      {{"title", title}, {"sections", report::to_json(sections)}, {"data", report::chart_data(sections)}},
      chart_library);
}

}  // namespace surd
