#include "experiments/study/report/charts/study_runs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace surd::report {
namespace {

struct Curve {
  const char* id;
  const char* title;
  const char* unit;
  double EvaluationRecord::*value;
};
constexpr Curve curves_shown[] = {{"loss", "Validation loss", "nats a token", &EvaluationRecord::loss},
                                  {"accuracy", "Token accuracy", "share of tokens", &EvaluationRecord::token_accuracy}};

/// Of records of a run that are more than a chart needs, one in `step` is shown.
struct Thinning {
  template <class Record>
  Thinning(const StudyRuns& runs, Regime regime, std::vector<Record> Metrics::*records, std::size_t most) {
    for (std::size_t arm = 0; arm < runs.study.arms.size(); ++arm)
      for (const SeedRun& run : runs.of(arm, regime))
        longest = std::max(longest, (run.result->metrics.*records).size());
    step = std::max<std::size_t>(1, (longest + most - 1) / most);
  }
  std::string note(const char* what) const {
    return step == 1 ? "" : fmt::format(" Of {} {} one in {} is shown.", longest, what, step);
  }

  std::size_t longest = 0, step;
};

Chart learning_curve(const StudyRuns& runs, const Curve& curve, Regime regime) {
  Chart chart;
  chart.id = fmt::format("{}-{}", curve.id, name_of(regime));
  chart.title = fmt::format("{} against update, {}", curve.title, description(regime));
  chart.x.title = "update";
  chart.y.title = fmt::format("{} ({})", curve.title, curve.unit);
  for (const std::string& title : runs.layout.panels) chart.panels.push_back({title, {}, {}, {}, {}});
  const Thinning thinning(runs, regime, &Metrics::evaluations, 400);
  double largest_first = 0;
  std::size_t diverged = 0;
  for (std::size_t arm = 0; arm < runs.study.arms.size(); ++arm) {
    std::vector<SeedCurve> seeds;
    for (const SeedRun& run : runs.of(arm, regime)) {
      Points points;
      const std::vector<EvaluationRecord>& evaluations = run.result->metrics.evaluations;
      for (std::size_t i = 0; i < evaluations.size(); i += thinning.step)
        points.emplace_back(static_cast<double>(evaluations[i].update), evaluations[i].*curve.value);
      if (!points.empty()) largest_first = std::max(largest_first, points.front().second);
      std::optional<double> afterwards;
      if (run.result->status == RunResult::Status::diverged) {
        ++diverged;
        if (!points.empty()) afterwards = points.front().second;
      }
      seeds.push_back({std::move(points), afterwards});
    }
    const Layout::Place& place = runs.layout.places[arm];
    add_curves(chart.panels[place.panel], place.name, place.style, seeds);
  }
  chart.note =
      "Lines are pseudo-medians over seeds, bands their 95 % intervals (from six seeds on), faint lines the single "
      "seeds. Where runs end at different updates, a line ends with the first of them.";
  chart.note += thinning.note("evaluations");
  if (diverged > 0)
    chart.note += fmt::format(
        " Diverged runs: {}; the line of such a run ends, and the pseudo-median takes it from there on for its first "
        "value, as the metrics do.",
        diverged);
  if (curve.value == &EvaluationRecord::loss) {
    chart.y.log = spans(means_of(chart), 30);
    if (largest_first > 0) chart.y.cap = 1.5 * largest_first;
    chart.note += " Losses above one and a half times the largest first one are cut off.";
  }
  chart.alt = extremes(chart, fmt::format("{} against update", curve.title));
  chart.table = table_of(chart);
  return chart;
}

/// The norm of all gradients before clipping, at the logged updates.
std::optional<Chart> gradient_curve(const StudyRuns& runs, Regime regime) {
  const Thinning thinning(runs, regime, &Metrics::updates, 100);
  if (thinning.longest == 0) return std::nullopt;
  Chart chart;
  chart.id = fmt::format("gradient-norm-{}", name_of(regime));
  chart.title = fmt::format("Gradient norm against update, {}", description(regime));
  chart.x.title = "update";
  chart.y.title = "norm of all gradients";
  for (const std::string& title : runs.layout.panels) chart.panels.push_back({title, {}, {}, {}, {}});
  for (std::size_t arm = 0; arm < runs.study.arms.size(); ++arm) {
    std::vector<SeedCurve> seeds;
    for (const SeedRun& run : runs.of(arm, regime)) {
      Points points;
      const std::vector<UpdateRecord>& updates = run.result->metrics.updates;
      for (std::size_t i = 0; i < updates.size(); i += thinning.step)
        points.emplace_back(static_cast<double>(updates[i].update), updates[i].gradient_norm);
      seeds.push_back({std::move(points), std::nullopt});
    }
    const Layout::Place& place = runs.layout.places[arm];
    add_curves(chart.panels[place.panel], place.name, place.style, seeds);
  }
  chart.y.log = spans(means_of(chart), 3);
  chart.note =
      "Norms before clipping; lines are pseudo-medians over seeds, bands their 95 % intervals (from six on). Where "
      "runs end at different updates, a line ends with the first of them.";
  chart.note += thinning.note("logged updates");
  chart.alt = extremes(chart, "Gradient norm against update");
  chart.table = table_of(chart);
  return chart;
}

}  // namespace

std::vector<Chart> gradient_curves(const StudyRuns& runs) {
  std::vector<Chart> charts;
  for (const Regime regime : runs.regimes())
    if (auto chart = gradient_curve(runs, regime)) charts.push_back(std::move(*chart));
  return charts;
}

std::vector<Chart> learning_curves(const StudyRuns& runs) {
  std::vector<Chart> charts;
  for (const Regime regime : runs.regimes())
    for (const Curve& curve : curves_shown) charts.push_back(learning_curve(runs, curve, regime));
  return charts;
}

}  // namespace surd::report
