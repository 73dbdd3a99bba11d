#include "experiments/study/verdicts/pilot.hpp"
#include "experiments/commands/study/study_lines.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/study/statistics/statistics.hpp"
#include "experiments/study/verdicts/power.hpp"
#include "tests/experiments/program.hpp"
#include "tests/experiments/study/study_files.hpp"
#include "tests/experiments/study/study_runs.hpp"

#include <doctest/doctest.h>

namespace {

using namespace surd;
using namespace surd::test;
using doctest::Approx;

const Selector one{{"a", "one"}}, two{{"a", "two"}};

Study two_arms(std::size_t seeds) { return study_of({{"a", {{"one", {}}, {"two", {}}}}}, seeds); }

/// How often, in other draws than those of SimulatedStudies, the p of normal differences about an effect is small.
double share_found(std::size_t seeds, double effect, double error) {
  const random::Stream stream(7, "test", "power");
  constexpr std::size_t studies = 2000;
  std::size_t found = 0;
  std::vector<double> differences(seeds);
  for (std::size_t study = 0; study < studies; ++study) {
    for (std::size_t i = 0; i < seeds; ++i) differences[i] = effect + stream.normal(study * seeds + i);
    found += 2 * statistics::signed_rank_p_above(differences) <= error;
  }
  return static_cast<double>(found) / studies;
}

}  // namespace

TEST_CASE("simulated studies find the smallest effect as often as is asked, and nothing smaller that often") {
  for (const std::size_t seeds : {7, 10, 20}) {
    CAPTURE(seeds);
    const double error = 0.05 / 3, effect = SimulatedStudies(seeds, error).smallest_effect(0.8);
    CHECK(share_found(seeds, effect, error) > 0.76);
    CHECK(share_found(seeds, effect, error) < 0.84);
    CHECK(share_found(seeds, effect / 2, error) < 0.5);
  }
  // Of many normal differences signed ranks take 3/pi of what their mean would (Lehmann 1975, section 4.2).
  CHECK(SimulatedStudies(60, 0.05).smallest_effect(0.8) ==
        Approx((1.960 + 0.842) / std::sqrt(60 * 3 / 3.14159)).epsilon(0.06));
  CHECK(std::isinf(SimulatedStudies(5, 0.05).smallest_effect(0.8)));
  CHECK(std::isinf(SimulatedStudies(5, 0.05).smallest_margin(0.8)));
  CHECK(SimulatedStudies(5, 0.05).share_within(1e9) == 0);

  const SimulatedStudies ten(10, 0.05);
  CHECK(ten.smallest_margin(0.8) > ten.smallest_effect(0.8));  // both ends have to be cleared
  CHECK(ten.share_within(ten.smallest_margin(0.8) * 1.0001) == Approx(0.8).epsilon(0.002));
  CHECK(ten.share_within(0.2) < 0.05);
  CHECK(ten.smallest_effect(0.8) == SimulatedStudies(10, 0.05).smallest_effect(0.8));
}

TEST_CASE("from a pilot's deviation follows what the planned seeds would find") {
  Study planned = two_arms(8);
  planned.hypotheses.push_back(hypothesis_of("difference", one, two, "lower", 0.1));
  planned.hypotheses.push_back(hypothesis_of("equivalence", one, two, "", 0.2));
  planned.hypotheses.push_back(hypothesis_of("identical", one, two, "same"));
  const Study pilot = two_arms(3);
  Results results(pilot);
  results.losses(0, {1.2, 1.3, 1.4});
  results.losses(1, {1, 1, 1});
  const auto found = expect_from_pilot(planned, pilot, results.known());
  REQUIRE(found.size() == 2);
  const SimulatedStudies studies(8, 0.025);  // two tests
  CHECK(found[0].obstacle == "");
  CHECK(found[0].pilot_seeds == 3);
  CHECK(found[0].deviation == Approx(0.1));
  CHECK(found[0].smallest_effect.value() == Approx(0.1 + 0.1 * studies.smallest_effect(0.8)));
  CHECK_FALSE(found[0].share_supported.has_value());
  CHECK(found[1].share_supported.value() == Approx(studies.share_within(2)));
  CHECK(found[1].smallest_margin.value() == Approx(0.1 * studies.smallest_margin(0.8)));
  CHECK_FALSE(found[1].smallest_effect.has_value());

  results.losses(0, {1.5, 1.5, 1.5});
  CHECK(expect_from_pilot(planned, pilot, results.known())[1].share_supported.value() == 1);
  results.remove(0, 1);
  results.remove(0, 2);
  CHECK(expect_from_pilot(planned, pilot, results.known())[0].obstacle ==
        "a deviation takes two seeds, and the pilot has 1");
}

