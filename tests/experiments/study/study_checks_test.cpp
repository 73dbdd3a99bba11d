#include "two_arms.hpp"

#include <doctest/doctest.h>

using namespace surd;
using namespace surd::test;

// Hypotheses about numbers and curves: value, slope, trend, identical.

namespace {

const Levels widths = {{"16", 16.0}, {"64", 64.0}, {"256", 256.0}};

Hypothesis value(std::string formula, double tolerance, std::string expect = "within") {
  Hypothesis hypothesis = hypothesis_of("value", {}, {}, std::move(expect));
  hypothesis.formula = std::move(formula);
  hypothesis.tolerance = tolerance;
  return hypothesis;
}

/// Final losses sqrt(d) / 10 for d = 16, 64, 256, give or take `spread`.
struct Widths {
  Study study;
  Results results{study};

  explicit Widths(double spread = 0.01, std::size_t seeds = 8) : study(study_of({{"d", widths}}, seeds)) {
    for (std::size_t arm = 0; arm < 3; ++arm) {
      Values losses;
      for (std::size_t i = 0; i < seeds; ++i)
        losses.push_back(std::sqrt(*widths[arm].second) / 10 * (1 + (i % 2 == 0 ? spread : -spread)));
      results.losses(arm, losses);
    }
  }
  HypothesisResult judged(Hypothesis hypothesis) {
    study.hypotheses = {std::move(hypothesis)};
    return analyse(study, results.known()).hypotheses[0];
  }
};

}  // namespace

TEST_CASE("no ratio is 0 or less, whatever a formula expects") {
  Widths widths_study;
  widths_study.study.metrics.push_back(
      metric_of<FinalValue>("final_perplexity", "final_value", {{Measure::perplexity}}));
  REQUIRE(widths_study.study.metrics.back().compared_by == ComparedBy::ratio);
  for (const char* expect : {"within", "at_most"})
    for (const char* formula : {"0", "-1", "15 - d"}) {
      Hypothesis hypothesis = value(formula, 0, expect);
      hypothesis.metric = "final_perplexity";
      CHECK(widths_study.judged(hypothesis).verdict == Verdict::refuted);
    }
}

TEST_CASE("a value is where its formula says, in every arm selected") {
  Widths widths_study;
  const HypothesisResult supported = widths_study.judged(value("sqrt(d) / 10", 0.1));
  CHECK(supported.verdict == Verdict::supported);
  CHECK(*supported.p == 2.0 / 256);
  REQUIRE(supported.checks.size() == 3);
  CHECK(supported.checks[1].label == "d=64");
  CHECK(*supported.checks[1].expected == doctest::Approx(0.8));
  CHECK(*supported.checks[1].tolerance == 0.1);
  CHECK(contains(supported.reason, "final_loss holds in 3 of 3 cases"));
  CHECK(contains(supported.reason, "pseudo-median of 8 seeds, nothing tuned, as expected (sqrt(d) / 10 ± 0.1)"));

  // The interval of the widest, 1.6 +- 0.008 or so, has to be inside as a whole.
  CHECK(widths_study.judged(value("sqrt(d) / 10", 0.002)).verdict == Verdict::undecided);
  const HypothesisResult refuted = widths_study.judged(value("0.4", 0.1));
  CHECK(refuted.verdict == Verdict::refuted);
  CHECK(refuted.checks[0].verdict == Verdict::supported);
  CHECK(refuted.checks[2].verdict == Verdict::refuted);
  CHECK(contains(refuted.reason, "holds in 1 of 3 cases; in d=256 is 1.6 nats"));

  // Two tests of six seeds: each is small enough alone, and neither is decided, in no case.
  Widths six(0.01, 6);
  six.study.hypotheses = {value("sqrt(d) / 10", 0.1), value("sqrt(d) / 10", 0.2)};
  const HypothesisResult corrected = analyse(six.study, six.results.known()).hypotheses[0];
  CHECK(corrected.verdict == Verdict::undecided);
  CHECK(contains(corrected.reason, "final_loss holds in 0 of 3 cases; in d="));

  Hypothesis relative = value("sqrt(d) / 10", 0.02);
  relative.relative = true;
  CHECK(widths_study.judged(relative).verdict == Verdict::supported);
  CHECK(*widths_study.judged(relative).checks[2].tolerance == doctest::Approx(0.032));
  Hypothesis one = value("0.4", 0.1);
  one.arm = {{"d", "16"}};
  CHECK(widths_study.judged(one).verdict == Verdict::supported);
  one.arm = {{"d", "32"}};
  CHECK(contains(widths_study.judged(one).reason, "no such arm"));
}

