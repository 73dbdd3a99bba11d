#pragma once

#include "autograd/base/registry.hpp"
#include "experiments/run/run_config.hpp"
#include "experiments/run/run_result.hpp"
#include "experiments/study/statistics/bounded.hpp"
#include "train/train.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>

/// The numbers that a study judges its runs by: one class a kind, registered in metric_kinds() under the name that a
/// study file gives as `kind`. This room knows what a run left behind and nothing of studies. To add one, read
/// loss_spikes.hpp, the shortest.
namespace surd {

/// A number of a run. It is censored where only a bound is known, e.g. because the run ended before its target.
using MetricValue = statistics::Bounded;

/// How values are compared: by their difference, or by their ratio, as times and rates are.
enum class ComparedBy { difference, ratio };
std::vector<std::string> names_of(ComparedBy);

/// What a metric of a run is found from.
struct RunView {
  const RunResult& run;  ///< has not failed
  /// What a name in a formula stands for in this run: a number of its arm, V, or another metric of the study; nothing
  /// where the run does not record that. Throws Error for a name that stands for nothing.
  std::function<std::optional<MetricValue>(const std::string&)> number;
};

/// The runs of one seed of a tuning along the learning rates of its grid, in rising order.
using RunsByRate = std::map<double, const RunResult*>;

struct ProbeMetricOptions;

/// How a run's number is found, or the number of one seed of a tuning.
class StudyMetric {
 public:
  virtual ~StudyMetric() = default;

  /// The number of one run; nothing where the run does not record it. Throws Error where the metric is one of a tuning.
  virtual std::optional<MetricValue> of_run(const RunView& view) const;
  /// The number of one seed of a tuning; nothing where its runs do not record it. Throws Error where the metric is one
  /// of a run.
  virtual std::optional<MetricValue> of_rates(const RunsByRate& runs) const;
  /// Whether of_rates() takes the rates by which the tuning extended the grid, too. Not where it depends on the range.
  virtual bool takes_extensions() const { return false; }
  /// Whether it is a metric of a tuning, which of_rates() finds, rather than one of a run.
  virtual bool of_tuning() const { return false; }

  virtual bool lower_is_better() const { return true; }
  virtual ComparedBy compared_by() const { return ComparedBy::difference; }
  /// Whether a run's number is of updates of which half or more are of a warm-up, as far as the logged rates show one.
  /// They are worth less than later ones, so that ratios of such numbers are others than at a constant rate.
  virtual bool within_twice_warmup(const RunResult&) const { return false; }
  /// The share of seeds below the number of an arm, where that is a quantile over its seeds and not their
  /// pseudo-median. Arms are compared by pseudo-medians of what each seed has, also then.
  virtual std::optional<double> quantile() const { return std::nullopt; }
  /// Whether it needs the evaluation before the first update, which runs make if train.evaluate_at_start is true.
  virtual bool needs_start() const { return false; }
  /// The split beside the validation split that it needs to be named in train.evaluate_splits; "" = none.
  virtual std::string needs_split() const { return ""; }
  /// How far apart, in updates, the logged losses may be that it looks at; 0: as far as they like.
  virtual std::size_t log_every_at_most() const { return 0; }
  /// "needs train.stop_after of ...", where runs do not measure the number, or may stop before they have it; "" else.
  virtual std::string needs_of_config(const RunConfig&) const { return ""; }
  /// The number of probe.jsonl that it is, which runs write if probe.every is above 0; null: none.
  virtual const ProbeMetricOptions* probed() const { return nullptr; }
  /// Whether it may look at probe.jsonl. Where none does, the file, which may be large, need not be read.
  virtual bool reads_probe() const { return probed() != nullptr; }
  /// The formula it is computed by, whose names are checked when the study is read; "" = none.
  virtual std::string formula() const { return ""; }
};

/// The kinds of metric that a study file can name, made from their options.
using MetricRegistry = Registry<StudyMetric()>;
using MetricChoice = Choice<StudyMetric()>;
MetricRegistry& metric_kinds();

}  // namespace surd
