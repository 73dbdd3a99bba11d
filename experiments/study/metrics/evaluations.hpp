#pragma once

#include "experiments/study/metrics/metric.hpp"

namespace surd {

/// The numbers that an evaluation on the validation split measures.
enum class Measure { loss, perplexity, bits_per_byte, token_accuracy, sequence_accuracy, bleu, chrf };
std::vector<std::string> names_of(Measure);
bool lower_is_better(Measure measure);
/// Whether a run can have such a value: an accuracy is at most 1, BLEU at most 100, a loss above 0.
bool reachable(Measure measure, double value);
/// The better of two values.
double better(Measure measure, double a, double b);

/// The value in one evaluation; nothing where it was not measured.
std::optional<double> value_of(Measure measure, const EvaluationRecord& record);
/// The value before the first update; nothing where the run was not evaluated then.
std::optional<double> initial_value(Measure measure, const RunResult& run);
/// The value at the last evaluation. For a run that ended in a NaN or an infinity, the initial value.
std::optional<double> final_value(Measure measure, const RunResult& run);

/// Whether a run ended in a NaN or an infinity, or with a loss above the one before training.
bool has_diverged(const RunResult& run);

/// "needs train.stop_at: null" where runs end once they are good enough: what they end with then tells how often they
/// were evaluated, and nothing else.
std::string needs_whole_runs(const TrainOptions& train);

/// "needs train.evaluate_bleu: true" where runs do not measure it; "" where they do.
std::string needs_to_be_measured(Measure measure, const RunConfig& config);

/// Options of the metrics that look at one measure.
struct MeasureOptions {
  Measure of = Measure::loss;
  void fields(Fields& f) { f("of", of, "as an evaluation measures it, on the validation split"); }
};

/// A metric that looks at one measure.
class MeasureMetric : public StudyMetric {
 public:
  using Options = MeasureOptions;
  explicit MeasureMetric(const Options& options) : of_(options.of) {}
  bool lower_is_better() const override { return surd::lower_is_better(of_); }
  /// A perplexity is the exponential of a loss, so its ratio is the difference of that.
  ComparedBy compared_by() const override {
    return of_ == Measure::perplexity ? ComparedBy::ratio : ComparedBy::difference;
  }
  std::string needs_of_config(const RunConfig& config) const override { return needs_to_be_measured(of_, config); }

 protected:
  Measure of_;
};

struct FinalValueOptions : MeasureOptions {
  std::string split = "valid";
  void fields(Fields& f) {
    MeasureOptions::fields(f);
    f("split", split, "in place of the validation split: one that train.evaluate_splits names, e.g. test_long");
    f.rule(!split.empty(), "split", "must be the name of a split; remove it, and it is valid");
  }
};
/// final_value(), or the value on a further split, on which a run is evaluated when it has finished. There is none for
/// one that ended in a NaN or an infinity: nobody has looked at such a split before training.
class FinalValue : public MeasureMetric {
 public:
  using Options = FinalValueOptions;
  explicit FinalValue(const Options& options) : MeasureMetric(options), split_(options.split) {}
  std::optional<MetricValue> of_run(const RunView& view) const override;
  std::string needs_split() const override { return split_ == "valid" ? "" : split_; }
  std::string needs_of_config(const RunConfig& config) const override {
    const std::string measured = MeasureMetric::needs_of_config(config);
    return measured.empty() ? needs_whole_runs(config.train) : measured;
  }