TEST_CASE("a value may be bounded on one side") {
  Widths widths_study;
  CHECK(widths_study.judged(value("2", 0, "at_most")).verdict == Verdict::supported);
  CHECK(widths_study.judged(value("1", 0, "at_most")).verdict == Verdict::refuted);
  CHECK(widths_study.judged(value("1.6", 0, "at_most")).verdict == Verdict::undecided);
  CHECK(widths_study.judged(value("1.6", 0.1, "at_most")).verdict == Verdict::supported);
  CHECK(widths_study.judged(value("0.3", 0, "at_least")).verdict == Verdict::supported);
  CHECK(widths_study.judged(value("0.5", 0, "at_least")).verdict == Verdict::refuted);
  CHECK_THROWS_AS(widths_study.judged(value("0.5", 0, "about")), Error);
  // The words say where the end is.
  const auto words = [&](Hypothesis hypothesis, bool relative = false) {
    hypothesis.relative = relative;
    const std::string reason = widths_study.judged(hypothesis).reason, stated = hypothesis.statement->words(hypothesis);
    const std::string expected = stated.substr(stated.find(" is ") + 4);
    CHECK(contains(reason, expected));
    return expected;
  };
  CHECK(words(value("0", 0, "at_most")) == "at most 0");
  CHECK(words(value("40", 0.5, "at_most"), true) == "at most 60");
  CHECK(contains(widths_study.judged(value("2", 0.5, "at_most")).reason,
                 "in 3 of 3 cases; the nearest to failing, d=256 is 1.6 nats [1.584, 1.616] for at most 2.5, "));
  CHECK(contains(widths_study.judged(value("0.3", 0, "at_least")).reason, "the nearest to failing, d=16 is 0.4 "));
  CHECK(words(value("1.6", 0.1, "at_least")) == "at least 1.5");
  CHECK(words(value("sqrt(d)", 0.1, "at_most"), true) == "at most sqrt(d) + 10 %");
  CHECK(words(value("sqrt(d)", 0)) == "exactly sqrt(d)");
  CHECK(words(value("sqrt(d) / 10", 0.1)) == "sqrt(d) / 10 ± 0.1");
}

TEST_CASE("formulas know the arm's numbers and V, and nothing else") {
  Widths widths_study(0);
  CHECK(*widths_study.judged(value("ln(V) + d", 1)).checks[0].expected == doctest::Approx(std::log(32.0) + 16));
  CHECK_THROWS_WITH_AS(widths_study.judged(value("width", 1)),
                       "hypothesis: 'It is so': its formula 'width' knows no number 'width' in arm 'd=16'", Error);
  Study study = study_of({{"d", widths}}, 6);
  study.hypotheses = {value("ln(V)", 1)};
  CHECK(contains(analyse(study, Results(study).known()).hypotheses[0].reason, "of 18 runs 18 have not ended"));
}

TEST_CASE("values of fewer than six seeds, or with a run missing, decide nothing") {
  const HypothesisResult five = Widths(0.01, 5).judged(value("sqrt(d) / 10", 0.1));
  CHECK(five.verdict == Verdict::undecided);
  CHECK(five.checks[0].verdict == Verdict::undecided);
  CHECK(contains(five.reason, "6 seeds are needed and there are 5"));
  Widths failed;
  failed.results.at(0, 2) = failed_run();
  const HypothesisResult result = failed.judged(value("0.4", 0.1));  // although it fails in other arms
  CHECK(result.verdict == Verdict::undecided);
  CHECK(contains(result.reason, "of 24 runs 1 failed"));
}

