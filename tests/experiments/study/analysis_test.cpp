#include "autograd/base/random.hpp"
#include "experiments/study/metrics/learning_rates.hpp"
#include "study_runs.hpp"

#include <doctest/doctest.h>

using namespace surd;
using namespace surd::test;

namespace {

using Values = std::vector<double>;

bool same(const std::vector<MetricValue>& values, const Values& expected) {
  return std::equal(values.begin(), values.end(), expected.begin(), expected.end(),
                    [](const MetricValue& value, double number) { return value.known() && value.low == number; });
}
double effect(const HypothesisResult& result) { return result.checks.at(0).effect.value.low; }

const Levels scales = {{"one", 1.0}, {"sqrt(d)", 8.0}};
const Values noise = {0.02, -0.01, 0.03, 0, -0.02, 0.01, -0.03, 0.015, -0.005, 0.025};

Values around(double middle, std::size_t seeds = 10) {
  Values values;
  for (std::size_t i = 0; i < seeds; ++i) values.push_back(middle + noise[i]);
  return values;
}
/// The noise in another order, so that differences vary.
Values around_too(double middle, std::size_t seeds = 10) {
  Values values;
  for (std::size_t i = 0; i < seeds; ++i) values.push_back(middle + noise[(3 * i + 1) % seeds]);
  return values;
}

/// What becomes of one hypothesis about arms one (0) and sqrt(d) (1) with these final losses.
HypothesisResult judged(const Hypothesis& hypothesis, const Values& one, const Values& sqrt) {
  Study study = study_of({{"alpha", scales}}, one.size());
  study.hypotheses = {hypothesis};
  Results results(study);
  results.losses(0, one);
  results.losses(1, sqrt);
  return analyse(study, results.known()).hypotheses.at(0);
}

Hypothesis lower(double margin = 0) {
  return hypothesis_of("difference", {{"alpha", "sqrt(d)"}}, {{"alpha", "one"}}, "lower", margin);
}

}  // namespace

TEST_CASE("a difference needs its interval and its p on one side of 0") {
  const HypothesisResult supported = judged(lower(), around(1), around_too(0.5));
  CHECK(supported.verdict == Verdict::supported);
  CHECK(*supported.p == 2.0 / 1024);
  CHECK(*supported.p_holm == 2.0 / 1024);
  REQUIRE(supported.checks.size() == 1);
  CHECK(effect(supported) == doctest::Approx(-0.5));  // sqrt(d) - one
  CHECK(supported.checks[0].effect.interval.high < -0.45);
  CHECK(supported.checks[0].effect.interval.low > -0.55);
  CHECK(supported.checks[0].label == "alpha=sqrt(d) - alpha=one");
  CHECK(supported.checks[0].seeds.size() == 10);
  CHECK(contains(supported.reason, "final_loss of alpha=sqrt(d) minus alpha=one is -0.5 nats [-0.5"));
  CHECK(contains(supported.reason,
                 "p = 0.001953 (all of one sign, the smallest there is; 0.001953 after Holm), pseudo-median of 10"));

  const HypothesisResult refuted = judged(lower(), around(0.5), around_too(1));
  CHECK(refuted.verdict == Verdict::refuted);
  CHECK(contains(refuted.reason, "against what was expected (lower than 0)"));
  Hypothesis higher = lower();
  higher.expect = "higher";
  CHECK(judged(higher, around(0.5), around_too(1)).verdict == Verdict::supported);

  const HypothesisResult undecided = judged(lower(), around(1), around_too(1));
  CHECK(undecided.verdict == Verdict::undecided);
  CHECK(*undecided.p > 0.05);
  CHECK(contains(undecided.reason,
                 "pseudo-median of 10 seeds, nothing tuned, which does not decide whether it is lower than 0."));
}

TEST_CASE("a margin has to be exceeded") {
  CHECK(judged(lower(0.4), around(1), around_too(0.5)).verdict == Verdict::supported);
  CHECK(judged(lower(0.5), around(1), around_too(0.5)).verdict == Verdict::undecided);
  CHECK(judged(lower(0.6), around(1), around_too(0.5)).verdict == Verdict::refuted);
  CHECK(contains(judged(lower(0.4), around(1), around_too(0.5)).reason, "lower than 0 by more than 0.4 nats"));
}

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
  REQUIRE(analysis.endings.size() == 2);
  CHECK(analysis.endings[1].diverged == 1);
  CHECK(analysis.endings[1].diverged_interval.high == doctest::Approx(0.404).epsilon(0.001));  // 1 of 10
  CHECK(analysis.endings[0].diverged_interval.high == doctest::Approx(0.2775).epsilon(0.001));
}

