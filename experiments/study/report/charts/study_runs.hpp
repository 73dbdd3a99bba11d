#pragma once

#include "experiments/study/report/charts/chart.hpp"
#include "experiments/study/verdicts/analysis.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace surd::report {

/// Where the arms of a study stand in its charts: beside each other in one, or, where they are many, in one for each
/// level of the first axis.
struct Layout {
  explicit Layout(const Study& study);

  struct Place {
    std::size_t panel;
    std::size_t style;
    std::string name;  ///< in its panel
  };
  std::vector<std::string> panels;  ///< titles
  std::vector<Place> places;        ///< by arm
};

struct SeedRun {
  std::uint64_t seed;
  std::string id;
  const RunResult* result;
};

/// All that the charts are made of.
struct StudyRuns {
  const Study& study;
  const Analysis& analysis;
  const KnownResults& known;
  Layout layout;

  StudyRuns(const Study& a_study, const Analysis& an_analysis, const KnownResults& known_results)
      : study(a_study), analysis(an_analysis), known(known_results), layout(a_study) {}

  /// Runs of an arm that have ended, by seed.
  std::vector<SeedRun> of(std::size_t arm, Regime regime) const;
  /// Those in which any run has ended.
  std::vector<Regime> regimes() const;
};
const char* description(Regime regime);  ///< "shared settings"

/// Values of one run: (x, y) in the order of x.
using Points = std::vector<std::pair<double, double>>;
struct SeedCurve {
  Points points;
  std::optional<double> afterwards;  ///< what the line takes it for where it has no number (any more)
};
/// Adds to the panel the pseudo-median with its band over seeds, and the faint lines of the seeds.
void add_curves(Panel& panel, const std::string& name, std::size_t style, const std::vector<SeedCurve>& seeds);

std::vector<Chart> learning_curves(const StudyRuns& runs);
std::vector<Chart> tuning_charts(const StudyRuns& runs);
std::vector<Chart> probe_charts(const StudyRuns& runs);
std::vector<Chart> gradient_curves(const StudyRuns& runs);   ///< one a regime
std::vector<Chart> gradient_heatmap(const StudyRuns& runs);  ///< none or one
std::vector<Chart> axis_charts(const StudyRuns& runs);
std::vector<Chart> divergence_chart(const StudyRuns& runs);
std::vector<Chart> factor_chart(const StudyRuns& runs);

}  // namespace surd::report
