#include "experiments/config/settings.hpp"
#include "experiments/study/execution/plan.hpp"
#include "experiments/study/file/claims.hpp"
#include "tests/experiments/program.hpp"
#include "tests/experiments/study/study_files.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace {

using namespace surd;
using namespace surd::test;

TEST_CASE("a setting may be a formula of axes, computed for each arm to the last bit") {
  const StudyFile file;
  const Study study = file.load(
      "title: T\nbase: {}\n"
      "axes:\n"
      "  - {name: d, key: model.d_model, values: [16, 48]}\n"
      "  - name: rho\n"
      "    levels:\n"
      "      - {name: half, value: 0.5, set: {model: {positions: {scale: rho / sqrt(d), max_length: 30}}}}\n"
      "      - {name: two, value: 2, set: {model.feed_forward.width: \"max(d, rho) * 4\"}}\n"
      "  - {name: share, key: model.embedding.learning_rate_multiplier, values: [1/3, 1]}\n"
      "  - {name: scale, key: model.embedding.scale, values: [8 * inv_dim, d ^ -0.5]}\n"
      "set: {optimizer.learning_rate: 3e-3 * 64 / d, schedule: {warmup: d}}\n");
  REQUIRE(study.arms.size() == 16);
  const auto number = [&](std::size_t arm, const char* key) { return std::stod(config_of(study, arm).at(key)); };
  CHECK(config_of(study, 0).at("optimizer.learning_rate") == "0.012");
  CHECK(config_of(study, 15).at("optimizer.learning_rate") == "0.004");
  CHECK(config_of(study, 0).at("schedule.warmup") == "16");
  CHECK(config_of(study, 15).at("model.feed_forward.width") == "192");
  CHECK(config_of(study, 0).at("model.positions.scale") == "0.125");
  CHECK(config_of(study, 0).at("model.positions.max_length") == "30");
  CHECK(number(8, "model.positions.scale") == 0.5 / std::sqrt(48.0));
  CHECK(config_of(study, 0).at("model.embedding.scale") == "8 * inv_dim");
  CHECK(number(15, "model.embedding.scale") == std::pow(48.0, -0.5));
  CHECK(number(0, "model.embedding.learning_rate_multiplier") == 1 / 3.0);
  CHECK(study.numbers(0).at("share") == 1 / 3.0);
  CHECK(study.numbers(0).count("scale") == 0);
  CHECK(study.arms[0].name == "d=16, rho=half, share=1/3, scale=8 * inv_dim");
  CHECK(study.arms[0].set.back().value == "16");
  CHECK(std::none_of(study.arms[0].set.begin(), study.arms[0].set.end(), [](const Change& c) { return c.formula; }));
}

TEST_CASE("a study may leave out combinations of levels") {
  const StudyFile file;
  const std::string axes =
      "title: T\nbase: {}\naxes:\n"
      "  - {name: alpha, key: model.embedding.scale, values: [one, sqrt_dim, inv_dim]}\n"
      "  - {name: heads, key: model.heads, values: [1, 2]}\n"
      "  - {name: d, key: model.d_model, values: [16, 32]}\n"
      "metrics: [{name: loss}]\n";
  const Study study = file.load(axes + "without: [{alpha: one, heads: 2}, {d: '16', alpha: inv_dim}]\n");
  std::string names;
  for (const Arm& arm : study.arms) names += arm.name + "\n";
  CHECK(names ==
        "alpha=one, heads=1, d=16\nalpha=one, heads=1, d=32\n"
        "alpha=sqrt_dim, heads=1, d=16\nalpha=sqrt_dim, heads=1, d=32\nalpha=sqrt_dim, heads=2, d=16\n"
        "alpha=sqrt_dim, heads=2, d=32\nalpha=inv_dim, heads=1, d=32\nalpha=inv_dim, heads=2, d=32\n");
  CHECK(study.select({{"heads", "2"}}) == std::vector<std::size_t>{4, 5, 7});
  CHECK(config_of(study, 6).at("model.embedding.scale") == "inv_dim");
  CHECK(study.arms[6].levels == std::vector<std::size_t>{2, 0, 1});
  CHECK(runs_at_most(study) == 80);

  const std::string quick =
      axes +
      "without: [{alpha: inv_dim, heads: 1}]\n"
      "hypotheses:\n"
      "  - {name: A, metric: loss, arm: {alpha: one}, against: {alpha: sqrt_dim}, expect: lower}\n"
      "  - {name: B, metric: loss, arm: {alpha: one, heads: 2}, against: {alpha: inv_dim, heads: 2}, expect: lower}\n"
      "  - {name: C, metric: loss, kind: interaction, arm: {alpha: one}, against: {alpha: sqrt_dim}, expect: lower,\n"
      "     under: {heads: 1}, versus: {heads: 2}}\n"
      "  - {name: D, metric: loss, kind: slope, over: d, formula: '1', arm: {alpha: inv_dim}}\n";
  CHECK(file.load(quick).arms.size() == 10);
  const Study cut = file.load(quick + "quick: {levels: {heads: [1]}}\n", {}, true);
  CHECK(cut.arms.size() == 4);
  REQUIRE(cut.hypotheses.size() == 1);
  CHECK(cut.hypotheses[0].name == "A");
  CHECK_THROWS_WITH_AS(file.load(quick + "quick: {levels: {heads: [1], alpha: [inv_dim]}}\n"),
                       doctest::Contains("quick.levels: keeps no arm: 'without' leaves out every one of them"),
                       ConfigError);
}

