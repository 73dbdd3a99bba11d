#include "experiments/study/metrics/expression.hpp"
#include "experiments/study/metrics/gradient_norm.hpp"
#include "experiments/study/metrics/loss_spikes.hpp"
#include "experiments/study/metrics/probe_number.hpp"
#include "study_runs.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace surd;
using namespace surd::test;

namespace {

const double not_a_number = std::numeric_limits<double>::quiet_NaN();

MetricSpec updates_to(Measure of, double target) { return metric<UpdatesTo>({{of}, target}); }
MetricSpec expression(const std::string& formula) { return metric<Expression>({formula}); }

/// Evaluations with these token accuracies every 20 updates; the loss is 3 (1 - accuracy).
RunResult run_along(const std::vector<double>& accuracies) {
  RunResult result = run_with(1);
  result.metrics.evaluations.clear();
  for (std::size_t i = 0; i < accuracies.size(); ++i) {
    const double loss = 3 * (1 - accuracies[i]);
    result.metrics.evaluations.push_back({20 * i, loss, std::exp(loss), accuracies[i], 0.5 * accuracies[i], false});
  }
  return result;
}

struct Fixture {
  Study study = study_of({{"d", {{"64", 64.0}}}}, 1);
  std::optional<MetricValue> of(const MetricSpec& spec, const RunResult& result) const {
    return metric_value(study, spec, 0, result);
  }
  double number(const MetricSpec& spec, const RunResult& result) const {
    const auto value = of(spec, result);
    return value ? value->nearest() : not_a_number;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "final, best and initial values") {
  const RunResult run = run_along({0.1, 0.8, 0.6});
  CHECK(number(metric<FinalValue>({{Measure::token_accuracy}}), run) == 0.6);
  CHECK(number(metric<FinalValue>({{Measure::sequence_accuracy}}), run) == 0.3);
  CHECK(number(metric<BestValue>({Measure::token_accuracy}), run) == 0.8);
  CHECK(number(metric<BestValue>(), run) == doctest::Approx(0.6));
  CHECK(number(metric<InitialValue>(), run) == doctest::Approx(2.7));
  CHECK(number(metric<FinalValue>({{Measure::perplexity}}), run) == doctest::Approx(std::exp(1.2)));

  RunResult late = run;
  late.metrics.evaluations.erase(late.metrics.evaluations.begin());
  CHECK_FALSE(of(metric<InitialValue>(), late).has_value());
  CHECK_FALSE(of(metric<FinalValue>({{Measure::sequence_accuracy}}), run_with(1)).has_value());
  CHECK_FALSE(of(metric<FinalValue>(), failed_run()).has_value());
  RunResult overflowed = run;
  overflowed.metrics.evaluations.back().perplexity = not_a_number;
  CHECK_FALSE(of(metric<FinalValue>({{Measure::perplexity}}), overflowed).has_value());
}

TEST_CASE_FIXTURE(Fixture, "a final value on a further split is that of the end, and a diverged run has none") {
  RunResult run = run_along({0.1, 0.8});
  run.splits["test_long"] = {20, 4, std::exp(4), 0.3, std::nullopt, false};
  CHECK(number(metric<FinalValue>({{Measure::loss}, "test_long"}), run) == 4);
  CHECK(number(metric<FinalValue>({{Measure::token_accuracy}, "test_long"}), run) == 0.3);
  CHECK_FALSE(of(metric<FinalValue>({{Measure::sequence_accuracy}, "test_long"}), run).has_value());
  CHECK_FALSE(of(metric<FinalValue>({{Measure::loss}, "test"}), run).has_value());
  CHECK(number(metric<FinalValue>({{Measure::token_accuracy}, "valid"}), run) == 0.8);
  CHECK(metric<FinalValue>({{Measure::loss}, "test_long"}).metric->needs_split() == "test_long");
  CHECK(metric<FinalValue>().metric->needs_split().empty());
  run.splits["test_long"].loss = not_a_number;
  CHECK_FALSE(of(metric<FinalValue>({{Measure::loss}, "test_long"}), run).has_value());
  run.status = RunResult::Status::diverged;
  run.splits.clear();
  CHECK(of(metric<FinalValue>(), run).has_value());
  CHECK_FALSE(of(metric<FinalValue>({{Measure::loss}, "test_long"}), run).has_value());
}

TEST_CASE_FIXTURE(Fixture, "a diverged run ends where it began, and its best is what it had") {
  RunResult run = run_along({0.1, 0.8});
  run.status = RunResult::Status::diverged;
  CHECK(number(metric<FinalValue>(), run) == doctest::Approx(2.7));
  CHECK(number(metric<BestValue>(), run) == doctest::Approx(0.6));
  CHECK(number(metric<DivergedShare>(), run) == 1);
  run.metrics.evaluations.erase(run.metrics.evaluations.begin());
  CHECK_FALSE(of(metric<FinalValue>(), run).has_value());  // unknown, not 0.6
  // One that ends above its start without a NaN has diverged too, and its loss is what it is.
  const RunResult worse = run_with(5);
  CHECK(number(metric<DivergedShare>(), worse) == 1);
  CHECK(number(metric<FinalValue>(), worse) == 5);
  CHECK(number(metric<DivergedShare>(), run_with(3)) == 0);
}

TEST_CASE_FIXTURE(Fixture, "updates to a target: the first of three evaluations in a row, else censored") {
  MetricSpec spec = updates_to(Measure::token_accuracy, 0.9);
  const auto value = [&](const std::vector<double>& accuracies) { return *of(spec, run_along(accuracies)); };
  CHECK(value({0.1, 0.95, 0.9, 0.99, 0.2}).low == 20);
  CHECK(value({0.1, 0.95, 0.9, 0.99, 0.2}).known());
  CHECK(value({0.1, 0.95, 0.5, 0.9, 0.9, 0.9}).low == 60);
  CHECK(value({0.95, 0.95, 0.95}).high == 1);  // at the start: at most one
  CHECK_FALSE(value({0.95, 0.95, 0.95}).known());
  CHECK(value({0.1, 0.2, 0.95, 0.2}).low == 60);  // at least as many as there were, however many were asked for
  CHECK(std::isinf(value({0.1, 0.2, 0.95, 0.2}).high));
  CHECK(value({0.1, 0.2, 0.95, 0.95}).low == 40);  // a third evaluation might have been at the target, too
  CHECK(std::isinf(value({0.1, 0.2, 0.95, 0.95}).high));
  CHECK(std::isinf(value({0.95, 0.95}).low));  // from the start or never
  RunResult diverged = run_along({0.1, 0.95});
  diverged.status = RunResult::Status::diverged;
  CHECK_FALSE(of(spec, diverged)->known());
  CHECK(of(spec, diverged)->low == 100);
  spec = updates_to(Measure::loss, 0.35);
  CHECK(value({0.1, 0.9, 0.9, 0.9}).low == 20);
  RunResult none = run_with(1);
  none.metrics.evaluations.clear();
  CHECK_FALSE(of(spec, none).has_value());
}

TEST_CASE_FIXTURE(Fixture, "tokens and seconds to a target are those of the same evaluation") {
  const MetricSpec tokens = metric<TokensTo>({{Measure::token_accuracy}, 0.9}),
                   seconds = metric<SecondsTo>({{Measure::token_accuracy}, 0.9});
  const auto run = [](const std::vector<double>& accuracies) {
    RunResult result = run_along(accuracies);
    for (EvaluationRecord& record : result.metrics.evaluations) {
      record.trained_target_tokens = 50 * record.update;
      result.evaluation_seconds[record.update] = 0.25 + 0.5 * static_cast<double>(record.update);
    }
    result.summary = {{"resumed_at", 0}, {"wall_seconds", 99}};
    return result;
  };
  RunResult reached = run({0.1, 0.95, 0.5, 0.9, 0.9, 0.9});
  CHECK(of(tokens, reached)->low == 3000);
  CHECK(of(tokens, reached)->known());
  CHECK(of(seconds, reached)->low == 30.25);
  CHECK(of(seconds, reached)->known());
  const auto with_peak_at = [&reached](std::uint64_t peak) {
    RunResult warmed = reached;
    warmed.metrics.updates.clear();
    for (const std::uint64_t update : {10, 20, 30, 40})
      warmed.metrics.updates.push_back({update, 0, 1, 1, update == peak ? 1.0 : 0.5, 10, 10});
    return warmed;
  };
  for (const MetricSpec* spec : {&tokens, &seconds}) {  // 60 updates, whatever is counted
    CHECK(spec->metric->within_twice_warmup(with_peak_at(30)));
    CHECK_FALSE(spec->metric->within_twice_warmup(with_peak_at(20)));
    CHECK_FALSE(spec->metric->within_twice_warmup(with_peak_at(10)));
  }
  CHECK(tokens.compared_by == ComparedBy::ratio);
  CHECK(seconds.compared_by == ComparedBy::ratio);

  RunResult missed = run({0.1, 0.95, 0.5, 0.9, 0.5});
  CHECK(of(tokens, missed)->low == 4000);
  CHECK(std::isinf(of(tokens, missed)->high));
  CHECK(of(seconds, missed)->low == 99);
  CHECK(std::isinf(of(seconds, missed)->high));
  missed.status = RunResult::Status::diverged;
  CHECK(of(tokens, missed)->low == 4000);
  CHECK(of(seconds, missed)->low == 99);

  const RunResult there = run({0.95, 0.95, 0.95});
  CHECK(of(tokens, there)->high == 1);
  CHECK(std::isinf(of(tokens, there)->low));
  CHECK(of(seconds, there)->high == 0.25);
  CHECK(std::isinf(of(seconds, there)->low));

  for (RunResult* resumed : {&reached, &missed}) {
    resumed->summary["resumed_at"] = 20;
    CHECK_FALSE(of(seconds, *resumed).has_value());
    CHECK(of(tokens, *resumed).has_value());
  }
  const RunResult old = run_along({0.1, 0.9, 0.9, 0.9});  // of a version that told neither
  CHECK_FALSE(of(tokens, old).has_value());
  CHECK_FALSE(of(seconds, old).has_value());
}

TEST_CASE_FIXTURE(Fixture, "gradient norms and loss spikes of the logged updates") {
  RunResult run = run_with(1);
  run.metrics.updates.clear();
  for (std::uint64_t i = 1; i <= 100; ++i)
    run.metrics.updates.push_back(
        {i, 0, i == 80 ? 9 : 1 + 0.01 * static_cast<double>(i % 5), i == 3 ? 7.0 : 1.0, 0, 1, 1});
  CHECK(number(metric<GradientNorm>({NormStatistic::median}), run) == 1);
  CHECK(number(metric<GradientNorm>({NormStatistic::mean}), run) == doctest::Approx(1.06));
  const MetricSpec spec = metric<GradientNorm>({NormStatistic::max});
  CHECK(number(spec, run) == 7);
  run.metrics.updates.back().gradient_norm = not_a_number;
  CHECK(number(spec, run) == 7);
  CHECK(number(metric<LossSpikes>(), run) == 1);
  for (UpdateRecord& record : run.metrics.updates) record.update *= 10;
  CHECK_FALSE(of(metric<LossSpikes>(), run).has_value());  // logged too rarely to tell
  run.metrics.updates.clear();
  CHECK_FALSE(of(spec, run).has_value());
  CHECK_FALSE(of(metric<LossSpikes>(), run).has_value());
}

TEST_CASE_FIXTURE(Fixture, "numbers of the probe") {
  RunResult run = run_with(1);
  for (const auto& [update, value] : std::vector<std::pair<std::uint64_t, double>>{{1, 2.0}, {50, 6.0}, {100, 4.0}}) {
    run.probe.add(update, {"encoder.0.self_attention", "scores", "max", 100 * value});
    run.probe.add(update, {"encoder.0.self_attention", "scores", "std", value});
  }
  const auto at = [&](ProbeAt update) {
    return number(metric<ProbeMetric>({"encoder.0.self_attention", "scores", "std", update}), run);
  };
  CHECK(at(ProbeAt::first) == 2);
  CHECK(at(ProbeAt::last) == 4);
  CHECK(at(ProbeAt::mean) == 4);
  CHECK(at(ProbeAt::max) == 6);
  run.probe.add(150, {"encoder.0.self_attention", "scores", "std", not_a_number});
  run.probe.add(200, {"encoder.0.self_attention", "scores", "std", 5});
  CHECK(std::isnan(at(ProbeAt::max)));
  CHECK(std::isnan(at(ProbeAt::mean)));
  CHECK(at(ProbeAt::last) == 5);
  CHECK_FALSE(of(metric<ProbeMetric>({"decoder.0.self_attention", "scores", "std"}), run).has_value());
}

TEST_CASE_FIXTURE(Fixture, "a number of the probe at equal loss is that of the first update probed from there on") {
  RunResult run = run_along({0.1, 0.5, 0.4, 0.8});  // losses 2.7, 1.5, 1.8, 0.6 at updates 0, 20, 40, 60
  const auto probed_at = [](const std::vector<std::uint64_t>& updates) {
    ProbeLog log;
    for (const std::uint64_t update : updates)
      log.add(update, {"encoder.0", "scores", "std", static_cast<double>(update)});
    return log;
  };
  run.probe = probed_at({1, 20, 30, 45, 60});
  const auto at = [&](double loss) {
    return number(metric<ProbeMetric>({"encoder.0", "scores", "std", ProbeAt::loss, loss}), run);
  };
  CHECK(at(5) == 1);
  CHECK(at(1.6) == 20);  // the first evaluation there, though the next is not
  CHECK(at(1) == 60);
  CHECK(std::isnan(at(0.5)));
  run.probe = probed_at({1, 30, 45, 60});
  CHECK(at(1.6) == 30);
  run.probe = probed_at({1, 30, 45});
  CHECK(std::isnan(at(1)));  // the last one probed was before
  run.status = RunResult::Status::diverged;
  CHECK(at(1.6) == 30);
}

TEST_CASE_FIXTURE(Fixture, "expressions over metrics, numbers of the arm and V") {
  MetricSpec start = metric<InitialValue>(), steps = updates_to(Measure::token_accuracy, 0.95);
  start.name = "start";
  steps.name = "steps";
  study.metrics = {start, steps};
  MetricSpec spec = expression("(start - ln(V)) / sqrt(d)");
  CHECK(number(spec, run_with(1)) == doctest::Approx((3 - std::log(32.0)) / 8));
  CHECK(of(spec, run_with(1))->known());
  spec = expression("2 * steps");
  CHECK(std::isinf(of(spec, run_with(1))->low));  // a formula of a bound may lie anywhere
  CHECK(std::isinf(of(spec, run_with(1))->high));
  spec = expression("1 / (start - 3)");
  CHECK_FALSE(of(spec, run_with(1)).has_value());
  spec = expression("start");
  CHECK_FALSE(of(spec, failed_run()).has_value());
  spec = expression("star");
  CHECK_THROWS_WITH_AS(of(spec, run_with(1)),
                       doctest::Contains("study: there is no metric 'star'; did you mean 'start'?"), Error);
  spec = expression("1 + the_metric");
  study.metrics.push_back(spec);
  CHECK_THROWS_WITH_AS(of(spec, run_with(1)), doctest::Contains("leads back to itself"), Error);
}
