#include "experiments/study/report/charts/study_runs.hpp"
#include "experiments/study/verdicts/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace surd::report {
namespace {

bool numeric(const Axis& axis) {
  std::set<double> values;
  for (const Level& level : axis.levels) {
    if (!level.value) return false;
    values.insert(*level.value);
  }
  return values.size() > 1;
}

/// Levels along all axes but two, as a name.
std::string others_of(const Study& study, std::size_t arm, std::size_t axis, std::optional<std::size_t> panel) {
  std::string name;
  for (std::size_t i = 0; i < study.axes.size(); ++i)
    if (i != axis && i != panel)
      name += fmt::format("{}{}={}", name.empty() ? "" : ", ", study.axes[i].name,
                          study.axes[i].levels[study.arms[arm].levels[i]].name);
  return name;
}

/// How a check of a slope names the arms it was taken over.
std::string group_of(const Study& study, std::size_t arm, std::size_t axis) {
  return text_of(study.levels_beside(arm, {axis}));
}

void sort_by_x(Series& series) {
  std::vector<std::size_t> order(series.x.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return series.x[a] < series.x[b]; });
  const auto sorted = [&](std::vector<double>& values) {
    if (values.empty()) return;
    std::vector<double> copy;
    for (const std::size_t i : order) copy.push_back(values[i]);
    values = std::move(copy);
  };
  sorted(series.x), sorted(series.y), sorted(series.low), sorted(series.high);
}

/// What the hypotheses about this metric expect: a value for each arm, or a slope through the middle of the points.
void add_theory(const StudyRuns& runs, const std::string& metric, std::size_t axis, Regime regime,
                const std::map<std::size_t, std::pair<std::size_t, std::string>>& place_of, Chart& chart) {
  const Study& study = runs.study;
  for (const HypothesisResult& result : runs.analysis.hypotheses) {
    const Hypothesis& hypothesis = study.hypotheses[result.hypothesis];
    if (hypothesis.metric != metric || hypothesis.regime != regime || !hypothesis.along.empty()) continue;
    if (!hypothesis.over.empty() && hypothesis.over != study.axes[axis].name) continue;
    std::map<std::pair<std::size_t, std::string>, Series> lines;
    for (const Check& check : result.checks) {
      if (!check.expected) continue;
      if (hypothesis.over.empty()) {
        for (const auto& [arm, place] : place_of) {
          if (study.arms[arm].name != check.label) continue;
          Series& line = lines[place];
          line.x.push_back(*study.axes[axis].levels[study.arms[arm].levels[axis]].value);
          line.y.push_back(*check.expected);
        }
        continue;
      }
      std::set<std::pair<std::size_t, std::string>> places;  // of the line that the slope was taken of
      for (const auto& [arm, place] : place_of)
        if (group_of(study, arm, axis) == check.label) places.insert(place);
      for (const auto& place : places) {
        for (const Series& measured : chart.panels[place.first].series) {
          if (measured.name != (place.second.empty() ? "all arms" : place.second)) continue;
          double log_x = 0, log_y = 0, n = 0;
          for (std::size_t i = 0; i < measured.x.size(); ++i) {
            if (!(measured.x[i] > 0) || !(measured.y[i] > 0)) continue;
            log_x += std::log(measured.x[i]), log_y += std::log(measured.y[i]), ++n;
          }
          if (n < 2) continue;
          Series& line = lines[place];
          line.x = measured.x;
          for (const double x : measured.x)
            line.y.push_back(std::exp(log_y / n + *check.expected * (std::log(x) - log_x / n)));
        }
      }
    }
    for (auto& [place, line] : lines) {
      line.kind = Series::Kind::theory;
      line.name = fmt::format("theory: {}{}", hypothesis.formula, place.second.empty() ? "" : ", " + place.second);
      sort_by_x(line);
      chart.panels[place.first].series.push_back(std::move(line));
    }
  }
}

/// Whether a logarithmic axis may show the metric: an accuracy ends at 1, and its upper half is what matters.
bool may_be_logarithmic(const MetricSpec& metric) {
  return metric.lower_is_better || metric.compared_by == ComparedBy::ratio;
}

