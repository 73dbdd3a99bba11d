#include "experiments/study/metrics/learning_rates.hpp"
#include "experiments/study/report/export.hpp"
#include "study_runs.hpp"

#include <doctest/doctest.h>

using namespace surd;
using namespace surd::test;

TEST_CASE("the best rate is the lowest point of a parabola near the best of the grid, or a bound at its edge") {
  using Losses = std::vector<std::optional<double>>;  // nothing: diverged
  const auto best_rate = [](const Losses& losses, Measure of = Measure::loss) {
    std::vector<RunResult> runs;
    for (const auto& loss : losses) runs.push_back(loss ? run_with(*loss) : diverged_run());
    RunsByRate by_rate;
    double rate = 1e-3;
    for (RunResult& run : runs) {
      run.metrics.evaluations.back().token_accuracy = -run.metrics.evaluations.back().loss;
      by_rate[rate] = &run;
      rate *= 10;
    }
    return *BestRate({of}).of_rates(by_rate);
  };
  const auto is = [](const MetricValue& value, double low, double high) {
    CHECK((value.low == low || value.low == doctest::Approx(low)));
    CHECK((value.high == high || value.high == doctest::Approx(high)));
  };
  const double infinity = statistics::infinity, third = std::pow(10, -5 / 3.0);
  // 1 + (log10 rate + 5/3)^2 at 1e-3, 1e-2, 1e-1: the parabola is that itself.
  const Losses parabola = {1 + 16 / 9.0, 1 + 1 / 9.0, 1 + 4 / 9.0};
  is(best_rate(parabola), third, third);
  is(best_rate(parabola, Measure::token_accuracy), third, third);
  is(best_rate({2.9, parabola[0], parabola[1], parabola[2], 2.9}), 10 * third, 10 * third);  // only near the best
  const auto diverged = std::nullopt;
  is(best_rate({2.9, parabola[0], parabola[1], parabola[2], diverged}), 10 * third, 10 * third);

  // Its best rate is the first or the last: the best of all lies beyond, or before where the parabola turns.
  is(best_rate({2, 1.1, 1}), 0.01, infinity);
  is(best_rate({2, 1.5, 1}), 0.1, infinity);
  is(best_rate({2, 1.8, 1}), 0.1, infinity);
  is(best_rate({2, 1.5, 1, diverged}), 0.1, 1);
  is(best_rate({2, 1.1, 1, diverged}), 0.01, 1);
  is(best_rate({1, 1.5, 2}), -infinity, 0.001);
  is(best_rate({1, 1.1, 2}), -infinity, 0.01);

  is(best_rate({1, diverged, diverged}), -infinity, 0.01);
  is(best_rate({2, 1, diverged}), 0.001, 0.1);
  is(best_rate({diverged, 1, 2, diverged}), 0.001, 0.1);
  is(best_rate({diverged, diverged, diverged}), -infinity, 0.001);
  is(best_rate({5, 5, 5}), -infinity, 0.001);  // above the loss before training: diverged too

  is(best_rate({2, 1, 1, 2}), 0.01 * std::sqrt(10), 0.01 * std::sqrt(10));
  is(best_rate({1, 1, 1}), -infinity, infinity);
  is(best_rate({2, 1, 1, 1, 2}), 0.01, 1);
  is(best_rate({2, 1, 1, 1, diverged}), 0.01, 10);

  CHECK_FALSE(BestRate({}).of_rates({}).has_value());
  RunResult unknown = run_with(1);
  unknown.metrics.evaluations.clear();
  CHECK_FALSE(BestRate({}).of_rates({{0.1, &unknown}}).has_value());
}

