#include "autograd/base/random.hpp"
#include "two_arms.hpp"

#include <doctest/doctest.h>

using namespace surd;
using namespace surd::test;

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
  // Differences of both signs, none of them as low as the margin.
  const HypothesisResult mixed = judged(lower(0.4), around(1), around_too(1));
  CHECK(mixed.verdict == Verdict::refuted);
  CHECK(contains(mixed.reason, "p = 0.001953 (all on one side of the margin, the smallest there is; "));
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

namespace {

/// Both arms with the matrices tied and not: one none (0), one all (1), sqrt(d) none (2), sqrt(d) all (3), and a
/// hypothesis about what tying does to their difference.
struct Crossed {
  Study study = study_of({{"alpha", scales}, {"tie", {{"none", {}}, {"all", {}}}}}, 10);
  Results results{study};

  Crossed(std::string kind, std::string expect, double margin = 0) {
    Hypothesis hypothesis =
        hypothesis_of(std::move(kind), {{"alpha", "sqrt(d)"}}, {{"alpha", "one"}}, std::move(expect), margin);
    hypothesis.under = {{"tie", "all"}};
    hypothesis.versus = {{"tie", "none"}};
    study.hypotheses = {hypothesis};
  }
  HypothesisResult judged() const { return analyse(study, results.known()).hypotheses[0]; }
};

}  // namespace

TEST_CASE("an interaction is a difference of differences") {
  Crossed crossed("interaction", "lower");
  crossed.results.losses(0, around(1));
  crossed.results.losses(1, around_too(2));
  crossed.results.losses(2, around_too(0.9));  // 0.1 lower
  crossed.results.losses(3, around(1.2));      // 0.8 lower
  HypothesisResult result = crossed.judged();
  CHECK(result.verdict == Verdict::supported);
  CHECK(effect(result) == doctest::Approx(-0.7));
  CHECK(*result.p == 2.0 / 1024);
  std::swap(crossed.study.hypotheses[0].under, crossed.study.hypotheses[0].versus);
  result = crossed.judged();
  CHECK(result.verdict == Verdict::refuted);
  CHECK(contains(result.reason, "tie=none less tie=all"));
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
  CHECK(contains(times.judged().reason, "(all on one side of 1, the smallest there is; "));
}

TEST_CASE("where a metric is compared by ratio, a value of 0 or less is told to have none") {
  Study study = study_of({{"alpha", scales}}, 6);
  study.metrics[0].compared_by = ComparedBy::ratio;
  study.hypotheses = {lower()};
  Results results(study);
  results.losses(0, Values(6, 1));
  results.losses(1, {0, -1, 0.5, 0.5, 0.5, 0.5});
  const HypothesisResult result = analyse(study, results.known()).hypotheses[0];
  CHECK(result.verdict == Verdict::undecided);
  CHECK(contains(result.reason, "Undecided: of 12 runs 2 have values of 0 or less, which have no ratio and no "));
}

TEST_CASE("updates that a warm-up is half of, or more, are told") {
  Times times(lower());
  const auto take = [&](std::size_t arm, double updates, const std::vector<double>& rates) {
    times.take(arm, Values(10, updates));
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      auto& logged = times.results.at(arm, seed).metrics.updates;
      logged.clear();
      for (std::size_t i = 0; i < rates.size(); ++i) logged.push_back({50 * (i + 1), 0, 1, 1, rates[i], 10, 10});
    }
  };
  const std::vector<double> warmup_of_100 = {0.5, 1, 0.9, 0.8}, constant = {1, 1, 1, 1}, falling = {1, 0.9, 0.8, 0.7};
  const auto reason = [&] { return times.judged().reason; };
  take(0, 200, warmup_of_100);
  take(1, 210, warmup_of_100);
  CHECK(contains(reason(), "10 of 20 values lie within twice the warm-up, whose updates are worth less"));
  take(1, 90, warmup_of_100);
  CHECK(contains(reason(), "20 of 20 values lie within twice the warm-up"));
  for (const auto& rates : {constant, falling, std::vector<double>{}}) {
    take(0, 40, rates);
    take(1, 90, rates);
    CHECK_FALSE(contains(reason(), "warm-up"));
  }
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
  Crossed crossed("interaction", "higher");
  crossed.study.metrics = {metric_of<UpdatesTo>("steps", "updates_to", {{}, 0.1})};
  crossed.study.hypotheses[0].metric = "steps";
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {  // half as long in both, where the runs are long enough
    crossed.results.at(0, seed) = run_until(400 + static_cast<double>(seed));
    crossed.results.at(1, seed) = run_until(1600);
    crossed.results.at(2, seed) = run_until(200 + static_cast<double>(seed));
    crossed.results.at(3, seed) = run_until(800 + static_cast<double>(seed));
  }
  const HypothesisResult result = crossed.judged();
  CHECK(result.verdict == Verdict::undecided);  // 800 / 1000 against 200 / 400 only looks higher
  CHECK(*result.p == 1);
}

TEST_CASE("no interaction is an equivalence of two differences") {
  Crossed crossed("equivalence", "", 0.2);
  crossed.results.losses(0, around(1));
  crossed.results.losses(1, around_too(2));
  crossed.results.losses(2, around_too(0.5));  // 0.5 lower
  crossed.results.losses(3, around(1.45));     // 0.55 lower
  const HypothesisResult result = crossed.judged();
  CHECK(result.verdict == Verdict::supported);
  CHECK(effect(result) == doctest::Approx(-0.05).epsilon(0.2));
  crossed.study.hypotheses[0].margin = 0.01;
  CHECK(crossed.judged().verdict != Verdict::supported);
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