TEST_CASE("axes that neither side names are averaged over, arm by its like") {
  Study study = study_of({{"alpha", scales}, {"tie", {{"none", {}}, {"all", {}}}}}, 6);
  study.hypotheses = {
      lower(), hypothesis_of("difference", {{"alpha", "sqrt(d)"}, {"tie", "all"}}, {{"alpha", "one"}}, "lower"),
      hypothesis_of("difference", {{"alpha", "sqrt(d)"}, {"tie", "all"}}, {{"alpha", "one"}, {"tie", "none"}}, "lower"),
      hypothesis_of("difference", {{"alpha", "sqrt(d)"}}, {{"alpha", "two"}}, "lower"),
      hypothesis_of("difference", {{"alpha", "sqrt(d)"}}, {{"alpha", "one"}, {"tie", "none"}}, "lower")};
  Results results(study);  // arms: one none, one all, sqrt none, sqrt all
  const Values losses[] = {
      {1, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 2, 2}, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, {1.75, 1, 1, 1, 1, 1}};
  for (std::size_t arm = 0; arm < 4; ++arm) results.losses(arm, losses[arm]);
  const Analysis analysis = analyse(study, results.known());
  CHECK(same(analysis.hypotheses[0].checks[0].values, {-0.375, -0.75, -0.75, -0.75, -0.75, -0.75}));
  // What one side names alone holds for both.
  CHECK(same(analysis.hypotheses[1].checks[0].values, {-0.25, -1, -1, -1, -1, -1}));
  CHECK(same(analysis.hypotheses[2].checks[0].values, {0.75, 0, 0, 0, 0, 0}));
  CHECK(same(analysis.hypotheses[4].checks[0].values, Values(6, -0.5)));
  CHECK(analysis.hypotheses[3].verdict == Verdict::undecided);
  CHECK(contains(analysis.hypotheses[3].reason, "no arms of the study can be compared this way"));
}

TEST_CASE("equivalence lies inside its margins, or wholly outside") {
  const auto same = [](double margin) {
    return hypothesis_of("equivalence", {{"alpha", "sqrt(d)"}}, {{"alpha", "one"}}, "", margin);
  };
  const HypothesisResult supported = judged(same(0.1), around(1), around_too(1.01));
  CHECK(supported.verdict == Verdict::supported);
  CHECK(*supported.p == 2.0 / 1024);  // both one-sided tests at their smallest
  CHECK(contains(supported.reason, "less than 0.1 nats either way"));
  const HypothesisResult close = judged(same(0.1), around(1), around_too(1.095));
  Values differences;
  for (const MetricValue& difference : close.checks[0].values) differences.push_back(difference.low);
  CHECK(*close.p == 2 * statistics::signed_rank_p_below(differences, 0.1));  // the worse of the two
  CHECK(*close.p > 0.05);
  CHECK(close.verdict == Verdict::undecided);
  CHECK(judged(same(0.1), around(1), around_too(1.5)).verdict == Verdict::refuted);
  CHECK(judged(same(0.1), around(1), around_too(0.5)).verdict == Verdict::refuted);
  CHECK(judged(same(0.1), around(1), around_too(1.1)).verdict == Verdict::undecided);
  CHECK(judged(same(0.001), around(1), around_too(1)).verdict == Verdict::undecided);
}

