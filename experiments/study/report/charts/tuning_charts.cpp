#include "experiments/study/report/charts/study_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

namespace surd::report {
namespace {

/// Values over seeds by the number that a key is set to.
using Sweep = std::map<double, std::vector<double>>;

/// Number of a key among settings.
std::optional<double> number(const std::vector<Change>& settings, const std::string& key) {
  for (const Change& change : settings)
    if (change.key == key) return std::strtod(change.value.c_str(), nullptr);
  return std::nullopt;
}

/// Of each value of one coordinate, the settings whose mean is best: what a joint search says of it. Settings of which
/// a run diverged come last, as in the search.
Sweep best_at_each(const std::map<std::string, Sweep>& by_others, const std::map<std::string, std::set<double>>& bad,
                   bool lower_is_better) {
  Sweep best;
  std::map<double, std::pair<bool, double>> rank;
  for (const auto& [others, found] : by_others)
    for (const auto& [x, values] : found) {
      const auto diverged = bad.find(others);
      const std::pair<bool, double> own(diverged != bad.end() && diverged->second.count(x) > 0,
                                        (lower_is_better ? 1 : -1) * statistics::mean(values));
      const auto [entry, fresh] = rank.emplace(x, own);
      if (!fresh && !(own < entry->second)) continue;
      entry->second = own;
      best[x] = values;
    }
  return best;
}

/// The runs of an arm along one coordinate: of those that differ in nothing else, the most; where all coordinates were
/// searched jointly, best_at_each().
Sweep sweep(const StudyRuns& runs, std::size_t arm, const TuningAxis& axis) {
  const MetricSpec& metric = runs.study.metric(runs.study.tuning->metric);
  std::map<std::string, Sweep> by_others;
  std::map<std::string, std::set<double>> diverged;
  for (const PlannedRun& run : runs.analysis.tuned[arm].runs) {
    const auto x = number(run.settings, axis.key);
    const RunResult* result = runs.known(run.id(runs.study));
    if (!x || result == nullptr) continue;
    std::string others;
    for (const Change& change : run.settings)
      if (change.key != axis.key) others += change.key + "=" + change.value + ",";
    if (result->status == RunResult::Status::diverged) diverged[others].insert(*x);
    if (const auto value = metric_value(runs.study, metric, arm, *result))
      by_others[others][*x].push_back(value->nearest());
  }
  if (runs.study.tuning->search == TuningSearch::jointly)
    return best_at_each(by_others, diverged, metric.lower_is_better);
  Sweep longest;
  for (auto& [others, found] : by_others)
    if (found.size() > longest.size()) longest = std::move(found);
  return longest;
}

/// " rate_sensitivity: ARM 0.12 [0.1, 0.2]; ..." of each metric of the tuning.
std::string metrics_of_tuning(const StudyRuns& runs) {
  std::string text;
  for (const MetricSpec& metric : runs.study.metrics) {
    if (!metric.metric->of_tuning()) continue;
    std::vector<std::string> arms;
    for (const ArmSummary& summary : runs.analysis.summaries)
      if (summary.metric == metric.name)
        arms.push_back(fmt::format("{} {}", runs.study.arms[summary.arm].name, number_text(summary.estimate)));
    if (!arms.empty()) text += fmt::format(" {}: {}.", metric.name, fmt::join(arms, "; "));
  }
  return text;
}

/// " How flat the optimum is: ARM is 0.1 ahead of the next of 5 settings, and 2 others are not told apart from it;
/// ...".
std::string flatness_of_arms(const StudyRuns& runs) {
  std::vector<std::string> arms;
  for (std::size_t arm = 0; arm < runs.analysis.tuned.size(); ++arm) {
    const auto& flat = runs.analysis.tuned[arm].flatness;
    if (!flat || flat->tried < 2) continue;
    std::string text = fmt::format("{}: ", runs.study.arms[arm].name);
    text += flat->ahead ? fmt::format("{} ahead of the next of {} settings", number_text(*flat->ahead), flat->tried)
                        : fmt::format("{} settings", flat->tried);
    if (flat->alike) text += fmt::format(", {} not told apart from it", *flat->alike);
    arms.push_back(text);
  }
  return arms.empty() ? "" : fmt::format(" How flat the optimum is: {}.", fmt::join(arms, "; "));
}

Chart tuning_chart(const StudyRuns& runs, const TuningAxis& axis, bool first) {
  const Tuning& tuning = *runs.study.tuning;
  const MetricSpec& metric = runs.study.metric(tuning.metric);
  Chart chart;
  chart.id = "tuning-" + axis.name;
  chart.title = fmt::format("Tuning: {} against {}", metric.name, axis.name);
  chart.x = {axis.key, spans(axis.values, 10), std::nullopt};
  chart.y.title = heading_of(metric);
  for (const std::string& title : runs.layout.panels) chart.panels.push_back({title, {}, {}, {}, {}});
  std::vector<double> means;
  for (std::size_t arm = 0; arm < runs.analysis.tuned.size(); ++arm) {
    const Layout::Place& place = runs.layout.places[arm];
    Series mean{place.name, Series::Kind::mean, place.style, {}, {}, {}, {}, {}};
    Series chosen{place.name, Series::Kind::chosen, place.style, {}, {}, {}, {}, {}};
    const auto best = number(runs.analysis.tuned[arm].settings, axis.key);
    for (const auto& [x, values] : sweep(runs, arm, axis)) {
      mean.x.push_back(x);
      mean.y.push_back(statistics::mean(values));
      mean.low.push_back(*std::min_element(values.begin(), values.end()));
      mean.high.push_back(*std::max_element(values.begin(), values.end()));
      mean.counts.push_back(values.size());
      if (best && *best == x) {
        chosen.x.push_back(x);
        chosen.y.push_back(mean.y.back());
      }
    }
    if (mean.x.empty()) continue;
    means.insert(means.end(), mean.y.begin(), mean.y.end());
    Panel& panel = chart.panels[place.panel];
    panel.series.push_back(std::move(mean));
    if (!chosen.x.empty()) panel.series.push_back(std::move(chosen));
  }
  chart.error_bars = true;
  chart.y.log = metric.lower_is_better && spans(means, 30);
  chart.note = fmt::format(
      "Means over {} seeds that the study itself does not use; bars run from the least to the "
      "greatest of them; a ring marks what was chosen.{}{}{}",
      tuning.seeds.size(),
      tuning.search == TuningSearch::jointly
          ? fmt::format(" Each point is the best of the settings with this {} that were tried.", axis.name)
          : "",
      first ? metrics_of_tuning(runs) : "", first ? flatness_of_arms(runs) : "");
  chart.alt = extremes(chart, chart.title);
  chart.table = table_of(chart);
  chart.table.caption = chart.title + ": mean [least, greatest] over the tuning's seeds";
  return chart;
}

}  // namespace

std::vector<Chart> tuning_charts(const StudyRuns& runs) {
  std::vector<Chart> charts;
  if (!runs.study.tuning || runs.analysis.tuned.empty()) return charts;
  for (const TuningAxis& axis : runs.study.tuning->axes) charts.push_back(tuning_chart(runs, axis, charts.empty()));
  return charts;
}

}  // namespace surd::report