std::optional<Chart> axis_chart(const StudyRuns& runs, const MetricSpec& metric, std::size_t axis, Regime regime) {
  const Study& study = runs.study;
  std::optional<std::size_t> panel_axis;
  for (std::size_t i = study.axes.size(); i-- > 0;)
    if (i != axis && study.axes.size() > 2) panel_axis = i;  // the first of the others
  Chart chart;
  chart.id = fmt::format("metric-{}-{}-{}", metric.name, study.axes[axis].name, name_of(regime));
  chart.title = fmt::format("{} against {}, {}", metric.name, study.axes[axis].name, description(regime));
  const std::size_t panels = panel_axis ? study.axes[*panel_axis].levels.size() : 1;
  for (std::size_t i = 0; i < panels; ++i)
    chart.panels.push_back(
        {panel_axis ? study.axes[*panel_axis].name + "=" + study.axes[*panel_axis].levels[i].name : "",
         {},
         {},
         {},
         {}});
  std::vector<double> xs, ys;
  std::vector<std::string> styles;
  std::map<std::size_t, std::pair<std::size_t, std::string>> place_of;
  std::size_t censored = 0;
  for (const ArmSummary& summary : runs.analysis.summaries) {
    if (summary.metric != metric.name || summary.regime != regime || summary.values.empty()) continue;
    const Arm& arm = study.arms[summary.arm];
    const std::size_t panel = panel_axis ? arm.levels[*panel_axis] : 0;
    std::string name = others_of(study, summary.arm, axis, panel_axis);
    place_of[summary.arm] = {panel, name};
    if (name.empty()) name = "all arms";
    auto style = std::find(styles.begin(), styles.end(), name);
    if (style == styles.end()) style = styles.insert(styles.end(), name);
    auto& lines = chart.panels[panel].series;
    auto line = std::find_if(lines.begin(), lines.end(), [&](const Series& series) { return series.name == name; });
    if (line == lines.end()) {
      const auto number = static_cast<std::size_t>(style - styles.begin());
      line = lines.insert(lines.end(), {name, Series::Kind::mean, number, {}, {}, {}, {}, {}});
    }
    line->x.push_back(*study.axes[axis].levels[arm.levels[axis]].value);
    line->y.push_back(summary.estimate.value.nearest());
    line->low.push_back(summary.estimate.interval.low);
    line->high.push_back(summary.estimate.interval.high);
    xs.push_back(line->x.back());
    ys.push_back(line->y.back());
    censored += summary.censored();
  }
  if (xs.size() < 2) return std::nullopt;
  chart.error_bars = true;
  for (Panel& panel : chart.panels)
    for (Series& series : panel.series) sort_by_x(series);
  add_theory(runs, metric.name, axis, regime, place_of, chart);
  // A power law is a straight line where both axes are logarithmic.
  const auto& hypotheses = study.hypotheses;
  const bool power_law = std::any_of(hypotheses.begin(), hypotheses.end(), [&](const Hypothesis& hypothesis) {
    return !hypothesis.formula.empty() && hypothesis.metric == metric.name && hypothesis.along.empty() &&
           hypothesis.over == study.axes[axis].name;
  });
  chart.x = {study.axes[axis].name, spans(xs, power_law ? 1 : 10), std::nullopt};
  chart.y = {heading_of(metric),
             may_be_logarithmic(metric) && spans(ys, power_law || metric.compared_by == ComparedBy::ratio ? 1 : 10),
             std::nullopt};
  chart.note = "Points are pseudo-medians over seeds with 95 % intervals.";
  if (censored > 0)
    chart.note += fmt::format(" Of {} runs only a bound is known; a point that rests on them is one too.", censored);
  chart.alt = extremes(chart, fmt::format("{} against {}", metric.name, study.axes[axis].name));
  chart.table = table_of(chart);
  return chart;
}

}  // namespace

std::vector<Chart> axis_charts(const StudyRuns& runs) {
  std::vector<Chart> charts;
  for (std::size_t axis = 0; axis < runs.study.axes.size(); ++axis) {
    if (!numeric(runs.study.axes[axis])) continue;
    for (const MetricSpec& metric : runs.study.metrics)
      for (const Regime regime : {Regime::shared, Regime::tuned})
        if (auto chart = axis_chart(runs, metric, axis, regime)) charts.push_back(std::move(*chart));
  }
  return charts;
}

