#pragma once

#include "experiments/run/run_config.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace surd {

/// One setting of a config, as `--set` would write it, and where the study file says so.
struct Change {
  std::string key;    ///< "model.embedding.scale"
  std::string value;  ///< "sqrt_dim"
  Origin origin;
};

/// One choice along an axis.
struct Level {
  std::string name;             ///< "sqrt(d)"; unique along its axis
  std::optional<double> value;  ///< what formulas, slopes and charts take it for
  std::vector<Change> set;
};

/// One factor of a study; the arms are every combination of the levels of all axes.
struct Axis {
  std::string name;
  std::vector<Level> levels;
};

/// One combination of levels: what is compared with others.
struct Arm {
  std::string name;                 ///< "alpha=sqrt(d), tie=none"; "alone" where a study has no axes
  std::vector<std::size_t> levels;  ///< index of the level along each axis
  std::vector<Change> set;          ///< of all its levels, in the order of the axes
  /// What its own config has for the key of each axis of the tuning: a run with these is one of the shared regime.
  std::map<std::string, std::string> own = {};
};

/// One number a run is judged by.
struct MetricSpec {
  enum class Kind {
    final_value,         ///< `of` at the last evaluation; losses of a diverged run count as the loss before training
    best_value,          ///< the best `of` over all evaluations
    initial_value,       ///< `of` before the first update (needs train.evaluate_at_start)
    updates_to,          ///< updates until `of` is at or past `target` for three evaluations in a row; right-censored
    gradient_norm,       ///< `statistic` (median, mean, max) of the logged global gradient norms before clipping
    loss_spikes,         ///< updates whose loss exceeds the running median of 50 by 6 MAD, merged within 20 updates
    diverged,            ///< 1 for a run with NaN or Inf, or whose final loss is above the initial one; else 0
    probe,               ///< `statistic` of (`path`, `what`) in probe.jsonl, `at` the first, last, mean or max update
    expression,          ///< a formula over metrics and the numbers of the arm's levels
    rate_sensitivity,    ///< over the tuning's rates: mean of min(loss, initial loss) - best loss; Wortsman et al. 2023
    largest_stable_rate  ///< the largest of the tuning's rates up to which the seed does not diverge
  };
  std::string name;
  Kind kind = Kind::final_value;
  std::string of = "loss";  ///< loss, perplexity, token_accuracy or sequence_accuracy
  double target = 0;
  std::string path, what, statistic;
  std::string at = "first";
  std::string formula;
  std::string unit;
  bool lower_is_better = true;
  Origin origin;
};
std::vector<std::string> names_of(MetricSpec::Kind);

/// The learning rate given in the base config for every arm, or the one that is best for each arm.
enum class Regime { shared, tuned };
std::vector<std::string> names_of(Regime);

/// Level names by axis name; an axis that is not named is free. Also used with the axis "regime".
using Selector = std::map<std::string, std::string>;

/// A statement written before the run, and what is to be true of it.
struct Hypothesis {
  enum class Kind {
    difference,   ///< metric(arm) - metric(against) is `expect` (lower, higher) than 0 by more than `margin`
    equivalence,  ///< |metric(arm) - metric(against)| < margin
    interaction,  ///< (arm - against) in `under` minus (arm - against) in `versus` is `expect` than 0 by more than
                  ///< margin
    value,        ///< metric is within `tolerance` of (or at_most, at_least) `formula` in every arm that `arm` selects
    slope,        ///< of log(metric) over log(axis `over`): within `tolerance` of `formula`
    identical     ///< the loss curves of `arm` and `against` are the same within `tolerance` (expect: same), or not
  };
  std::string name;  ///< one sentence
  std::size_t claim = 0;
  bool contradicts = false;  ///< where it holds, it speaks against the claim
  Kind kind = Kind::difference;
  std::string metric;
  Regime regime = Regime::shared;
  Selector arm, against, under, versus;
  std::string expect;
  double margin = 0;
  std::string over;
  std::string formula;
  double tolerance = 0;
  bool relative = false;  ///< tolerance is a share of the expected value
  Origin origin;
};
std::vector<std::string> names_of(Hypothesis::Kind);

/// One coordinate of the search for each arm's own settings, e.g. the learning rate. Coordinates are searched in turn,
/// each with the best of those before it; a grid whose best value lies at its edge is extended by its own ratio.
struct TuningAxis {
  std::string name;
  std::string key;  ///< "optimizer.learning_rate"
  std::vector<double> values;
  std::size_t extensions = 2;  ///< how often, at most
  Origin origin = {};
};
struct Tuning {
  std::string metric;                ///< its mean over the tuning's seeds is made best
  std::vector<std::uint64_t> seeds;  ///< none of them a seed of the study
  std::vector<TuningAxis> axes;
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
  bool quick = false;  ///< cut down to be tried, not to be believed

  const MetricSpec& metric(const std::string& name) const;
  std::size_t axis_index(const std::string& name) const;
  /// The arms that have the levels named (an axis "regime" in it is ignored), in order.
  std::vector<std::size_t> select(const Selector& selector) const;
  /// Level values by axis name, for formulas.
  std::map<std::string, double> numbers(std::size_t arm) const;
  /// The config of one run. Throws ConfigError located in the study file.
  RunConfig config(std::size_t arm, const std::vector<Change>& more, std::uint64_t seed) const;
  /// The same with the place of each of its keys.
  ConfigFile config_file(std::size_t arm, const std::vector<Change>& more, std::uint64_t seed) const;
};

}  // namespace surd