TEST_CASE("a slope over an axis, for every combination of the others") {
  Widths widths_study;
  Hypothesis slope = hypothesis_of("slope", {}, {}, "within");
  slope.formula = "1/2";
  slope.tolerance = 0.03;
  slope.over = "d";
  HypothesisResult result = widths_study.judged(slope);
  CHECK(result.verdict == Verdict::supported);
  REQUIRE(result.checks.size() == 1);
  CHECK(result.checks[0].effect.value.low == doctest::Approx(0.5));
  CHECK(contains(result.reason, "the slope of log final_loss over log d of all arms is 0.5 [0.5, 0.5] for 0.5"));
  slope.formula = "0";
  CHECK(widths_study.judged(slope).verdict == Verdict::refuted);
  slope.arm = {{"d", "16"}};
  CHECK(contains(widths_study.judged(slope).reason,
                 "a slope needs two numbers of 'd' or more, and arm 'd=16' has no other"));

  Study study = study_of({{"power", {{"half", 0.5}, {"one", 1.0}}}, {"d", widths}}, 6);
  Results results(study);
  for (std::size_t arm = 0; arm < study.arms.size(); ++arm) {
    const auto numbers = study.numbers(arm);
    results.losses(arm, Values(6, 0.01 * std::pow(numbers.at("d"), numbers.at("power"))));
  }
  slope.arm.clear();
  slope.formula = "power";
  study.hypotheses = {slope};
  result = analyse(study, results.known()).hypotheses[0];
  CHECK(result.verdict == Verdict::supported);
  REQUIRE(result.checks.size() == 2);
  CHECK(result.checks[1].label == "power=one");
  CHECK(result.checks[1].effect.value.low == doctest::Approx(1));
  results.at(0, 1) = run_with(0);
  result = analyse(study, results.known()).hypotheses[0];
  CHECK(contains(result.reason, "of 36 runs 1 has a value of 0 or less, which has no ratio and no logarithm"));
  CHECK(result.checks[0].seeds == std::vector<std::uint64_t>{2, 3, 4, 5, 6});
}

TEST_CASE("an optimum is where the metric is best along an axis, and its slope how that moves over another") {
  // The loss is lowest at sqrt(d) / 4, a parabola in the logarithm, higher by the seed.
  const Levels factors = {{"1/2", 0.5}, {"1", 1.0}, {"2", 2.0}, {"4", 4.0}, {"8", 8.0}};
  Study study = study_of({{"d", widths}, {"factor", factors}}, 6);
  Results results(study);
  const auto fill = [&](const std::function<double(double d)>& best) {
    for (std::size_t arm = 0; arm < study.arms.size(); ++arm) {
      const auto numbers = study.numbers(arm);
      Values losses;
      for (std::size_t seed = 1; seed <= 6; ++seed)
        losses.push_back(0.1 * static_cast<double>(seed) +
                         0.2 * std::pow(std::log(numbers.at("factor") / best(numbers.at("d"))), 2));
      results.losses(arm, losses);
    }
  };
  const auto judged = [&](const Hypothesis& hypothesis) {
    study.hypotheses = {hypothesis};
    return analyse(study, results.known()).hypotheses[0];
  };
  Hypothesis optimum = hypothesis_of("optimum", {}, {}, "within");
  optimum.along = "factor";
  optimum.formula = "sqrt(d) / 4";
  optimum.tolerance = 0.01;
  fill([](double d) { return std::sqrt(d) / 4; });
  HypothesisResult result = judged(optimum);
  CHECK(result.verdict == Verdict::supported);
  REQUIRE(result.checks.size() == 3);
  CHECK(result.checks[0].label == "d=16");
  CHECK(result.checks[0].effect.value.low == doctest::Approx(1));
  CHECK(result.checks[2].effect.value.low == doctest::Approx(4));

  Hypothesis slope = optimum;
  slope.over = "d";
  slope.formula = "1/2";
  slope.tolerance = 0.1;
  result = judged(slope);
  CHECK(result.verdict == Verdict::supported);
  REQUIRE(result.checks.size() == 1);
  CHECK(result.checks[0].effect.value.low == doctest::Approx(0.5));
  CHECK(contains(result.reason, "the slope of log(best factor by final_loss) over log d of all arms is 0.5"));
  slope.formula = "0";
  CHECK(judged(slope).verdict == Verdict::refuted);

  const Study whole = study;  // and without an arm, between the levels of which there are others
  study.arms.erase(study.arms.begin() + 4);
  slope.formula = "1/2";
  result = judged(slope);
  CHECK(result.verdict == Verdict::supported);
  CHECK(result.checks.size() == 1);
  study = whole;
  slope.formula = "0";

  fill([](double) { return 1.3; });  // between two levels
  CHECK(judged(slope).verdict == Verdict::supported);
  optimum.formula = "1.3";
  CHECK(judged(optimum).verdict == Verdict::supported);
  optimum.formula = "1.4";
  optimum.arm = {{"d", "256"}};
  CHECK(judged(optimum).verdict == Verdict::refuted);

  fill([](double d) { return d / 4; });  // 64, at d = 256, lies beyond the levels
  optimum.formula = "64";
  result = judged(optimum);
  CHECK(result.verdict == Verdict::undecided);
  CHECK(result.checks[0].effect.value.low == doctest::Approx(8));
  CHECK(std::isinf(result.checks[0].effect.value.high));
  optimum.formula = "4";
  CHECK(judged(optimum).verdict == Verdict::refuted);

  results.remove(0, 1);
  CHECK(contains(judged(slope).reason, "of 90 runs 1 has not ended"));
}

