#include "experiments/study/metrics/metric.hpp"

#include "experiments/study/metrics/evaluations.hpp"
#include "experiments/study/metrics/expression.hpp"
#include "experiments/study/metrics/gradient_norm.hpp"
#include "experiments/study/metrics/learning_rates.hpp"
#include "experiments/study/metrics/loss_spikes.hpp"
#include "experiments/study/metrics/probe_number.hpp"

namespace surd {

std::vector<std::string> names_of(ComparedBy) { return {"difference", "ratio"}; }

std::optional<MetricValue> StudyMetric::of_run(const RunView&) const {
  throw Error("metric: it is one of a whole tuning, not of a run");
}
std::optional<MetricValue> StudyMetric::of_rates(const RunsByRate&) const {
  throw Error("metric: it is one of a run, not of a whole tuning");
}

MetricRegistry& metric_kinds() {
  static MetricRegistry table = [] {
    MetricRegistry built_in("metric");
    built_in.add<FinalValue>("final_value",
                             "at the last evaluation; of a run that ended in a NaN or Inf, before training");
    built_in.add<BestValue>("best_value", "the best of all evaluations");
    built_in.add<InitialValue>("initial_value", "before the first update");
    built_in.add<UpdatesTo>("updates_to", "updates until a target is met for three evaluations in a row");
    built_in.add<TokensTo>("tokens_to", "target tokens trained on until then");
    built_in.add<SecondsTo>("seconds_to", "wall-clock seconds until then, as busy as the machine was");
    built_in.add<GradientNorm>("gradient_norm", "of the logged global norms before clipping");
    built_in.add<LossSpikes>("loss_spikes",
                             "losses far above those of the 50 updates before; those close together are one");
    built_in.add<DivergedShare>("diverged", "1 for a NaN or Inf, or a final loss above the initial one; else 0");
    built_in.add<ProbeMetric>("probe", "a number of probe.jsonl");
    built_in.add<Expression>("expression", "a formula over other metrics and numbers of levels");
    built_in.add<RateSensitivity>("rate_sensitivity",
                                  "mean over the tuning's rates of the loss above the best one, no loss counted "
                                  "above that before training (Wortsman et al. 2023)");
    built_in.add<LargestStableRate>("largest_stable_rate",
                                    "the largest of the tuning's rates, from the best one upwards, at which the loss "
                                    "stays near its best");
    built_in.add<BestRate>("best_rate", "the best rate of the tuning, by a parabola through it and its neighbours");
    return built_in;
  }();
  return table;
}

}  // namespace surd