TEST_CASE("a pilot must have the arms of the study") {
  const Study planned = two_arms(8), other = study_of({{"b", {{"one", {}}, {"two", {}}}}}, 8);
  const Results results(other);
  CHECK_THROWS_AS(expect_from_pilot(planned, other, results.known()), UsageError);
  Study tuned = two_arms(8);
  add_tuning(tuned);
  CHECK_THROWS_AS(expect_from_pilot(tuned, planned, results.known()), UsageError);
  Study otherwise = tuned;
  otherwise.tuning->metric = "accuracy";
  CHECK_THROWS_WITH_AS(expect_from_pilot(tuned, otherwise, results.known()),
                       "--pilot: tunes optimizer.learning_rate by accuracy, search: in_turn, and the study "
                       "optimizer.learning_rate by final_loss, search: in_turn; name the folder of a study that is "
                       "tuned alike",
                       UsageError);
  for (const bool key : {true, false}) {
    Study unlike = tuned;
    if (key)
      unlike.tuning->axes[0].key = "train.clip_norm";
    else
      unlike.tuning->search = TuningSearch::jointly;
    CHECK_THROWS_AS(expect_from_pilot(tuned, unlike, results.known()), UsageError);
  }
  CHECK(expect_from_pilot(planned, otherwise, results.known()).empty());  // its tuning is not asked
}

TEST_CASE("what a pilot says is told beside the margin, of ratios as factors") {
  Study study = two_arms(8);
  study.hypotheses.push_back(hypothesis_of("difference", one, two, "lower", 0.1));
  PilotFinding finding;
  finding.pilot_seeds = 3;
  finding.deviation = 0.05;
  finding.margin = 0.1;
  finding.smallest_effect = 0.2;
  const auto text = [&] {
    const auto lines = pilot_lines(study, {finding});
    for (const std::string& line : lines) CHECK(line.size() <= 80);
    return fmt::format("{}\n", fmt::join(lines, "\n"));
  };
  CHECK(text() ==
        "pilot       what 8 of 10 studies would find, were their deviations the pilot's\n"
        "            - It is so\n"
        "              deviation 0.05 nats (3 seeds): an effect of 0.2 nats; margin 0.1\n"
        "              nats\n");
  finding.margin = 0;
  CHECK_FALSE(contains(text(), "margin"));
  finding.compared_by = ComparedBy::ratio;
  finding.smallest_effect = std::log(1.5);
  finding.margin = std::log(1.25);
  CHECK(contains(text(), "deviation of the logarithm 0.05 (3 seeds): an effect of a factor"));
  CHECK(contains(text(), "1.5; margin a factor of"));
  finding.compared_by = ComparedBy::difference;
  finding.smallest_effect.reset();
  finding.margin = 0.1;
  finding.share_supported = 0.431;
  finding.smallest_margin = 0.25;
  CHECK(contains(text(), "deviation 0.05 nats (3 seeds): 43 of 100 studies support it if"));
  finding.obstacle = "some of the pilot's values are censored";
  CHECK(contains(text(), "- It is so\n              some of the pilot's values are censored\n"));
}

TEST_CASE("what speaks against a pilot is told: few seeds, or the study's own") {
  const auto doubts = [](const Study& study, const Study& pilot) {
    const auto lines = pilot_doubts(study, pilot);
    for (const std::string& line : lines) CHECK(line.size() <= 80);
    return fmt::format("{}", fmt::join(lines, "\n"));
  };
  Study pilot = two_arms(4);
  for (std::uint64_t& seed : pilot.seeds) seed += 100;
  CHECK(doubts(two_arms(8), pilot) == "");
  pilot.seeds.pop_back();
  CHECK(contains(doubts(two_arms(8), pilot), "it has 3 seeds, and even of three a deviation"));
  CHECK_FALSE(contains(doubts(two_arms(8), pilot), "the study's"));
  CHECK(contains(doubts(two_arms(8), two_arms(9)), "8 of its seeds are the study's; unless its runs are shorter"));
  CHECK_FALSE(contains(doubts(two_arms(8), two_arms(9)), "it has"));
  pilot.seeds.back() = 2;
  CHECK(contains(doubts(two_arms(8), pilot), "1 of its seeds is the study's"));
}

TEST_CASE("study check --pilot reads the folder of a study that was tried") {
  const StudyFile study;
  const std::string file = study.write(StudyFile::whole(std::string(study_rest) +
                                                        "hypotheses:\n"
                                                        "  - {name: It helps, kind: difference, metric: loss, arm: "
                                                        "{scale: one}, against: {scale: sqrt_dim}, expect: lower}\n"
                                                        "quick: {seeds: 3}\n")),
                    pilot = study.directory.path("pilot");
  REQUIRE(program("study run " + file + " --quick --out " + pilot).exit_code == 0);
  study.write(read_file(file).replace(read_file(file).find("seeds: 2"), 8, "seeds: 6"));
  const Outcome check = program("study check " + file + " --pilot " + pilot);
  CAPTURE(check.output);
  CHECK(check.exit_code == 0);
  CHECK(contains(check.output, "pilot       what 8 of 10 studies would find"));
  CHECK(contains(check.output, "(3 seeds): an effect of "));
  CHECK(contains(check.output, "\n            it has 3 seeds, and even of three"));
  CHECK(contains(check.output, "\n            3 of its seeds are the study's; unless"));
  const Outcome nothing = program("study check " + file + " --pilot " + study.directory.path("nowhere"));
  CHECK(nothing.exit_code == 2);
  CHECK_FALSE(contains(nothing.output, "runs  "));  // refused before anything is measured
}
