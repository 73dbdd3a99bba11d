#include "experiments/study/verdicts/decidability.hpp"
#include "experiments/commands/study/study_lines.hpp"
#include "experiments/study/file/study_group.hpp"
#include "experiments/study/metrics/learning_rates.hpp"
#include "tests/experiments/program.hpp"
#include "tests/experiments/study/study_files.hpp"
#include "tests/experiments/study/study_runs.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>

namespace {

using namespace surd;
using namespace surd::test;

Study with_differences(std::size_t seeds, std::size_t count) {
  Study study = study_of({{"a", {{"one", {}}, {"two", {}}}}}, seeds);
  for (std::size_t i = 0; i < count; ++i)
    study.hypotheses.push_back(hypothesis_of("difference", {{"a", "one"}}, {{"a", "two"}}, "lower"));
  return study;
}

const std::string one_hypothesis =
    "hypotheses:\n"
    "  - {name: It helps, kind: difference, metric: loss, arm: {scale: one}, against: {scale: sqrt_dim}, expect: "
    "lower}\n";

}  // namespace

TEST_CASE("every study that comes with surd can be read, and its seeds can decide each of its hypotheses") {
  const std::string folder = SURD_SOURCE_DIR "/experiments/studies";
  std::size_t studies = 0;
  for (const std::string& name : study_names(folder)) {
    const std::string file = folder + "/" + name + ".yaml";
    CAPTURE(name);
    if (is_study_group(file)) {
      CHECK_NOTHROW(load_study_group(file));
      continue;
    }
    CHECK(decidability_of(load_study(file)).undecidable() == 0);
    ++studies;
  }
  CHECK(studies > 15);
}

TEST_CASE("a study that may be looked at again needs as many times a smaller p") {
  Study study = with_differences(6, 1);
  CHECK(decidability_of(study).hypotheses[0].decidable);
  study.looks = 2;
  CHECK(decidability_of(study).hypotheses[0].p_holm == 0.0625);
  CHECK(decidability_of(study).undecidable() == 1);
  CHECK(decidability_of(study).seeds_for_all == 7);
}

TEST_CASE("seeds can decide as many tests as Holm's correction of the smallest p leaves at or below 0.05") {
  struct Case {
    std::size_t seeds, tests, seeds_for_all;
    double p_holm;
    bool decidable;
  };
  for (const Case& c :
       {Case{6, 1, 0, 0.03125, true}, Case{6, 2, 7, 0.0625, false}, Case{8, 6, 0, 0.046875, true},
        Case{8, 7, 9, 0.0546875, false}, Case{6, 38, 11, 1, false}, Case{20, 2, 0, 4.0 / (1 << 20), true}}) {
    CAPTURE(c.seeds);
    CAPTURE(c.tests);
    const Decidability found = decidability_of(with_differences(c.seeds, c.tests));
    CHECK(found.tests == c.tests);
    CHECK(found.seeds_for_all == c.seeds_for_all);
    CHECK(found.undecidable() == (c.decidable ? 0 : c.tests));
    for (const Reach& reach : found.hypotheses) {
      CHECK(reach.p == std::ldexp(2.0, -static_cast<int>(c.seeds)));
      CHECK(reach.p_holm == c.p_holm);
    }
  }
  // As many seeds as are said to do for all do for all.
  CHECK(decidability_of(with_differences(11, 38)).undecidable() == 0);
  CHECK(decidability_of(with_differences(10, 38)).undecidable() == 38);
}

TEST_CASE("what has too few seeds decides nothing and makes no test; what is no test needs no p") {
  const Decidability few = decidability_of(with_differences(5, 1));
  CHECK(few.tests == 0);
  CHECK(few.undecidable() == 1);
  CHECK(few.seeds_for_all == 6);

  Study study = with_differences(6, 1);
  study.hypotheses.push_back(hypothesis_of("identical", {{"a", "one"}}, {{"a", "two"}}, "same"));
  study.hypotheses.back().metric.clear();
  const Decidability beside = decidability_of(study);
  CHECK(beside.tests == 1);
  CHECK_FALSE(beside.hypotheses[1].tested);
  CHECK(beside.undecidable() == 0);

  for (const char* kind : {"equivalence", "interaction", "value", "slope"}) {
    study.hypotheses.back() = hypothesis_of(kind, {{"a", "one"}}, {{"a", "two"}}, "");
    CAPTURE(kind);
    CHECK(decidability_of(study).tests == 2);
    CHECK(decidability_of(study).undecidable() == 2);
  }
}

TEST_CASE("a metric of the tuning has the tuning's seeds") {
  Study study = with_differences(10, 1);
  add_tuning(study);
  study.metrics.push_back(metric_of<RateSensitivity>("sensitivity", "rate_sensitivity"));
  study.hypotheses.push_back(hypothesis_of("difference", {{"a", "one"}}, {{"a", "two"}}, "lower"));
  study.hypotheses.back().metric = "sensitivity";
  const Decidability three = decidability_of(study);
  CHECK(three.tests == 1);
  CHECK(three.hypotheses[0].decidable);
  CHECK_FALSE(three.hypotheses[1].decidable);
  CHECK(three.hypotheses[1].seeds == 3);
  // With six for the tuning, the larger p of the two is not multiplied: the test with ten seeds comes first.
  CHECK(three.seeds_for_all == 6);

  study.tuning->seeds = {1001, 1002, 1003, 1004, 1005, 1006};
  const Decidability six = decidability_of(study);
  CHECK(six.tests == 2);
  CHECK(six.hypotheses[0].p_holm == 2 * six.hypotheses[0].p);
  CHECK(six.hypotheses[1].p_holm == 0.03125);
  CHECK(six.undecidable() == 0);
}

