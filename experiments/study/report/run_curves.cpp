#include "experiments/study/report/run_curves.hpp"

#include "experiments/study/report/assets.hpp"
#include "experiments/study/report/charts/chart.hpp"
#include "experiments/study/report/charts/picture.hpp"
#include "experiments/study/report/page.hpp"
#include "experiments/study/statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>

namespace surd {
namespace {

using report::Chart;
using report::Series;

template <class Record>
using Value = std::function<std::optional<double>(const Record&)>;

constexpr std::size_t most_points = 400;  // of a line; more are thinned out
constexpr const char* note_on_losses =
    "Strong lines are of the validation split, faint ones of training, with dropout and label smoothing.";
constexpr const char* note_on_bands =
    "The line of several runs, which differ in nothing but the seed, is their mean, as far as all of them have come; "
    "the band runs from the least to the greatest of them.";

/// Runs that differ in nothing but the seed.
struct AlikeRuns {
  std::string name;
  std::vector<const Metrics*> runs;
};

std::vector<AlikeRuns> alike_runs(const std::vector<NamedMetrics>& runs) {
  std::vector<AlikeRuns> all;
  std::map<Settings, std::size_t> by_settings;
  for (const NamedMetrics& run : runs) {
    const auto [found, fresh] = by_settings.emplace(run.settings, all.size());
    if (fresh) all.push_back({run.name, {}});
    all[found->second].runs.push_back(&run.metrics);
  }
  return all;
}

bool any_band(const std::vector<AlikeRuns>& all) {
  return std::any_of(all.begin(), all.end(), [](const AlikeRuns& alike) { return alike.runs.size() > 1; });
}

/// The mean at each update that all of the runs have which have any value. Behind the end of one it would be a mean of
/// those that went on, e.g. because they learn more slowly.
template <class Record>
Series line(const AlikeRuns& alike, std::vector<Record> Metrics::*records, std::size_t style,
            const Value<Record>& value) {
  std::map<std::uint64_t, std::vector<double>> by_update;
  std::size_t drawn = 0;
  for (const Metrics* run : alike.runs) {
    bool any = false;
    for (const Record& record : run->*records) {
      const auto y = value(record);
      if (!y || !std::isfinite(*y)) continue;
      by_update[record.update].push_back(*y);
      any = true;
    }
    drawn += any ? 1 : 0;
  }
  for (auto at = by_update.begin(); at != by_update.end();)
    at = at->second.size() < drawn ? by_update.erase(at) : std::next(at);
  Series series;
  series.name = drawn > 1 ? fmt::format("{} (mean of {} runs)", alike.name, drawn) : alike.name;
  series.style = style;
  const std::size_t step = 1 + by_update.size() / most_points;
  std::size_t left = by_update.size();
  for (const auto& [update, values] : by_update) {
    if (--left % step != 0) continue;  // the last one stays
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    series.x.push_back(static_cast<double>(update));
    series.y.push_back(statistics::mean(values));
    series.low.push_back(values.size() > 1 ? *low : report::nan);
    series.high.push_back(values.size() > 1 ? *high : report::nan);
    series.counts.push_back(values.size());
  }
  return series;
}

template <class Record>
std::vector<Series> lines_of(const std::vector<AlikeRuns>& all, std::vector<Record> Metrics::*records,
                             const Value<Record>& value) {
  std::vector<Series> lines;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Series series = line(all[i], records, i, value);
    if (!series.x.empty()) lines.push_back(std::move(series));
  }
  return lines;
}

Chart chart_of(const std::string& id, const std::string& title, const std::string& unit, std::vector<Series> lines,
               bool bands, bool log = false) {
  Chart chart;
  chart.id = id;
  chart.title = title;
  chart.x.title = "update";
  chart.y.title = unit.empty() ? title : fmt::format("{} ({})", title, unit);
  chart.panels.push_back({"", std::move(lines), {}, {}, {}});
  chart.y.log = log || report::spans(report::means_of(chart), 30);
  chart.alt = report::extremes(chart, title + " against update");
  chart.table = report::table_of(chart);
  chart.table.caption = chart.title + (bands ? ": mean [least, greatest] of runs that differ in the seed" : "");
  if (bands) chart.note = note_on_bands;
  return chart;
}

Chart losses(const std::vector<AlikeRuns>& all, bool log) {
  auto lines = lines_of<EvaluationRecord>(all, &Metrics::evaluations, [](const auto& r) { return r.loss; });
  for (Series& series : lines_of<UpdateRecord>(all, &Metrics::updates, [](const auto& r) { return r.loss; })) {
    series.name += ", training";
    series.kind = Series::Kind::seeds;
    series.low.clear();
    series.high.clear();
    lines.push_back(std::move(series));
  }
  Chart chart = chart_of("loss", "Loss", "nats a token", std::move(lines), any_band(all), log);
  chart.note = note_on_losses + (chart.note.empty() ? "" : " " + chart.note);
  return chart;
}

std::vector<Chart> curve_charts(const std::vector<AlikeRuns>& all, bool log_loss) {
  std::vector<Chart> charts = {losses(all, log_loss)};
  const auto add = [&](const char* id, const char* title, const char* unit, std::vector<Series> lines) {
    if (!lines.empty()) charts.push_back(chart_of(id, title, unit, std::move(lines), any_band(all)));
  };
  const auto of_evaluations = [&](const Value<EvaluationRecord>& value) {
    return lines_of<EvaluationRecord>(all, &Metrics::evaluations, value);
  };
  const auto of_updates = [&](const Value<UpdateRecord>& value) {
    return lines_of<UpdateRecord>(all, &Metrics::updates, value);
  };
  add("bits", "Loss", "bits a byte", of_evaluations([](const auto& r) { return r.bits_per_byte; }));
  add("tokens", "Token accuracy", "share", of_evaluations([](const auto& r) { return r.token_accuracy; }));
  add("sequences", "Sequence accuracy", "share", of_evaluations([](const auto& r) { return r.sequence_accuracy; }));
  add("bleu", "BLEU", "", of_evaluations([](const auto& r) { return r.bleu; }));
  add("chrf", "chrF2", "", of_evaluations([](const auto& r) { return r.chrf; }));
  add("gradient", "Gradient norm before clipping", "", of_updates([](const auto& r) { return r.gradient_norm; }));
  add("rate", "Learning rate", "", of_updates([](const auto& r) { return r.learning_rate; }));
  return charts;
}

std::string title_of(const std::vector<NamedMetrics>& runs) {
  std::vector<std::string> names;
  for (const NamedMetrics& run : runs) names.push_back(run.name);
  return fmt::format("Learning curves of {}", fmt::join(names, ", "));
}

}  // namespace

std::string curves_page(const std::vector<NamedMetrics>& runs, const std::string& chart_library, bool log_loss) {
  const std::vector<report::Section> sections = {{"curves", "Curves", curve_charts(alike_runs(runs), log_loss)}};
  return report::render_charts(
      report::charts_page,
      {{"title", title_of(runs)}, {"sections", report::to_json(sections)}, {"data", report::chart_data(sections)}},
      chart_library);
}

std::string curves_picture(const std::vector<NamedMetrics>& runs, bool log_loss) {
  const std::vector<AlikeRuns> all = alike_runs(runs);
  std::vector<std::string> notes = {note_on_losses};
  if (any_band(all)) notes.emplace_back(note_on_bands);
  return report::to_svg(curve_charts(all, log_loss), title_of(runs), notes);
}

}  // namespace surd
