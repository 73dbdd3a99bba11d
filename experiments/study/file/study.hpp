#pragma once

#include "experiments/run/run_config.hpp"
#include "experiments/study/file/hypothesis.hpp"
#include "experiments/study/metrics/metric.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// A study as its file describes it, read and checked before any run. The rooms of study/ build on each other in this
/// order: statistics <- metrics <- file <- execution <- verdicts <- report. They may use run/ and all below it, but
/// know nothing of commands/. Start here; read_study.hpp reads such a file, study_fields.hpp lists its keys,
/// hypothesis.hpp says what a hypothesis is.
namespace surd {

/// One setting of a config, as `--set` would write it, and where the study file says so.
struct Change {
  std::string key;    ///< "model.embedding.scale"
  std::string value;  ///< "sqrt_dim"
  Origin origin;
  bool formula = false;  ///< of a level: the value is a formula of numbers of axes, such as "1 / sqrt(d)"
};

/// One choice along an axis.
struct Level {
  std::string name;             ///< "sqrt(d)"; unique along its axis
  std::optional<double> value;  ///< the number that formulas, slopes and charts use for it
  std::vector<Change> set;
};

/// The columns of runs.csv beside those of the axes, which stand behind the first; no axis may be called like one.
inline constexpr const char* csv_columns[] = {"run", "settings", "seed", "status", "metric", "value", "unit", "bound"};

/// One factor of a study; the arms are the combinations of the levels of all axes, but for those that the study leaves
/// out.
struct Axis {
  std::string name;
  std::vector<Level> levels;
};

/// One combination of levels: what is compared with others.
struct Arm {
  std::string name;                 ///< "alpha=sqrt(d), tie=none"; "alone" where a study has no axes
  std::vector<std::size_t> levels;  ///< index of the level along each axis
  std::vector<Change> set;          ///< of all its levels, in the order of the axes, then of the study; all computed
  /// The value that its own config has for the key of each axis of the tuning, by key. A run of the tuning with these
  /// values is the same as one of the shared regime, and is not made again.
  std::map<std::string, std::string> own = {};
};

/// One number a run is judged by.
struct MetricSpec {
  std::string name;
  std::string kind;  ///< its name in metric_kinds()
  std::shared_ptr<const StudyMetric> metric;
  std::string unit = "";
  bool lower_is_better = true;
  ComparedBy compared_by = ComparedBy::difference;
  Origin origin = {};
};

/// How a tuning looks for an arm's settings: one coordinate after the other, each with the best of those before it,
/// where a grid may be extended by its own ratio (GrowAt); or by settings of all coordinates at once, drawn at random
/// from the product of their grids (Bergstra & Bengio 2012).
enum class TuningSearch { in_turn, jointly };
std::vector<std::string> names_of(TuningSearch);

/// Where a grid is extended: where its best value lies at its edge; or also where the tuning's seeds do not tell a
/// value at its edge from the best, because a few seeds may see the lowest point of a curve inside a grid that ends
/// short of it.
enum class GrowAt { best, alike };
std::vector<std::string> names_of(GrowAt);

/// One coordinate of the search for each arm's own settings, e.g. the learning rate.
struct TuningAxis {
  std::string name;
  std::string key;  ///< "optimizer.learning_rate"
  std::vector<double> values;
  std::size_t extensions = 2;  ///< how often the grid is extended, at most
  GrowAt grow_at = GrowAt::best;
  Origin origin = {};

  /// Every value that extending the grid can come to: downwards from its first one, then upwards from its last.
  std::vector<double> extended_values() const;
};
/// What follows the end of a grid by its own ratio, from its last value and the one before it, in either direction;
/// rounded so that it can be read in a path.
double extended(double last, double before);

struct Tuning {
  std::string metric;                ///< the values whose mean of it over the tuning's seeds is best are chosen
  std::vector<std::uint64_t> seeds;  ///< none of them a seed of the study
  std::vector<TuningAxis> axes;
  TuningSearch search = TuningSearch::in_turn;
  std::size_t settings = 0;  ///< jointly: how many of the product are tried, at most
  bool only = false;         ///< there is no shared regime

  /// The coordinate of the learning rate; null where that is not tuned.
  const TuningAxis* rates() const;
  /// How many settings the product of the grids has; the largest number where they are more.
  std::size_t product() const;
  /// Whether every setting of the product is tried.
  bool whole_product() const { return search == TuningSearch::jointly && settings >= product(); }
};

/// A change of the study after it was first written down, so that a reader can tell what was decided before the results
/// were seen from what was decided with them in sight.
struct Amendment {
  std::string date;  ///< ISO 8601: "2026-11-20"
  std::string what;  ///< what was changed
  std::string seen;  ///< what was known by then
};

/// A question, and the runs that answer it.
struct Study {
  std::string title, question, expectation;
  std::vector<std::size_t> claims;
  YamlDocument base;
  std::vector<Axis> axes;
  std::vector<Arm> arms;
  std::vector<std::uint64_t> seeds;
  std::optional<Tuning> tuning;
  std::vector<MetricSpec> metrics;
  std::vector<Hypothesis> hypotheses;
  bool quick = false;                      ///< cut down to be tried, not to be believed
  std::size_t looks = 1;                   ///< how often its verdicts are taken at most, each time with more seeds
  std::vector<Amendment> amendments = {};  ///< in the order of their dates

  /// So many seeds as it has none of yet, neither of its own nor of its tuning.
  std::vector<std::uint64_t> fresh_seeds(std::size_t count) const;

  std::vector<std::string> metric_names() const;
  std::vector<std::string> axis_names() const;
  const MetricSpec& metric(const std::string& name) const;
  std::size_t axis_index(const std::string& name) const;
  /// Whether these levels, one along each axis, are those named (an axis "regime" in it is ignored).
  bool fits(const std::vector<std::size_t>& levels, const Selector& selector) const;
  /// The arms that have the levels named (an axis "regime" in it is ignored), in order.
  std::vector<std::size_t> select(const Selector& selector) const;
  /// The levels of an arm along every axis but these.
  Selector levels_beside(std::size_t arm, const std::vector<std::size_t>& but) const;
  /// Level values by axis name, for formulas.
  std::map<std::string, double> numbers(std::size_t arm) const;
  /// The config of one run. Throws ConfigError located in the study file.
  RunConfig config(std::size_t arm, const std::vector<Change>& more, std::uint64_t seed) const;
  /// The same with the place of each of its keys.
  ConfigFile config_file(std::size_t arm, const std::vector<Change>& more, std::uint64_t seed) const;
};

}  // namespace surd
