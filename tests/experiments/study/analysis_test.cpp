#include "experiments/study/metrics/learning_rates.hpp"
#include "two_arms.hpp"

#include <doctest/doctest.h>

using namespace surd;
using namespace surd::test;

TEST_CASE("fewer than six seeds decide nothing, and the reason says why") {
  const HypothesisResult five = judged(lower(), around(1, 5), around(0.5, 5));
  CHECK(five.verdict == Verdict::undecided);
  CHECK_FALSE(five.p.has_value());
  CHECK(contains(five.reason, "6 seeds are needed and there are 5"));
  CHECK(contains(five.reason, "0.0625"));
  CHECK(contains(five.reason, "is -0.5 nats"));
  CHECK(judged(lower(), around(1, 6), around(0.5, 6)).verdict == Verdict::supported);
  CHECK(judged(hypothesis_of("equivalence", {{"alpha", "one"}}, {{"alpha", "sqrt(d)"}}, "", 1), around(1, 5),
               around(1, 5))
            .verdict == Verdict::undecided);
}

TEST_CASE("a run that failed or has not ended is counted, not dropped") {
  Study study = study_of({{"alpha", scales}}, 10);
  study.hypotheses = {lower()};
  Results results(study);
  results.losses(0, around(1));
  results.losses(1, around(0.5));
  results.at(1, 3) = failed_run();
  Analysis analysis = analyse(study, results.known());
  CHECK(analysis.hypotheses[0].verdict == Verdict::undecided);
  CHECK_FALSE(analysis.hypotheses[0].p.has_value());
  CHECK(contains(analysis.hypotheses[0].reason, "of 20 runs 1 failed"));
  CHECK(analysis.hypotheses[0].checks[0].seeds.size() == 9);
  CHECK(analysis.failed == 1);
  CHECK(analysis.endings[1].runs == 10);
  CHECK(analysis.endings[1].failed == 1);
  CHECK(analysis.endings[1].diverged_interval.high == statistics::wilson(0, 9).high);
  CHECK(analysis.finished == 19);

  results.remove(0, 1);
  results.remove(0, 2);
  analysis = analyse(study, results.known());
  CHECK(contains(analysis.hypotheses[0].reason, "of 20 runs 1 failed, 2 have not ended"));
  CHECK(analysis.missing == 2);
  CHECK(analysis.runs == 20);
  CHECK(analysis.hypotheses[0].checks[0].seeds.size() == 7);

  const Analysis nothing = analyse(study, Results(study).known());
  CHECK(contains(nothing.hypotheses[0].reason, "of 20 runs 20 have not ended"));
  CHECK(std::isnan(nothing.hypotheses[0].checks[0].effect.value.nearest()));
  CHECK(nothing.summaries.empty());
}

TEST_CASE("a diverged run stays in with the loss it began with") {
  Study study = study_of({{"alpha", scales}}, 10);
  study.hypotheses = {lower()};
  Results results(study);
  results.losses(0, around(1));
  results.losses(1, around(0.5));
  results.at(1, 4) = diverged_run();
  const Analysis analysis = analyse(study, results.known());
  const Check& check = analysis.hypotheses[0].checks[0];
  CHECK(check.seeds.size() == 10);
  CHECK(check.values[3].low == doctest::Approx(3 - 1.0));
  CHECK(analysis.diverged == 1);
  CHECK(contains(analysis.hypotheses[0].reason, ", 1 of 20 runs diverged, "));
  REQUIRE(analysis.endings.size() == 2);
  CHECK(analysis.endings[1].diverged == 1);
  CHECK(analysis.endings[1].diverged_interval.high == doctest::Approx(0.404).epsilon(0.001));  // 1 of 10
  CHECK(analysis.endings[0].diverged_interval.high == doctest::Approx(0.2775).epsilon(0.001));
}

TEST_CASE("a loss that ended above the one before training diverged, and the run ended all the same") {
  const Study study = study_of({{"alpha", scales}}, 10);
  Results results(study);
  results.losses(0, around(1));
  results.losses(1, around(9));
  const Analysis analysis = analyse(study, results.known());
  CHECK(analysis.finished == 20);
  CHECK(analysis.diverged == 0);
  CHECK(analysis.endings[1].diverged == 10);
}