TEST_CASE("lines about what cannot be decided say why, how many seeds would do, and no more than a dozen names") {
  const auto text_of = [](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) CHECK(line.size() <= 80);
    return fmt::format("{}\n", fmt::join(lines, "\n"));
  };
  const Study study = with_differences(6, 14);
  const std::string warning = text_of(undecidable_lines(study, decidability_of(study)));
  CHECK(contains(warning, "hypotheses  14 cannot be decided with 6 seeds: smallest p 2/2^6 = 0.03125, for"));
  CHECK(contains(warning, "14 tests (Holm) 0.4375, above 0.05\n"));
  CHECK(contains(warning, "- and 2 more\n            10 seeds or more would do for all\n"));
  CHECK_FALSE(contains(text_of(decidability_lines(study, decidability_of(study))), "more\n  "));

  const Study fine = with_differences(6, 1), none = with_differences(6, 0);
  CHECK(undecidable_lines(fine, decidability_of(fine)).empty());
  CHECK(text_of(decidability_lines(fine, decidability_of(fine))) ==
        "hypotheses  1 can be decided with 6 seeds: smallest p 2/2^6 = 0.03125, for 1\n"
        "              test (Holm) 0.03125\n"
        "            - It is so\n");
  CHECK(text_of(decidability_lines(none, decidability_of(none))) == "hypotheses  none\n");
}

TEST_CASE("study check tells before the first run what a study will take and whether it can decide anything") {
  const StudyFile study;
  const std::string file =
      study.write(StudyFile::whole(std::string(study_rest) + one_hypothesis + "quick: {seeds: 6}\n"));
  const Outcome two = program("study check " + file + " --jobs 3");
  CAPTURE(two.output);
  CHECK(two.exit_code == 1);
  CHECK(contains(two.output, "runs        8 to make\n"));
  CHECK(contains(two.output, " with 3 workers\n"));
  CHECK(contains(two.output, " core-hours, measured on 4 of 4 arms\n"));
  CHECK(contains(two.output, "1 cannot be decided with 2 seeds: 6 are the fewest\n            - It helps\n"));
  const Outcome six = program("study check " + file + " --quick --set train.updates=10");
  CAPTURE(six.output);
  CHECK(six.exit_code == 0);
  CHECK(contains(six.output, "1 can be decided with 6 seeds"));
  CHECK(program("study check " + file + " --set train.update=10").exit_code == 2);

  study.directory.write("group.yaml", "question: A question?\nstudies: [study]\n");
  const Outcome group = program("study check " + study.directory.path("group.yaml"));
  CHECK(group.exit_code == 1);
  CHECK(contains(group.output, "1 cannot be decided with 2 seeds"));
}

TEST_CASE("a study none of whose hypotheses can be decided is not begun unless it is told to be") {
  const StudyFile study;
  const std::string file = study.write(StudyFile::whole(study_rest + one_hypothesis + "quick: {seeds: 1}\n")),
                    run = "study run " + file + " --set train.updates=2 --out " + study.directory.path("out");
  const Outcome refused = program(run);
  CAPTURE(refused.output);
  CHECK(refused.exit_code == 2);
  CHECK(contains(refused.output, "none of its hypotheses can be decided"));
  CHECK(contains(refused.output, "give it 6 seeds or more, or fewer hypotheses, or make the runs by --anyway"));
  CHECK_FALSE(std::filesystem::exists(study.directory.path("out")));

  study.directory.write("group.yaml", "question: A question?\nstudies: [study]\n");
  const std::string group = "study run " + study.directory.path("group.yaml") + " --out " + study.directory.path("all");
  CHECK(contains(program(group).output, "none of its hypotheses can be decided"));
  CHECK_FALSE(std::filesystem::exists(study.directory.path("all")));

  CHECK(program(run + "-quick --quick").exit_code == 0);
  const Outcome anyway = program(run + " --anyway");
  CAPTURE(anyway.output);
  CHECK(anyway.exit_code == 0);
  CHECK(contains(anyway.output, "hypotheses  1 cannot be decided with 2 seeds: 6 are the fewest\n"));
  CHECK(program(run + " --resume").exit_code == 0);  // it was begun
}

TEST_CASE("study run --dry-run lists the runs and makes nothing") {
  const StudyFile study;
  const std::string rest = std::string(study_rest) + study_tuning, file = study.write(StudyFile::whole(rest)),
                    out = study.directory.path("out");
  const Outcome dry = program("study run " + file + " --dry-run --out " + out);
  CAPTURE(dry.output);
  CHECK(dry.exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(out));
  const Study read = load_study(file);
  std::istringstream lines(dry.output);
  std::string line;
  const auto runs = plan(read, [](const std::string&) { return nullptr; });
  for (const PlannedRun& run : runs) {
    REQUIRE(std::getline(lines, line));
    CHECK(line == run.id(read) + " " + out + "/runs/" + run.id(read));
  }
  REQUIRE(std::getline(lines, line));
  CHECK(line == fmt::format("{} runs; the tuning adds at most {}", runs.size(), runs_at_most(read) - runs.size()));
  CHECK_FALSE(std::getline(lines, line));
}