TEST_CASE("of an accuracy the optimum is the highest") {
  Study study = study_of({{"d", widths}}, 6);
  study.metrics = {metric_of<FinalValue>("accuracy", "final_value", {{Measure::token_accuracy}})};
  Results results(study);
  const Values accuracies = {0.5, 0.9, 0.5};
  for (std::size_t arm = 0; arm < 3; ++arm)
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      results.at(arm, seed) = run_with(1);
      results.at(arm, seed).metrics.evaluations.back().token_accuracy = accuracies[arm];
    }
  Hypothesis optimum = hypothesis_of("optimum", {}, {}, "within");
  optimum.metric = "accuracy";
  optimum.along = "d";
  optimum.formula = "64";
  optimum.tolerance = 1;
  study.hypotheses = {optimum};
  CHECK(analyse(study, results.known()).hypotheses[0].verdict == Verdict::supported);
}

TEST_CASE("loss curves are the same, or differ, in every seed") {
  Study study = study_of({{"alpha", {{"one", {}}, {"sqrt(d)", {}}}}}, 6);
  Results results(study);
  results.losses(0, Values(6, 1));
  results.losses(1, Values(6, 1));
  const auto judged = [&](const char* expect, double tolerance) {
    Hypothesis hypothesis = hypothesis_of("identical", {{"alpha", "one"}}, {{"alpha", "sqrt(d)"}}, expect);
    hypothesis.tolerance = tolerance;
    study.hypotheses = {hypothesis};
    return analyse(study, results.known()).hypotheses[0];
  };
  CHECK(judged("same", 0).verdict == Verdict::supported);
  CHECK(judged("different", 0).verdict == Verdict::refuted);
  CHECK(contains(judged("same", 0).reason, "no farther apart than 0 in every seed"));

  results.at(1, 3).metrics.updates[0].loss += 0.25;
  CHECK(judged("same", 0).verdict == Verdict::refuted);
  CHECK(judged("same", 0.25).verdict == Verdict::supported);
  CHECK(judged("different", 0).verdict == Verdict::refuted);  // mixed
  CHECK(judged("same", 0).checks[0].values[2].low == 0.25);
  CHECK(judged("same", 0).checks[0].values[3].low == 0);
  CHECK(judged("same", 0).checks[0].effect.value.low == 0.25);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) results.at(1, seed).metrics.updates[1].loss -= 0.5;
  CHECK(judged("different", 0.4).verdict == Verdict::supported);
  CHECK(judged("different", 0.5).verdict == Verdict::refuted);

  results.at(1, 1).metrics.updates.pop_back();  // ended earlier: no tolerance makes them the same
  CHECK(judged("same", 10).verdict == Verdict::refuted);
  results.at(0, 2).status = RunResult::Status::diverged;
  CHECK(contains(judged("same", 10).reason, "nothing tuned, 1 of 12 runs diverged, "));
  results.at(1, 1) = failed_run();
  CHECK(judged("same", 10).verdict == Verdict::undecided);
  CHECK(contains(judged("same", 10).reason, "of 12 runs 1 failed"));
  study.seeds.pop_back();
  results.losses(1, Values(6, 1));
  CHECK(contains(judged("same", 0).reason, "6 seeds are needed"));
}