TEST_CASE("Holm's correction takes back what would have been supported alone") {
  Study study = study_of({{"alpha", scales}}, 6);
  study.hypotheses = {lower()};
  // 0.9 in every run: p is 1
  study.metrics.push_back(metric_of<FinalValue>("accuracy", "final_value", {{Measure::token_accuracy}}));
  Results results(study);
  results.losses(0, around(1, 6));
  results.losses(1, around_too(0.5, 6));
  CHECK(analyse(study, results.known()).hypotheses[0].verdict == Verdict::supported);
  CHECK(*analyse(study, results.known()).hypotheses[0].p_holm == 0.03125);

  study.hypotheses.push_back(lower());
  study.hypotheses[1].metric = "accuracy";
  const Analysis two = analyse(study, results.known());
  CHECK(*two.hypotheses[0].p == 0.03125);
  CHECK(*two.hypotheses[0].p_holm == 0.0625);
  CHECK(two.hypotheses[0].verdict == Verdict::undecided);
  CHECK(two.hypotheses[0].checks[0].verdict == Verdict::undecided);
  CHECK(*two.hypotheses[1].p_holm == 1);

  study.looks = 3;
  CHECK(*analyse(study, results.known()).hypotheses[0].p_holm == 3 * 0.0625);
  study.looks = 1;

  // One that still waits for its runs counts, so that the verdict is not taken back later.
  study.metrics[1] = metric_of<FinalValue>("accuracy", "final_value", {{Measure::sequence_accuracy}});  // no run has it
  const Analysis waiting = analyse(study, results.known());
  CHECK_FALSE(waiting.hypotheses[1].p.has_value());
  CHECK(contains(waiting.hypotheses[1].reason, "of 12 runs 12 have no such value"));
  CHECK(*waiting.hypotheses[0].p_holm == 0.0625);
}

TEST_CASE("what fewer than six seeds can never decide costs the others nothing") {
  Study study = study_of({{"alpha", scales}}, 6);
  add_tuning(study);  // on three seeds
  study.metrics.push_back(metric_of<RateSensitivity>("sensitivity", "rate_sensitivity"));
  study.hypotheses = {lower(), lower()};
  study.hypotheses[1].metric = "sensitivity";
  Results results(study);
  results.losses(0, around(1, 6));
  results.losses(1, around_too(0.5, 6));
  for (const std::size_t arm : {0, 1})
    tune(study, results, arm, [&](double rate, std::uint64_t) {
      return run_with(rate == 0.01 ? 0.5 : arm == 0 ? 2 : 1);
    });
  const Analysis analysis = analyse(study, results.known());
  CHECK(analysis.hypotheses[0].verdict == Verdict::supported);
  CHECK(*analysis.hypotheses[0].p_holm == 0.03125);
  CHECK(effect(analysis.hypotheses[1]) == doctest::Approx(-2.0 / 3));
  CHECK(contains(analysis.hypotheses[1].reason, "6 seeds are needed and there are 3"));
}

TEST_CASE("the regime of a comparison is the hypothesis' or its sides'") {
  Study study = study_of({{"alpha", scales}}, 6);
  add_tuning(study);
  study.hypotheses = {lower(), lower(),
                      hypothesis_of("difference", {{"regime", "tuned"}}, {{"regime", "shared"}}, "lower")};
  study.hypotheses[1].regime = Regime::tuned;
  Results results(study);
  results.losses(0, around(2, 6));
  results.losses(1, around(1, 6));
  Analysis analysis = analyse(study, results.known());
  CHECK(effect(analysis.hypotheses[0]) == doctest::Approx(-1));
  CHECK(contains(analysis.hypotheses[1].reason, "of 12 runs 12 wait for the tuning"));

  for (const std::size_t arm : {0, 1}) {
    tune(study, results, arm, [](double rate, std::uint64_t) { return run_with(rate == 0.01 ? 0.5 : 1.5); });
    REQUIRE(tuned(study, arm, results.known()).settings.size() == 1);
    results.losses(arm, around(arm == 0 ? 0.6 : 0.3, 6), tuned(study, arm, results.known()).settings);
  }
  analysis = analyse(study, results.known());
  CHECK(effect(analysis.hypotheses[0]) == doctest::Approx(-1));
  CHECK(effect(analysis.hypotheses[1]) == doctest::Approx(-0.3));
  CHECK(contains(analysis.hypotheses[1].reason, "optimizer.learning_rate tuned for each arm on 3 other seeds"));
  CHECK(effect(analysis.hypotheses[2]) == doctest::Approx((0.6 - 2 + 0.3 - 1) / 2));
  CHECK(analysis.tuned.size() == 2);
  std::size_t tuned_summaries = 0;
  for (const ArmSummary& summary : analysis.summaries) tuned_summaries += summary.regime == Regime::tuned;
  CHECK(tuned_summaries == 2);
}

