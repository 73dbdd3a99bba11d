#include "experiments/study/report/charts/study_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace surd::report {
namespace {

struct Quantity {
  const char* what;
  const char* statistic;
  const char* title;
};
constexpr Quantity quantities[] = {
    {"scores", "std", "Standard deviation of attention scores"}, {"weights", "entropy", "Normalised attention entropy"},
    {"logits", "std", "Standard deviation of output logits"},    {"logits", "max", "Largest output logit"},
    {"embedding", "rho", "Token to position ratio rho"},
};

Chart probe_chart(const StudyRuns& runs, const Quantity& quantity, Regime regime, const std::set<std::string>& paths) {
  Chart chart;
  chart.id = fmt::format("{}-{}-{}", quantity.what, quantity.statistic, name_of(regime));
  chart.title = fmt::format("{} over time, {}", quantity.title, description(regime));
  chart.x.title = "update";
  chart.y.title = quantity.title;
  for (const std::string& path : paths) {
    Panel panel{path, {}, {}, {}, {}};
    for (std::size_t arm = 0; arm < runs.study.arms.size(); ++arm) {
      std::vector<SeedCurve> seeds;
      for (const SeedRun& run : runs.of(arm, regime)) {
        Points points;
        if (const ProbeSeries* series = run.result->probe.find(path, quantity.what, quantity.statistic))
          for (const auto& [update, value] : series->numbers) points.emplace_back(static_cast<double>(update), value);
        if (!points.empty()) seeds.push_back({std::move(points), std::nullopt});
      }
      add_curves(panel, runs.study.arms[arm].name, arm, seeds);
    }
    chart.panels.push_back(std::move(panel));
  }
  chart.y.log = spans(means_of(chart), 30);
  chart.note =
      "One panel a module; lines are pseudo-medians over seeds, bands their 95 % intervals (from six seeds on). Where "
      "runs end at different updates, a line ends with the first of them.";
  chart.alt = extremes(chart, quantity.title + std::string(" against update"));
  chart.table = table_of(chart);
  return chart;
}

}  // namespace

std::vector<Chart> probe_charts(const StudyRuns& runs) {
  std::vector<Chart> charts;
  for (const Regime regime : runs.regimes()) {
    std::map<std::pair<std::string, std::string>, std::set<std::string>> paths;
    for (std::size_t arm = 0; arm < runs.study.arms.size(); ++arm)
      for (const SeedRun& run : runs.of(arm, regime))
        for (const ProbeSeries& series : run.result->probe) paths[{series.what, series.statistic}].insert(series.path);
    for (const Quantity& quantity : quantities) {
      const auto found = paths.find({quantity.what, quantity.statistic});
      if (found != paths.end()) charts.push_back(probe_chart(runs, quantity, regime, found->second));
    }
  }
  return charts;
}

std::vector<Chart> gradient_heatmap(const StudyRuns& runs) {
  constexpr std::size_t most_rows = 40;
  const auto regimes = runs.regimes();
  if (regimes.empty()) return {};
  const auto shared_name = [](const std::string& name) { return name.substr(0, name.rfind('.')); };
  // Squares of norms by arm, row, update and run; a run's parts are added, runs are averaged in logarithms.
  std::vector<std::string> names;
  std::vector<std::vector<const ProbeSeries*>> by_run;
  std::vector<std::size_t> arm_of_run;
  for (std::size_t arm = 0; arm < runs.study.arms.size(); ++arm) {
    for (const SeedRun& run : runs.of(arm, regimes.front())) {
      arm_of_run.push_back(arm);
      by_run.emplace_back();
      for (const ProbeSeries& series : run.result->probe) {
        if (series.what != "parameter" || series.statistic != "gradient_norm") continue;
        by_run.back().push_back(&series);
        if (std::find(names.begin(), names.end(), series.path) == names.end()) names.push_back(series.path);
      }
    }
  }
  if (names.empty()) return {};
  const bool by_layer = names.size() > most_rows;
  std::vector<std::string> rows;
  std::map<std::string, std::size_t> row_of;
  for (const std::string& name : names) {
    const std::string row = by_layer ? shared_name(name) : name;
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
    row_of[name] = static_cast<std::size_t>(std::find(rows.begin(), rows.end(), row) - rows.begin());
  }
  Chart chart;
  chart.id = "gradient-norms";
  chart.kind = Chart::Kind::heatmap;
  chart.title =
      fmt::format("Gradient norm by {} and update, {}", by_layer ? "layer" : "parameter", description(regimes.front()));
  chart.x.title = "update";
  chart.y.title = "gradient norm";
  chart.y.log = true;
  chart.note = "Norms before clipping, geometric mean over seeds; the colour is logarithmic.";
  double least = std::numeric_limits<double>::infinity(), greatest = 0;
  std::string least_name, greatest_name;
  std::set<double> updates;
  for (const auto& all : by_run)
    for (const ProbeSeries* series : all)
      for (const auto& [update, norm] : series->numbers) updates.insert(static_cast<double>(update));
  chart.table = {chart.title, {"arm", by_layer ? "layer" : "parameter"}, {}};
  std::vector<std::string> columns;
  for (const double update : updates) columns.push_back(number_text(update));
  for (const std::string& update : columns) chart.table.columns.push_back("update " + update);
  for (std::size_t arm = 0; arm < runs.study.arms.size(); ++arm) {
    if (std::find(arm_of_run.begin(), arm_of_run.end(), arm) == arm_of_run.end())
      continue;  // it has none of this regime
    std::vector<std::map<double, std::vector<double>>> logs(rows.size());
    for (std::size_t run = 0; run < by_run.size(); ++run) {
      if (arm_of_run[run] != arm) continue;
      std::vector<std::map<double, double>> squares(rows.size());
      for (const ProbeSeries* series : by_run[run])
        for (const auto& [update, norm] : series->numbers)
          squares[row_of[series->path]][static_cast<double>(update)] += norm * norm;
      for (std::size_t row = 0; row < rows.size(); ++row)
        for (const auto& [update, square] : squares[row])
          if (std::isfinite(square) && square > 0) logs[row][update].push_back(0.5 * std::log(square));
    }
    Panel panel{runs.study.arms[arm].name, {}, rows, columns, {}};
    for (std::size_t row = 0; row < rows.size(); ++row) {
      std::vector<std::string> cells{panel.title, rows[row]};
      panel.z.emplace_back();
      for (const double update : updates) {
        const auto found = logs[row].find(update);
        const double norm = found == logs[row].end() ? nan : std::exp(statistics::mean(found->second));
        panel.z.back().push_back(norm);
        cells.push_back(number_text(norm));
        if (norm < least) least = norm, least_name = rows[row] + " of " + panel.title;
        if (norm > greatest) greatest = norm, greatest_name = rows[row] + " of " + panel.title;
      }
      chart.table.rows.push_back(std::move(cells));
    }
    chart.panels.push_back(std::move(panel));
  }
  chart.alt = fmt::format("Gradient norms of {} rows over {} updates run from {} ({}) to {} ({}).", rows.size(),
                          updates.size(), number_text(least), least_name, number_text(greatest), greatest_name);
  return {std::move(chart)};
}

}  // namespace surd::report