TEST_CASE("loss curves of machines that round differently are not compared bit for bit") {
  Study study = study_of({{"alpha", {{"one", {}}, {"sqrt(d)", {}}}}}, 6);
  Results results(study);
  for (const std::size_t arm : {0, 1}) {
    results.losses(arm, Values(6, 1));
    for (std::uint64_t seed = 1; seed <= 6; ++seed)
      results.at(arm, seed).system = {{"simd_width", "512 bits"}, {"products", "all"}, {"cores", "2"}};
  }
  study.hypotheses = {hypothesis_of("identical", {{"alpha", "one"}}, {{"alpha", "sqrt(d)"}}, "same")};
  for (const std::size_t arm : {0, 1}) results.at(arm, 4).system["products"] = "none";  // both sides alike
  results.at(1, 5).system["cores"] = "64";
  CHECK(analyse(study, results.known()).hypotheses[0].verdict == Verdict::supported);
  results.at(1, 6).system["products"] = "none";
  const HypothesisResult mixed = analyse(study, results.known()).hypotheses[0];
  CHECK(mixed.verdict == Verdict::undecided);
  CHECK(contains(mixed.reason,
                 "the runs with seed 6 were made by machines or programs that round differently (512 bits "
                 "all; 512 bits none)"));
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
  Study study = study_of({{"d", widths}, {"tie", {{"none", {}}, {"all", {}}}}}, 7);
  Hypothesis trend = hypothesis_of("trend", {}, {}, "rising");
  trend.over = "d";
  study.hypotheses = {trend};
  Results results(study);
  for (const std::size_t arm : {0, 1, 2, 3, 4, 5}) results.losses(arm, around(arm < 2 ? 1 : arm < 4 ? 2 : 3, 7));
  HypothesisResult result = analyse(study, results.known()).hypotheses[0];
  REQUIRE(result.checks.size() == 2);
  REQUIRE(result.checks[0].region.has_value());  // which a report shades
  CHECK(result.checks[0].region->low == 0);
  CHECK(contains(result.reason, "pseudo-median of 7 seeds"));
  CHECK(result.checks[0].label == "tie=none");
  CHECK(result.checks[1].label == "tie=all");
  CHECK(result.verdict == Verdict::supported);
  results.losses(3, around(0.5, 7)), results.losses(5, around(0.25, 7));  // falls where the matrices are tied
  result = analyse(study, results.known()).hypotheses[0];
  CHECK(result.verdict == Verdict::refuted);
  CHECK(result.checks[0].verdict == Verdict::supported);
  CHECK(result.checks[1].verdict == Verdict::refuted);
  study.hypotheses[0].arm = {{"tie", "none"}};
  CHECK(analyse(study, results.known()).hypotheses[0].verdict == Verdict::supported);
  study.hypotheses[0].arm = {{"d", "16"}};
  CHECK(contains(analyse(study, results.known()).hypotheses[0].reason,
                 "a trend needs three numbers of 'd' or more, and arm 'd=16, tie=none' has no other"));
  study.hypotheses[0].arm = {{"tie", "none"}};

  // No run reaches the target: nothing is known of any order, and nothing is decided.
  study.metrics = {metric_of<UpdatesTo>("final_loss", "updates_to", {{}, 0.1})};
  result = analyse(study, results.known()).hypotheses[0];
  CHECK(result.checks[0].values[0].low == -1);
  CHECK(result.checks[0].values[0].high == 1);
  CHECK(result.verdict == Verdict::undecided);
}