TEST_CASE("a tuning none of whose runs has a value chooses nothing") {
  Study study = study_of({{"alpha", scales}}, 6);
  add_tuning(study);
  study.metrics.push_back(metric_of<FinalValue>("accuracy", "final_value", {{Measure::sequence_accuracy}}));
  study.tuning->metric = "accuracy";  // which no run has
  study.hypotheses = {lower()};
  study.hypotheses[0].regime = Regime::tuned;
  Results results(study);
  for (const std::size_t arm : {0, 1})
    for (const PlannedRun& planned : tuned(study, arm, results.known()).runs)
      results.at(arm, planned.seed, planned.settings) = run_with(1);
  CHECK_FALSE(tuned(study, 0, results.known()).done);
  CHECK(tuned(study, 0, results.known()).without_values);
  CHECK(contains(analyse(study, results.known()).hypotheses[0].reason,
                 "of 12 runs 12 have a tuning without any value of its metric"));
}

TEST_CASE("a tuning of which a run failed waits until it is made again") {
  Study study = study_of({{"alpha", scales}}, 6);
  add_tuning(study);
  study.hypotheses = {lower()};
  study.hypotheses[0].regime = Regime::tuned;
  Results results(study);
  for (const std::size_t arm : {0, 1}) tune(study, results, arm, [](double, std::uint64_t) { return run_with(1); });
  REQUIRE(tuned(study, 0, results.known()).done);
  const PlannedRun first = tuned(study, 0, results.known()).runs.front();
  results.at(0, first.seed, first.settings) = failed_run();
  CHECK_FALSE(tuned(study, 0, results.known()).done);
  CHECK(tuned(study, 0, results.known()).failed);
  CHECK(contains(analyse(study, results.known()).hypotheses[0].reason,
                 "6 have not ended, 6 have a tuning of which a run failed"));
}

TEST_CASE("claims follow from their hypotheses") {
  Study study = study_of({{"alpha", scales}}, 10);
  Results results(study);
  results.losses(0, around(1));
  results.losses(1, around_too(0.5));
  const auto claim_with = [&](std::vector<Hypothesis> hypotheses) {
    study.claims = {3};
    study.hypotheses = std::move(hypotheses);
    for (Hypothesis& hypothesis : study.hypotheses) hypothesis.claim = 3;
    return analyse(study, results.known()).claims.at(0);
  };
  Hypothesis higher = lower();
  higher.expect = "higher";
  CHECK(claim_with({lower(), lower(0.1)}).verdict == Verdict::supported);
  CHECK(claim_with({lower(), lower(0.5)}).verdict == Verdict::undecided);
  CHECK(claim_with({lower(), lower(0.5), higher}).verdict == Verdict::refuted);
  CHECK(claim_with({lower(), higher}).sentence ==
        "Claim 3 is refuted. For it: \"It is so\" supported; \"It is so\" refuted.");
  Hypothesis against = higher, undecided = lower(0.5);
  against.name = "It is not so", undecided.name = "It is much so";
  against.contradicts = true;
  CHECK(claim_with({against}).sentence == "Claim 3 is supported. Against it: \"It is not so\" refuted.");
  CHECK(
      claim_with({lower(), against, undecided}).sentence ==
      "Claim 3 is undecided. For it: \"It is so\" supported; \"It is much so\" undecided. Against it: \"It is not so\" "
      "refuted.");
  CHECK(claim_with({}).sentence == "Claim 3 is undecided: no hypothesis of this study is about it.");
  study.claims.clear();
  study.hypotheses = {lower()};
  study.hypotheses[0].claim = 7;
  CHECK(analyse(study, results.known()).claims.at(0).claim == 7);
}

TEST_CASE("the effects of a 2^2 design") {
  Study study = study_of({{"alpha", scales}, {"tie", {{"none", {}}, {"all", {}}}}}, 6);
  Results results(study);
  const double losses[] = {1, 2, 0.5, 1.75};  // one none, one all, sqrt none, sqrt all
  for (std::size_t arm = 0; arm < 4; ++arm) results.losses(arm, Values(6, losses[arm]));
  const Analysis analysis = analyse(study, results.known());
  REQUIRE(analysis.factor_effects.size() == 3);
  CHECK(analysis.factor_effects[0].axes == std::vector<std::string>{"alpha"});
  CHECK(analysis.factor_effects[0].effect.value.low == -0.1875);
  CHECK(analysis.factor_effects[1].axes == std::vector<std::string>{"tie"});
  CHECK(analysis.factor_effects[1].effect.value.low == 0.5625);
  CHECK(analysis.factor_effects[2].axes == std::vector<std::string>{"alpha", "tie"});
  CHECK(analysis.factor_effects[2].effect.value.low == 0.0625);
  CHECK(analysis.factor_effects[2].effect.interval.low == 0.0625);
  results.at(0, 1) = failed_run();
  CHECK(analyse(study, results.known()).factor_effects.empty());
}