TEST_CASE("more than a thousand arms are refused, not more than a thousand combinations") {
  const StudyFile file;
  std::string many = "title: T\nbase: {}\naxes:\n", entries;
  for (const char* axis : {"seed_of_data", "b", "c"}) {
    many += fmt::format("  - name: {}\n    levels:\n", axis);
    for (int i = 0; i < 11; ++i) many += fmt::format("      - {{name: l{}, set: {{train.updates: {}}}}}\n", i, i + 1);
  }
  CHECK_THROWS_WITH_AS(file.load(many), doctest::Contains("axes: their levels make more than 1000 arms"), ConfigError);
  CHECK_THROWS_WITH_AS(file.load(many + "without: [{b: l1, c: l1}]\n"),
                       doctest::Contains("axes: their levels make more than 1000 arms"), ConfigError);
  for (int i = 0; i < 10; ++i) entries += fmt::format("{}{{c: l{}}}", i > 0 ? ", " : "", i);
  CHECK_THROWS_WITH_AS(file.load(many + "without: [" + entries + "]\n"),
                       doctest::Contains("leaves no arm with level 'l0' of axis 'c'; remove the level itself"),
                       ConfigError);
}

TEST_CASE("formulas stand in shorthand, in elements of lists and in what --quick keeps") {
  const StudyFile file;
  const std::string text =
      "title: T\nbase: {optimizer: {groups: [{match: source*}]}}\n"
      "arms:\n  - {name: a, value: 2, set: {optimizer.groups.0.learning_rate_multiplier: 1 / arm}}\n"
      "  - {name: b, value: 4, set: {optimizer.groups.0.learning_rate_multiplier: 3 / arm}}\n"
      "quick: {levels: {arm: [b]}}\n";
  CHECK(config_of(file.load(text), 0).at("optimizer.groups.0.learning_rate_multiplier") == "0.5");
  const Study quick = file.load(text, {}, true);
  REQUIRE(quick.arms.size() == 1);
  CHECK(config_of(quick, 0).at("optimizer.groups.0.learning_rate_multiplier") == "0.75");
}

TEST_CASE("'set' of a study goes over what levels and presets say, below the tuning") {
  const StudyFile file;
  const std::string text =
      "title: T\nbase: {optimizer: {learning_rate: 0.5}}\n"
      "arms: [{name: a, preset: t5}, {name: b, value: 2, set: {optimizer.name: sgd}}]\n"
      "set: {optimizer.learning_rate: 0.25, model.embedding.scale: one}\n";
  const Study study = file.load(text);
  CHECK_THROWS_WITH_AS(
      file.load(text, {"optimizer.learning_rate=0.125"}),
      "--set optimizer.learning_rate=0.125: 'set' sets it for every arm, over what levels say; remove one",
      ConfigError);
  CHECK_THROWS_WITH_AS(
      file.load("title: T\nbase: {}\naxes: [{name: d, key: model.d_model, values: [16, 32]}]\n", {"model.d_model=64"}),
      ("--set model.d_model=64: every arm of " + file.directory.path("study.yaml") +
       " sets it itself; leave the option out, or change the study")
          .c_str(),
      ConfigError);
  const std::string nested = "title: T\nbase: {}\narms: [{name: a, set: {model: {d_model: 32}}}]\n";
  CHECK_THROWS_AS(file.load(nested, {"model.d_model=64"}), ConfigError);
  CHECK_NOTHROW(file.load(nested, {"model.dropout=0.5"}));
  CHECK_NOTHROW(load_study(StudySource{file.write(nested), {"model.d_model=64"}, false, {}, true}));  // it is too late
  const std::string ties =
      "title: T\nbase: {}\narms: [{name: a, preset: t5}, {name: b, set: {model.embedding.tie: none}}]\n";
  CHECK_THROWS_AS(file.load(ties, {"model.embedding.tie=decoder"}), ConfigError);
  CHECK_NOTHROW(file.load(ties, {"model.embedding.zero_padding=false"}));  // one arm has the base's
  for (std::size_t arm = 0; arm < 2; ++arm) {
    CHECK(contains(to_yaml(study.config(arm, {}, 1)), "learning_rate: 0.25\n"));
    CHECK(study.config(arm, {}, 1).model.embedding.scale.text() == "one");
    CHECK(contains(to_yaml(study.config(arm, {{"optimizer.learning_rate", "0.75", {}}}, 1)), "learning_rate: 0.75\n"));
  }
  const Study tuned = file.load(
      StudyFile::whole(std::string(study_rest) + study_tuning + "set: {optimizer.learning_rate: 1e-3 / rho}\n"));
  CHECK(tuned.arms[0].own.at("optimizer.learning_rate") == "0.002");
  CHECK(tuned.arms[1].own.at("optimizer.learning_rate") == "0.0005");
}

TEST_CASE("fresh seeds are none that a study or its tuning has") {
  Study study = StudyFile().load("title: T\nbase: {}\n");
  study.seeds = {1, 2, 5};
  CHECK(study.fresh_seeds(2) == std::vector<std::uint64_t>{6, 7});
  study.tuning.emplace();
  study.tuning->seeds = {6, 8};
  CHECK(study.fresh_seeds(2) == std::vector<std::uint64_t>{7, 9});
  study.seeds = {~std::uint64_t{0}, 0, 1};
  CHECK(study.fresh_seeds(2) == std::vector<std::uint64_t>{2, 3});
}

}  // namespace