TEST_CASE("a slope can be taken of the best rates of a tuning, one for each of its seeds") {
  Study study = study_of({{"d", {{"64", 64.0}, {"256", 256.0}}}}, 2);
  add_tuning(study);
  study.tuning->seeds = {1001, 1002, 1003, 1004, 1005, 1006, 1007};
  study.metrics.push_back(metric_of<BestRate>("best_rate", "best_rate"));
  Hypothesis slope = hypothesis_of("slope", {}, {}, "within");
  slope.metric = "best_rate";
  slope.regime = Regime::tuned;
  slope.over = "d";
  slope.formula = "-0.5";
  slope.tolerance = 0.05;
  study.hypotheses = {slope};
  Results results(study);
  for (const std::size_t arm : {0, 1})  // best at 0.02 and 0.01, times a factor of the seed
    tune(study, results, arm, [&](double rate, std::uint64_t seed) {
      const double best = (arm == 0 ? 0.02 : 0.01) * (1 + 0.05 * (static_cast<double>(seed) - 1004));
      return run_with(1 + 0.5 * std::pow(std::log10(rate / best), 2));
    });
  const Analysis analysis = analyse(study, results.known());
  const HypothesisResult& result = analysis.hypotheses.front();
  CAPTURE(result.reason);
  CHECK(result.verdict == Verdict::supported);
  REQUIRE(result.checks.size() == 1);
  CHECK(result.checks[0].seeds == study.tuning->seeds);
  CHECK(result.checks[0].effect.value.low == doctest::Approx(-0.5));
  CHECK(result.p == doctest::Approx(2 / 128.0));
  std::size_t found = 0;
  for (const ArmSummary& summary : analysis.summaries) {
    if (summary.metric != "best_rate") continue;
    ++found;
    CHECK(summary.estimate.value.low == doctest::Approx(summary.arm == 0 ? 0.02 : 0.01).epsilon(0.05));
    CHECK(summary.estimate.interval.low < (summary.arm == 0 ? 0.02 : 0.01));
    CHECK(summary.estimate.interval.high > (summary.arm == 0 ? 0.02 : 0.01));
  }
  CHECK(found == 2);
}

TEST_CASE("after a joint search, metrics of a tuning look along the rates with the other settings that were chosen") {
  const std::string rate = "optimizer.learning_rate", other = "train.clip_norm";
  Study study = study_of({{"alpha", {{"one", {}}}}}, 6);
  study.tuning = Tuning{"final_loss",
                        {1001},
                        {{"clip", other, {0.5, 1}, 0}, {"rate", rate, {0.001, 0.01, 0.1}, 0}},
                        TuningSearch::jointly,
                        6};
  MetricSpec largest = metric<LargestStableRate>();
  largest.name = "largest";
  study.metrics.push_back(largest);
  Results results(study);
  const auto found = [&] {
    return metric_of_tuning(study, largest, tuned(study, 0, results.known()), 1001, results.known());
  };
  // With the other clip norm, 0.1 is stable.
  for (const char* norm : {"0.5", "1"})
    for (const char* value : {"0.001", "0.01", "0.1"}) {
      CHECK_FALSE(found().has_value());
      const bool chosen = norm == std::string("1");
      results.at(0, 1001, {{other, norm, {}}, {rate, value, {}}}) =
          run_with(chosen ? (value == std::string("0.1") ? 2.5 : 0.5) : 1);
    }
  CHECK(tuned(study, 0, results.known()).settings.front().value == "1");
  CHECK(found()->low == 0.01);
  CHECK(found()->known());
}

TEST_CASE("a rate that the arm has anyway is one of the rates, though its run was made for an axis before") {
  const std::string rate = "optimizer.learning_rate", other = "train.clip_norm";
  Study study = study_of({{"alpha", {{"one", {}}}}}, 6);
  study.arms[0].own[rate] = "0.01";
  study.tuning = Tuning{"final_loss", {1001}, {{"clip", other, {0.5, 1}, 0}, {"rate", rate, {0.001, 0.01, 0.1}, 1}}};
  const MetricSpec sensitivity = metric<RateSensitivity>(), best = metric<BestRate>();
  Results results(study);
  const auto search = [&] { return tuned(study, 0, results.known()); };
  results.at(0, 1001, {{other, "0.5", {}}}) = run_with(2);
  results.at(0, 1001, {{other, "1", {}}}) = run_with(1);
  CHECK(search().different_runs == 4);
  const auto at_rate = [&](const char* value) -> RunResult& {
    return results.at(0, 1001, {{other, "1", {}}, {rate, value, {}}});
  };
  at_rate("0.001") = run_with(1.5);
  at_rate("0.1") = run_with(0.5);
  at_rate("1") = run_with(2.5);
  REQUIRE(search().done);
  CHECK(search().different_runs == 5);
  const auto of = [&](const MetricSpec& spec) {
    return metric_of_tuning(study, spec, search(), 1001, results.known());
  };
  CHECK(of(sensitivity)->low == doctest::Approx((1.5 + 1 + 0.5) / 3 - 0.5));
  CHECK(of(best)->low > 0.01);
}