 private:
  std::string split_;
};

class BestValue : public MeasureMetric {
 public:
  using MeasureMetric::MeasureMetric;
  std::optional<MetricValue> of_run(const RunView& view) const override;
  std::string needs_of_config(const RunConfig& config) const override {
    const std::string measured = MeasureMetric::needs_of_config(config);
    return measured.empty() ? needs_whole_runs(config.train) : measured;
  }
};

class InitialValue : public MeasureMetric {
 public:
  using MeasureMetric::MeasureMetric;
  std::optional<MetricValue> of_run(const RunView& view) const override;
  bool needs_start() const override { return true; }
};

struct TargetOptions : MeasureOptions {
  std::optional<double> target;
  void fields(Fields& f) {
    MeasureOptions::fields(f);
    f("target", target, "to be reached");
    f.rule(target.has_value(), "target", "is required where kind is updates_to, tokens_to or seconds_to");
    f.rule(!target || reachable(of, *target), "target",
           "is no value to be reached: a loss is above 0, a perplexity above 1, an accuracy above 0 and at most 1, "
           "BLEU and chrF above 0 and at most 100");
  }
};
/// What a run spent until the first of three evaluations in a row at or past the target. Where there are no such three,
/// at least what it had spent at its end, or at the first of the one or two evaluations there with which it ended;
/// where it began there, at most what it had spent then, or 1 where that is 0.
class SpentToTarget : public StudyMetric {
 public:
  using Options = TargetOptions;
  explicit SpentToTarget(const Options& options) : options_(options) {}
  std::optional<MetricValue> of_run(const RunView& view) const override;
  ComparedBy compared_by() const override { return ComparedBy::ratio; }
  bool within_twice_warmup(const RunResult& run) const override;
  /// A run that stops at the target has to stay there for three evaluations, or nobody knows whether it reached it; one
  /// that stops for another reason would seem to need less than a slower one that reaches it.
  std::string needs_of_config(const RunConfig& config) const override;

 protected:
  /// Until an evaluation had ended, this included; nothing where the run does not tell.
  virtual std::optional<double> spent_at(const EvaluationRecord& evaluation, const RunResult& run) const = 0;
  /// Until the run ended; it has evaluations.
  virtual std::optional<double> spent_in_all(const RunResult& run) const = 0;

 private:
  /// Evaluations in a row at or past the target: the first three, or the fewer ones with which a run ends.
  struct Stay {
    const EvaluationRecord* first = nullptr;  ///< null where there is none
    std::size_t length = 0;
  };
  /// Nothing where an evaluation did not measure it.
  std::optional<Stay> stay_in(const RunResult& run) const;

  Options options_;
};

/// Updates. Of a run that does not reach the target, at least as many as it made; of one that diverges before, at least
/// as many as the config asked for.
class UpdatesTo : public SpentToTarget {
 public:
  using SpentToTarget::SpentToTarget;

 protected:
  std::optional<double> spent_at(const EvaluationRecord& evaluation, const RunResult& run) const override;
  std::optional<double> spent_in_all(const RunResult& run) const override;
};

/// Target tokens of all updates, without padding and with the end of each sentence, however often the run was resumed.
/// Of a run that diverges before the target, at least those until its last evaluation.
class TokensTo : public SpentToTarget {
 public:
  using SpentToTarget::SpentToTarget;

 protected:
  std::optional<double> spent_at(const EvaluationRecord& evaluation, const RunResult& run) const override;
  std::optional<double> spent_in_all(const RunResult& run) const override;
};

/// Wall-clock seconds of training, with the evaluations, checkpoints, logs and probes until then, and without what
/// comes before the first update. They are those of a machine that may have been busy with other runs: for times to be
/// compared, make the study with --jobs 1. Of a run that was resumed nothing is known, because part of its work may
/// have been done twice, and nobody took the time of the processes before.
class SecondsTo : public SpentToTarget {
 public:
  using SpentToTarget::SpentToTarget;

 protected:
  std::optional<double> spent_at(const EvaluationRecord& evaluation, const RunResult& run) const override;
  std::optional<double> spent_in_all(const RunResult& run) const override;
};

/// 1 for a run that has_diverged(), else 0, so that the mean over runs is the share of those that diverged.
class DivergedShare : public StudyMetric {
 public:
  using Options = NoOptions;
  explicit DivergedShare(const Options&) {}
  std::optional<MetricValue> of_run(const RunView& view) const override;
  bool needs_start() const override { return true; }
};

}  // namespace surd
