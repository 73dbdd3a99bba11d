#include "train/metrics/bleu.hpp"
#include "train/metrics/chrf.hpp"
#include "train/metrics/significance.hpp"

#include "autograd/base/error.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <memory>

using namespace surd;

namespace {

using Texts = std::vector<std::string>;

/// tests/golden/make_translation_scores.py made it with sacreBLEU.
const nlohmann::json& golden_scores() {
  static const nlohmann::json json = [] {
    std::ifstream file(SURD_SOURCE_DIR "/tests/golden/translation_scores.json");
    return nlohmann::json::parse(file);
  }();
  return json;
}

std::unique_ptr<TranslationMetric> metric_of(const std::string& name) {
  for (const std::size_t words : {0, 1, 2})
    if (Chrf(words).name() == name) return std::make_unique<Chrf>(words);
  const auto names = names_of(BleuTokenization());
  const auto place = std::find(names.begin(), names.end(), name) - names.begin();
  return std::make_unique<Bleu>(static_cast<BleuTokenization>(place));
}

}  // namespace

TEST_CASE("BLEU and chrF have sacreBLEU's digits and signatures") {
  const auto& files = golden_scores()["files"];
  CHECK(files.size() >= 60);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Texts translations = files[i]["translations"], references = files[i]["references"];
    for (const auto& [name, expected] : files[i]["scores"].items()) {
      CAPTURE(i);
      CAPTURE(name);
      const auto metric = metric_of(name);
      const auto sums = sum_of(count_lines(*metric, translations, references));
      CHECK(fmt::format("{:.2f}", metric->score(sums)) == expected[0]);
      CHECK(metric->details(sums) == expected[1]);
      CHECK(metric->signature() == expected[2]);
    }
  }
}

TEST_CASE("differences are as significant as sacreBLEU finds them, within what other draws change") {
  for (const auto& systems : golden_scores()["systems"]) {
    const Texts references = systems["references"];
    const std::size_t trials = systems["trials"];
    for (const std::string name : {"BLEU", "chrF2"}) {
      const auto metric = metric_of(name == "BLEU" ? "13a" : name);
      const auto baseline = count_lines(*metric, systems["baseline"], references);
      const auto system = count_lines(*metric, systems["system"], references);
      for (const SignificanceTest test : {SignificanceTest::bootstrap, SignificanceTest::randomization}) {
        const auto& expected = systems["tests"][names_of(test)[static_cast<std::size_t>(test)]][name];
        CAPTURE(name);
        CAPTURE(expected.dump());
        const Resampling resampling{test, trials, 7};
        const double p = p_value(*metric, system, baseline, resampling), q = expected["p"];
        // Both are shares of as many draws: four standard deviations of their difference, and one trial.
        const auto n = static_cast<double>(trials);
        CHECK(std::fabs(p - q) <= 4 * std::sqrt(2 * q * (1 - q) / n) + 1 / n);
        CHECK(p_value(*metric, system, baseline, resampling) == p);
        if (test == SignificanceTest::randomization) continue;
        const ScoreInterval interval = bootstrap_interval(*metric, system, resampling);
        const double half_width = expected["half_width"], deviation = half_width / 1.96;
        CHECK(std::fabs(interval.mean - expected["mean"].get<double>()) <= 4 * deviation * std::sqrt(2 / n));
        CHECK(interval.half_width == doctest::Approx(half_width).epsilon(0.05));
      }
    }
  }
}

TEST_CASE("a system does not differ from itself") {
  const Bleu bleu(BleuTokenization::mteval_13a);
  const auto lines = count_lines(bleu, {"a b c d e", "f g h i"}, {"a b c d f", "f g h i"});
  for (const SignificanceTest test : {SignificanceTest::bootstrap, SignificanceTest::randomization})
    CHECK(p_value(bleu, lines, lines, {test, 99, 1}) == 1);
}

TEST_CASE("BLEU by hand") {
  const Bleu bleu(BleuTokenization::none);
  const auto score = [&](const Texts& translations, const Texts& references) {
    return bleu.score(sum_of(count_lines(bleu, translations, references)));
  };
  CHECK(score({"a b c d"}, {"a b c d"}) == doctest::Approx(100));
  CHECK(score({"a b c"}, {"a b c"}) == 0);  // there is no 4-gram
  CHECK(score({""}, {"a"}) == 0);
  // Precisions 4/5, 3/4, 2/3, 1/2; as long as the reference.
  CHECK(score({"a b c d x"}, {"a b c d e"}) == doctest::Approx(100 * std::pow(0.2, 0.25)));
  // All of it right, but four words for five.
  CHECK(score({"a b c d"}, {"a b c d e"}) == doctest::Approx(100 * std::exp(-0.25)));
}

TEST_CASE("lines that are not parallel are refused") {
  const Chrf chrf(0);
  CHECK_THROWS_WITH_AS(count_lines(chrf, {"a"}, {"a", "b"}), "chrF2: 1 translations and 2 references", Error);
  CHECK_THROWS_AS(sum_of({}), Error);
  CHECK_THROWS_AS(bootstrap_interval(chrf, {}, {}), Error);
  Resampling none;
  none.trials = 0;
  CHECK_THROWS_AS(bootstrap_interval(chrf, {{1}}, none), Error);
  CHECK_THROWS_AS(p_value(chrf, {{1}}, {{1}}, none), Error);
  CHECK_THROWS_AS(p_value(chrf, {{1}}, {}, {}), Error);
}