std::vector<Chart> divergence_chart(const StudyRuns& runs) {
  const auto& endings = runs.analysis.endings;
  if (endings.empty()) return {};
  Chart chart;
  chart.id = "divergence";
  chart.kind = Chart::Kind::intervals;
  chart.title = "Share of runs that diverged";
  chart.x.title = "share of runs";
  chart.note =
      "Points with 95 % Wilson intervals, of the runs that did not fail: none out of ten still allows 28 %. One whose "
      "loss "
      "ended above that before training counts as diverged here.";
  chart.table = {"Endings of runs by arm and settings", {"arm", "settings", "runs", "diverged", "share", "failed"}, {}};
  Panel panel{"", {{"diverged", Series::Kind::mean, 1, {}, {}, {}, {}, {}}}, {}, {}, {}};
  std::size_t all = 0, diverged = 0, failed = 0;
  for (const Endings& ending : endings) {
    all += ending.runs, diverged += ending.diverged, failed += ending.failed;
    std::string settings;
    for (const Change& change : ending.settings)
      settings += fmt::format("{}{}={}", settings.empty() ? "" : ", ", change.key, change.value);
    const std::string& arm = runs.study.arms[ending.arm].name;
    const std::size_t trained = ending.runs - ending.failed;
    const double share = trained == 0 ? nan : static_cast<double>(ending.diverged) / static_cast<double>(trained);
    chart.table.rows.push_back({arm, settings.empty() ? "as in the base config" : settings, std::to_string(ending.runs),
                                std::to_string(ending.diverged), number_text(share, ending.diverged_interval),
                                std::to_string(ending.failed)});
    if (trained == 0 || (ending.diverged == 0 && !ending.settings.empty())) continue;
    panel.rows.push_back(settings.empty() ? arm : arm + " · " + settings);
    panel.series[0].x.push_back(share);
    panel.series[0].low.push_back(ending.diverged_interval.low);
    panel.series[0].high.push_back(ending.diverged_interval.high);
  }
  if (diverged == 0) return {};
  chart.panels.push_back(std::move(panel));
  chart.note += " Tuned settings without a diverged run are in the table only.";
  chart.alt = fmt::format("Of {} runs {} diverged and {} failed.", all, diverged, failed);
  return {std::move(chart)};
}

std::vector<Chart> factor_chart(const StudyRuns& runs) {
  const auto& effects = runs.analysis.factor_effects;
  if (effects.empty()) return {};
  const MetricSpec& metric = runs.study.metrics.front();
  Chart chart;
  chart.id = "factor-effects";
  chart.kind = Chart::Kind::intervals;
  chart.title = fmt::format("Factor effects on {}", metric.name);
  const bool ratio = metric.compared_by == ComparedBy::ratio;
  chart.x = {ratio                 ? "effect (times)"
             : metric.unit.empty() ? "effect"
                                   : fmt::format("effect ({})", metric.unit),
             ratio, std::nullopt};
  chart.note = fmt::format("{} between the levels of each axis, and of their products; 95 % intervals.",
                           ratio ? "The root of the mean ratio" : "Half the mean difference");
  chart.table = {chart.title, {"axes", "effect [95 % interval]"}, {}};
  Panel panel{"", {{"effect", Series::Kind::mean, 0, {}, {}, {}, {}, {}}}, {}, {}, {}};
  std::size_t clear = 0;
  for (const auto& effect : effects) {
    panel.rows.push_back(fmt::format("{}", fmt::join(effect.axes, " × ")));
    const auto& [low, high] = effect.effect.interval;
    panel.series[0].x.push_back(effect.effect.value.nearest());
    panel.series[0].low.push_back(low);
    panel.series[0].high.push_back(high);
    clear += low > (ratio ? 1 : 0) || high < (ratio ? 1 : 0) ? 1 : 0;
    chart.table.rows.push_back({panel.rows.back(), number_text(effect.effect)});
  }
  chart.panels.push_back(std::move(panel));
  chart.alt = fmt::format("The intervals of {} of {} factor effects on {} leave out {}.", clear, effects.size(),
                          metric.name, ratio ? 1 : 0);
  return {std::move(chart)};
}

}  // namespace surd::report