TEST_CASE("metrics of a tuning look along its learning rates") {
  Study study = study_of({{"alpha", {{"one", {}}}}}, 6);
  add_tuning(study);
  MetricSpec sensitivity = metric<RateSensitivity>(), largest = metric<LargestStableRate>();
  largest.name = "largest";
  study.metrics.push_back(sensitivity);
  study.metrics.push_back(largest);
  Results results(study);
  const auto of = [&](const MetricSpec& spec, std::uint64_t seed) {
    return metric_of_tuning(study, spec, tuned(study, 0, results.known()), seed, results.known());
  };
  CHECK_FALSE(of(sensitivity, 1001).has_value());
  // Seed 1001 diverges at 0.1, 1002 ends above its start there, 1003 is stable everywhere.
  tune(study, results, 0, [](double rate, std::uint64_t seed) {
    if (rate < 0.05) return run_with(rate < 0.005 ? 1 : 0.5);
    return seed == 1001 ? diverged_run() : run_with(seed == 1002 ? 8 : 1.4);
  });
  CHECK(of(sensitivity, 1001)->low == doctest::Approx((1 + 0.5 + 3) / 3 - 0.5));
  CHECK(of(sensitivity, 1002)->low == doctest::Approx((1 + 0.5 + 3) / 3 - 0.5));  // 8 counts as 3
  CHECK(of(sensitivity, 1003)->low == doctest::Approx((1 + 0.5 + 1.4) / 3 - 0.5));
  CHECK(of(largest, 1001)->low == 0.01);
  CHECK(of(largest, 1001)->known());
  CHECK(of(largest, 1002)->low == 0.01);
  CHECK(of(largest, 1003)->low == 0.1);
  CHECK(std::isinf(of(largest, 1003)->high));
  CHECK_THROWS_AS(metric_value(study, sensitivity, 0, run_with(1)), Error);

  const Analysis analysis = analyse(study, results.known());
  std::size_t found = 0;
  for (const ArmSummary& summary : analysis.summaries) {
    if (summary.metric != "largest") continue;
    ++found;
    CHECK(summary.seeds == std::vector<std::uint64_t>{1001, 1002, 1003});
    CHECK(summary.censored() == 1);
    CHECK(summary.estimate.value.low == 0.01);  // the largest that nine of ten reach, so all of three
    CHECK(contains(to_markdown(study, analysis), "| largest (10 % quantile) | alpha=one | tuned | 0.01 |"));
  }
  CHECK(found == 1);

  // Ends above its best by more than 1 nat at 0.1, though below its start; slowness below the best rate is no failure.
  results.at(0, 1003, {{"optimizer.learning_rate", "0.1", {}}}) = run_with(1.6);
  CHECK(of(largest, 1003)->low == 0.01);
  CHECK(of(largest, 1003)->known());
  MetricSpec patient = metric<LargestStableRate>({1.2});
  CHECK(of(patient, 1003)->low == 0.1);
  results.at(0, 1003, {{"optimizer.learning_rate", "0.001", {}}}) = run_with(2.5);
  CHECK(of(largest, 1003)->low == 0.01);
  for (const char* rate : {"0.001", "0.01", "0.1"})
    results.at(0, 1003, {{"optimizer.learning_rate", rate, {}}}) = diverged_run();
  CHECK(of(largest, 1003)->high == 0.001);
  CHECK(std::isinf(of(largest, 1003)->low));

  Tuned cut = tuned(study, 0, results.known());
  cut.runs.erase(cut.runs.begin());  // the smallest rate of seed 1001 is not planned yet
  CHECK_FALSE(metric_of_tuning(study, largest, cut, 1001, results.known()).has_value());
  CHECK(metric_of_tuning(study, largest, cut, 1003, results.known()).has_value());

  const PlannedRun first = tuned(study, 0, results.known()).runs.front();
  results.at(0, first.seed, first.settings) = failed_run();
  CHECK_FALSE(of(largest, first.seed).has_value());
  study.tuning.reset();
  CHECK_THROWS_AS(of(largest, 1003), Error);
}
