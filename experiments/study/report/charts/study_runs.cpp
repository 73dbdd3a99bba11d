#include "experiments/study/report/charts/study_runs.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace surd::report {
namespace {

constexpr std::size_t arms_in_one_panel = 6;

}  // namespace

Layout::Layout(const Study& study) {
  const bool multiples = study.arms.size() > arms_in_one_panel && study.axes.size() > 1;
  if (!multiples) {
    panels = {""};
    for (std::size_t arm = 0; arm < study.arms.size(); ++arm) places.push_back({0, arm, study.arms[arm].name});
    return;
  }
  const Axis& first = study.axes.front();
  for (const Level& level : first.levels) panels.push_back(first.name + "=" + level.name);
  for (const Arm& arm : study.arms) {
    Place place{arm.levels.front(), 0, ""};
    for (std::size_t i = 1; i < study.axes.size(); ++i) {
      const Axis& axis = study.axes[i];
      place.style = place.style * axis.levels.size() + arm.levels[i];
      place.name += (i > 1 ? ", " : "") + axis.name + "=" + axis.levels[arm.levels[i]].name;
    }
    places.push_back(std::move(place));
  }
}

const char* description(Regime regime) {
  return regime == Regime::tuned ? "each arm's tuned settings" : "shared settings";
}

std::vector<SeedRun> StudyRuns::of(std::size_t arm, Regime regime) const {
  std::vector<SeedRun> found;
  PlannedRun run{arm, {}, 0};
  if (regime == Regime::tuned) {
    if (arm >= analysis.tuned.size() || !analysis.tuned[arm].done) return found;
    run.settings = analysis.tuned[arm].settings;
  }
  for (const std::uint64_t seed : study.seeds) {
    run.seed = seed;
    const std::string id = run.id(study);
    if (const RunResult* result = known(id)) found.push_back({seed, id, result});
  }
  return found;
}

std::vector<Regime> StudyRuns::regimes() const {
  std::vector<Regime> found;
  for (const Regime regime : {Regime::shared, Regime::tuned}) {
    bool any = false;
    for (std::size_t arm = 0; arm < study.arms.size() && !any; ++arm) any = !of(arm, regime).empty();
    if (any) found.push_back(regime);
  }
  return found;
}

void add_curves(Panel& panel, const std::string& name, std::size_t style, const std::vector<SeedCurve>& seeds) {
  std::map<double, std::vector<double>> by_x;
  Series faint{name, Series::Kind::seeds, style, {}, {}, {}, {}, {}};
  for (const SeedCurve& seed : seeds) {
    for (const auto& [x, y] : seed.points) {
      by_x[x];
      faint.x.push_back(x);
      faint.y.push_back(y);
    }
    faint.x.push_back(nan);
    faint.y.push_back(nan);
  }
  std::size_t drawn = 0;
  for (const SeedCurve& seed : seeds) {
    std::map<double, double> own(seed.points.begin(), seed.points.end());
    bool any = false;
    for (auto& [x, values] : by_x) {
      const auto found = own.find(x);
      const bool finite = found != own.end() && std::isfinite(found->second);
      if (!finite && !seed.afterwards) continue;
      values.push_back(finite ? found->second : *seed.afterwards);
      any = true;
    }
    drawn += any ? 1 : 0;
  }
  if (by_x.empty()) return;
  Series mean{name, Series::Kind::mean, style, {}, {}, {}, {}, {}};
  for (const auto& [x, values] : by_x) {
    if (values.size() < drawn) continue;  // those that are missing may be the faster ones
    mean.x.push_back(x);
    mean.counts.push_back(values.size());
    const Estimate estimate =
        estimate_of(ComparedBy::difference, std::vector<MetricValue>(values.begin(), values.end()));
    mean.y.push_back(estimate.value.nearest());
    mean.low.push_back(estimate.interval.low);
    mean.high.push_back(estimate.interval.high);
  }
  panel.series.push_back(std::move(faint));
  if (!mean.x.empty()) panel.series.push_back(std::move(mean));
}

}  // namespace surd::report