TEST_CASE("an interaction is a difference of differences") {
  Study study = study_of({{"alpha", scales}, {"tie", {{"none", {}}, {"all", {}}}}}, 10);
  Hypothesis hypothesis = hypothesis_of("interaction", {{"alpha", "sqrt(d)"}}, {{"alpha", "one"}}, "lower");
  hypothesis.under = {{"tie", "all"}};
  hypothesis.versus = {{"tie", "none"}};
  study.hypotheses = {hypothesis};
  Results results(study);
  results.losses(0, around(1));        // one, none
  results.losses(1, around_too(2));    // one, all
  results.losses(2, around_too(0.9));  // sqrt, none: 0.1 lower
  results.losses(3, around(1.2));      // sqrt, all: 0.8 lower
  HypothesisResult result = analyse(study, results.known()).hypotheses[0];
  CHECK(result.verdict == Verdict::supported);
  CHECK(effect(result) == doctest::Approx(-0.7));
  CHECK(*result.p == 2.0 / 1024);
  std::swap(study.hypotheses[0].under, study.hypotheses[0].versus);
  result = analyse(study, results.known()).hypotheses[0];
  CHECK(result.verdict == Verdict::refuted);
  CHECK(contains(result.reason, "tie=none less tie=all"));
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
  CHECK(claim_with({lower(), higher}).sentence == "Claim 3 is refuted: supported \"It is so\"; refuted \"It is so\".");
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

namespace {

/// A run that needs so many updates to a loss of 0.1, of 1000 at most.
RunResult run_until(double updates) {
  RunResult result = run_with(1);
  result.updates = 1000;
  result.metrics.evaluations.clear();
  const auto reached = static_cast<std::uint64_t>(std::lround(updates));
  for (const std::uint64_t more : {0, 1, 2})
    if (reached + more <= 1000)
      result.metrics.evaluations.push_back({reached + more, 0.05, 1.05, 1, std::nullopt, true});
  if (result.metrics.evaluations.empty())
    result.metrics.evaluations.push_back({1000, 1, std::exp(1), 0.5, std::nullopt, true});
  return result;
}

/// Updates that two arms need to a target, and a hypothesis about them.
struct Times {
  Study study = study_of({{"alpha", scales}}, 10);
  Results results{study};

  explicit Times(const Hypothesis& hypothesis) {
    study.metrics = {metric_of<UpdatesTo>("steps", "updates_to", {{}, 0.1})};
    study.hypotheses = {hypothesis};
    study.hypotheses[0].metric = "steps";
  }
  void take(std::size_t arm, const Values& updates) {
    for (std::size_t i = 0; i < updates.size(); ++i) results.at(arm, i + 1) = run_until(updates[i]);
  }
  HypothesisResult judged() const { return analyse(study, results.known()).hypotheses[0]; }
};

}  // namespace

TEST_CASE("a check says in its own units where it is expected") {
  const auto region = [](const Hypothesis& hypothesis) {
    const HypothesisResult result = judged(hypothesis, around(1), around_too(1.2));
    REQUIRE(result.checks.size() == 1);
    return *result.checks[0].region;
  };
  constexpr double infinity = statistics::infinity;
  CHECK(region(lower()).low == -infinity);
  CHECK(region(lower()).high == 0);
  CHECK(region(lower(0.2)).high == -0.2);
  const Region same = region(hypothesis_of("equivalence", {{"alpha", "sqrt(d)"}}, {{"alpha", "one"}}, "", 0.1));
  CHECK(same.low == -0.1);
  CHECK(same.high == 0.1);

  Study study = study_of({{"alpha", scales}}, 6);
  study.metrics.push_back(metric_of<FinalValue>("perplexity", "final_value", {Measure::perplexity}));
  study.hypotheses = {lower(1.25), hypothesis_of("value", {{"alpha", "one"}}, {}, "at_most")};
  study.hypotheses[0].metric = "perplexity";
  study.hypotheses[1].formula = "2", study.hypotheses[1].tolerance = 0.5;
  study.hypotheses.push_back(hypothesis_of("identical", {{"alpha", "sqrt(d)"}}, {{"alpha", "one"}}, "different"));
  study.hypotheses[2].tolerance = 0.25;
  Results results(study);
  results.losses(0, {1, 2, 1, 2, 1, 2});
  results.losses(1, {2, 1, 2, 1, 2, 1});
  const Analysis analysis = analyse(study, results.known());
  CHECK(analysis.hypotheses[0].checks[0].region->high == doctest::Approx(0.8));
  CHECK(analysis.hypotheses[1].checks[0].region->low == -infinity);
  CHECK(analysis.hypotheses[1].checks[0].region->high == 2.5);
  CHECK(analysis.hypotheses[2].checks[0].region->low == 0.25);
  CHECK(analysis.hypotheses[2].checks[0].region->high == infinity);
}

TEST_CASE("times are compared as ratios, and a margin is a factor") {
  Times times(lower(1.5));
  times.take(0, {400, 410, 390, 420, 380, 400, 430, 370, 405, 395});
  times.take(1, {200, 205, 195, 210, 190, 200, 215, 185, 230, 180});
  HypothesisResult result = times.judged();
  CHECK(result.verdict == Verdict::supported);
  CHECK(effect(result) == doctest::Approx(0.5).epsilon(0.01));
  CHECK(result.checks[0].compared_by == ComparedBy::ratio);
  CHECK(result.checks[0].values[8].low == doctest::Approx(230 / 405.0));
  CHECK(contains(result.reason, "steps of alpha=sqrt(d) over alpha=one is 0.5 times ["));
  CHECK(contains(result.reason, "(lower than 1 by more than a factor of 1.5)"));
  times.study.hypotheses[0].margin = 2.2;
  result = times.judged();
  CHECK(result.verdict == Verdict::refuted);
  times.study.hypotheses[0].margin = 0;  // none
  CHECK(contains(times.judged().reason, "(lower than 1)"));
}

TEST_CASE("a censored time keeps its order and loses its size") {
  const Values fast = {200, 205, 195, 210, 190, 200, 215, 185, 230, 180}, never(10, 2000);
  Times times(lower());
  times.take(0, never);
  times.take(1, fast);
  HypothesisResult result = times.judged();
  CHECK(result.verdict == Verdict::supported);  // each is below what the other needs at least
  CHECK(effect(result) == -statistics::infinity);
  CHECK(result.checks[0].effect.value.high == doctest::Approx(0.2).epsilon(0.05));
  CHECK(contains(result.reason, "is ≤ 0.2"));
  CHECK(contains(result.reason, "10 of 20 values are censored"));

  times.study.hypotheses[0].margin = 4;  // 1000 / 200 is more than that in every seed
  CHECK(times.judged().verdict == Verdict::supported);
  times.study.hypotheses[0].margin = 8;  // may be, may be not
  CHECK(times.judged().verdict == Verdict::undecided);
  times.study.hypotheses[0] = hypothesis_of("equivalence", {{"alpha", "sqrt(d)"}}, {{"alpha", "one"}}, "", 3);
  times.study.hypotheses[0].metric = "steps";
  CHECK(times.judged().verdict == Verdict::refuted);  // however late the other is
  times.take(1, never);
  CHECK(times.judged().verdict == Verdict::undecided);  // equal are only their ends
  CHECK(contains(times.judged().reason, "alpha=sqrt(d) over alpha=one is not known, p = 1"));
}

TEST_CASE("an interaction is not decided by the length of the runs") {
  Study study = study_of({{"alpha", scales}, {"tie", {{"none", {}}, {"all", {}}}}}, 10);
  study.metrics = {metric_of<UpdatesTo>("steps", "updates_to", {{}, 0.1})};
  Hypothesis hypothesis = hypothesis_of("interaction", {{"alpha", "sqrt(d)"}}, {{"alpha", "one"}}, "higher");
  hypothesis.metric = "steps";
  hypothesis.under = {{"tie", "all"}};
  hypothesis.versus = {{"tie", "none"}};
  study.hypotheses = {hypothesis};
  Results results(study);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {  // half as long in both, where the runs are long enough
    results.at(0, seed) = run_until(400 + static_cast<double>(seed));
    results.at(1, seed) = run_until(1600);
    results.at(2, seed) = run_until(200 + static_cast<double>(seed));
    results.at(3, seed) = run_until(800 + static_cast<double>(seed));
  }
  const HypothesisResult result = analyse(study, results.known()).hypotheses[0];
  CHECK(result.verdict == Verdict::undecided);  // 800 / 1000 against 200 / 400 only looks higher
  CHECK(*result.p == 1);
}

TEST_CASE("no interaction is an equivalence of two differences") {
  Study study = study_of({{"alpha", scales}, {"tie", {{"none", {}}, {"all", {}}}}}, 10);
  Hypothesis hypothesis = hypothesis_of("equivalence", {{"alpha", "sqrt(d)"}}, {{"alpha", "one"}}, "", 0.2);
  hypothesis.under = {{"tie", "all"}};
  hypothesis.versus = {{"tie", "none"}};
  study.hypotheses = {hypothesis};
  Results results(study);
  results.losses(0, around(1));        // one, none
  results.losses(1, around_too(2));    // one, all
  results.losses(2, around_too(0.5));  // sqrt, none: 0.5 lower
  results.losses(3, around(1.45));     // sqrt, all: 0.55 lower
  HypothesisResult result = analyse(study, results.known()).hypotheses[0];
  CHECK(result.verdict == Verdict::supported);
  CHECK(effect(result) == doctest::Approx(-0.05).epsilon(0.2));
  study.hypotheses[0].margin = 0.01;
  CHECK(analyse(study, results.known()).hypotheses[0].verdict != Verdict::supported);
}

namespace {

/// How many of 400 studies are decided whose one hypothesis is at the edge of what it says, so that either verdict is
/// wrong: each run's final loss, or its time, comes from `draw`, which is given a normal and a uniform number.
template <class Draw>
std::size_t decided_at_the_edge(const Hypothesis& hypothesis, bool times, Draw draw) {
  constexpr std::size_t studies = 400, seeds = 10;
  const random::Stream normals(1, "test", "null studies"), uniforms(2, "test", "null studies");
  Study study = study_of({{"alpha", scales}, {"tie", {{"none", {}}, {"all", {}}}}}, seeds);
  if (times) study.metrics = {metric_of<UpdatesTo>("final_loss", "updates_to", {{}, 0.1})};
  study.hypotheses = {hypothesis};
  Results results(study);
  std::size_t count = 0;
  for (std::size_t i = 0; i < studies; ++i) {
    for (std::size_t arm = 0; arm < 4; ++arm)
      for (std::size_t seed = 0; seed < seeds; ++seed) {
        const std::size_t at = (4 * i + arm) * seeds + seed;
        const double number = draw(arm, normals.normal(at), uniforms.uniform(at));
        results.at(arm, seed + 1) = times ? run_until(number) : run_with(number);
      }
    count += analyse(study, results.known()).hypotheses[0].verdict != Verdict::undecided;
  }
  return count;
}

}  // namespace

TEST_CASE("studies without an effect, or with one just at the margin, are decided no more often than 5 % allow") {
  const auto no_more = [](std::size_t decided) {
    CAPTURE(decided);
    return statistics::wilson(decided, 400).low <= 0.05;
  };
  Hypothesis equivalence = hypothesis_of("equivalence", {{"alpha", "sqrt(d)"}}, {{"alpha", "one"}}, "", 0.5);
  Hypothesis interaction = lower();
  interaction.kind = "interaction", interaction.statement = hypothesis_kinds().recipe("interaction")->make();
  interaction.under = {{"tie", "all"}}, interaction.versus = {{"tie", "none"}};
  const auto smooth = [](double effect) {
    return [effect](std::size_t arm, double z, double) { return 1.5 + 0.2 * z + (arm >= 2 ? effect : 0); };
  };
  CHECK(no_more(decided_at_the_edge(lower(), false, smooth(0))));
  CHECK(no_more(decided_at_the_edge(lower(0.5), false, smooth(-0.5))));
  CHECK(no_more(decided_at_the_edge(equivalence, false, smooth(0.5))));
  CHECK(no_more(decided_at_the_edge(interaction, false, smooth(0.3))));
  CHECK(400 - decided_at_the_edge(lower(), false, smooth(-0.5)) <= 4);  // and with an effect nearly all are

  // One run in ten takes five times as long, and some of those beyond the end of the run; twice as long in both of
  // sqrt(d) is the margin.
  const auto late = [](std::size_t arm, double z, double u) {
    return (arm >= 2 ? 100 : 200) * std::exp(0.1 * z) * (u < 0.1 ? 5 : 1) + 0.5;
  };
  Hypothesis twice = lower(2), within_twice = equivalence;
  within_twice.margin = 2;
  CHECK(no_more(decided_at_the_edge(twice, true, late)));
  CHECK(no_more(decided_at_the_edge(within_twice, true, late)));
  CHECK(no_more(decided_at_the_edge(interaction, true, late)));
  // Half of the runs of the slower arm are too short for its target.
  const auto cut = [](std::size_t arm, double z, double) { return (arm >= 2 ? 500 : 1000) * std::exp(0.2 * z); };
  CHECK(no_more(decided_at_the_edge(twice, true, cut)));
  CHECK(no_more(decided_at_the_edge(within_twice, true, cut)));
  CHECK(no_more(decided_at_the_edge(interaction, true, cut)));
}

TEST_CASE("a trend is judged by the rank correlation with the numbers of an axis, whatever its shape") {
  Study study = study_of({{"d", {{"large", 256.0}, {"small", 16.0}, {"middle", 64.0}}}}, 8);
  Hypothesis falling = hypothesis_of("trend", {}, {}, "falling"), rising = hypothesis_of("trend", {}, {}, "rising");
  falling.over = rising.over = "d";
  study.hypotheses = {falling, rising};
  Results results(study);
  results.losses(0, around(0.99, 8));
  results.losses(1, around(2, 8));
  results.losses(2, around_too(1.01, 8));
  const auto judge = [&] { return analyse(study, results.known()).hypotheses; };
  auto both = judge();
  CAPTURE(both[0].reason);
  REQUIRE(both[0].checks.size() == 1);
  // Two of three pairs are always in falling order, the third, of the large and the middle one, by chance.
  for (std::size_t seed = 0; seed < 8; ++seed) {
    const bool third = around(0.99, 8)[seed] < around_too(1.01, 8)[seed];
    CHECK(both[0].checks[0].values[seed].low == doctest::Approx(third ? -1 : -1 / 3.0));
  }
  CHECK(both[0].verdict == Verdict::supported);
  CHECK(*both[0].p == 2.0 / 256);
  CHECK(both[1].verdict == Verdict::refuted);
  CHECK(both[1].checks[0].values[0].low == both[0].checks[0].values[0].low);

  results.losses(2, around(2.5, 8));  // the middle one is the worst: one of three pairs
  both = judge();
  CHECK(effect(both[0]) == doctest::Approx(-1 / 3.0));
  results.losses(0, around(2, 8));  // and the small one as good as the large one
  both = judge();
  CHECK(effect(both[0]) == 0);
  CHECK(both[0].verdict == Verdict::undecided);
  CHECK(both[1].verdict == Verdict::undecided);

  results.remove(1, 3);
  CHECK(judge()[0].verdict == Verdict::undecided);
  CHECK(judge()[0].checks[0].seeds.size() == 7);
}

TEST_CASE("a trend is one in every combination of the other axes, and knows what bounds leave open") {
  Study study = study_of({{"d", {{"16", 16.0}, {"64", 64.0}}}, {"tie", {{"none", {}}, {"all", {}}}}}, 7);
  Hypothesis trend = hypothesis_of("trend", {}, {}, "rising");
  trend.over = "d";
  study.hypotheses = {trend};
  Results results(study);
  for (const std::size_t arm : {0, 1, 2, 3}) results.losses(arm, around(arm < 2 ? 1 : 2, 7));
  HypothesisResult result = analyse(study, results.known()).hypotheses[0];
  REQUIRE(result.checks.size() == 2);
  REQUIRE(result.checks[0].region.has_value());  // which a report shades
  CHECK(result.checks[0].region->low == 0);
  CHECK(contains(result.reason, "pseudo-median of 7 seeds"));
  CHECK(result.checks[0].label == "tie=none");
  CHECK(result.checks[1].label == "tie=all");
  CHECK(result.verdict == Verdict::supported);
  results.losses(3, around(0.5, 7));  // falls where the matrices are tied
  result = analyse(study, results.known()).hypotheses[0];
  CHECK(result.verdict == Verdict::refuted);
  CHECK(result.checks[0].verdict == Verdict::supported);
  CHECK(result.checks[1].verdict == Verdict::refuted);
  study.hypotheses[0].arm = {{"tie", "none"}};
  CHECK(analyse(study, results.known()).hypotheses[0].verdict == Verdict::supported);
  study.hypotheses[0].arm = {{"d", "16"}};
  CHECK(contains(analyse(study, results.known()).hypotheses[0].reason, "a trend needs two levels of 'd' or more"));
  study.hypotheses[0].arm = {{"tie", "none"}};

  // No run reaches the target: nothing is known of any order, and nothing is decided.
  study.metrics = {metric_of<UpdatesTo>("final_loss", "updates_to", {{}, 0.1})};
  result = analyse(study, results.known()).hypotheses[0];
  CHECK(result.checks[0].values[0].low == -1);
  CHECK(result.checks[0].values[0].high == 1);
  CHECK(result.verdict == Verdict::undecided);
}
