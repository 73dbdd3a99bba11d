#include "experiments/study/statistics/statistics.hpp"
#include "autograd/base/error.hpp"
#include "autograd/base/random.hpp"
#include "experiments/study/statistics/formula.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace surd;
using namespace surd::statistics;

namespace {

using Values = std::vector<double>;

/// tests/golden/make_statistics.py made it with SciPy and statsmodels.
const nlohmann::json& golden() {
  static const nlohmann::json json = [] {
    std::ifstream file(SURD_SOURCE_DIR "/tests/golden/statistics.json");
    return nlohmann::json::parse(file);
  }();
  return json;
}

bool near(double a, double b, double tolerance = 1e-12) { return std::fabs(a - b) <= tolerance; }

/// Standard deviation of an end of a 95 % BCa interval from one set of resamples to another, in standard errors of the
/// mean: sqrt(p (1 - p) / B) / phi(1.96) of the quantile itself, and twice 1 / (2 sqrt(B) phi(0)) of the bias, which
/// shifts it. For the skewed samples here, p is taken to be as far out as 0.01 or 0.06, where the first is largest.
double deviation_of_end(std::size_t resamples) {
  const double root = std::sqrt(static_cast<double>(resamples));
  const double quantile = std::sqrt(0.01 * 0.99) / 0.0267, bias = 1 / 0.3989;
  return std::sqrt(quantile * quantile + bias * bias) / root;
}

double standard_error(const Values& values) {
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares) / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("mean and median") {
  CHECK(statistics::mean({1, 2, 6}) == 3);
  CHECK(median({6, 1, 2}) == 2);
  CHECK(median({6, 1, 2, 3}) == 2.5);
  CHECK(median({7}) == 7);
  CHECK_THROWS_AS(statistics::mean({}), Error);
  CHECK_THROWS_AS(median({}), Error);
}

TEST_CASE("BCa intervals are SciPy's up to what resampling leaves open") {
  REQUIRE(golden()["bca"].size() == 5);
  for (const auto& sample : golden()["bca"]) {
    const Values values = sample["values"];
    constexpr std::size_t resamples = 200'000;
    const Interval interval = bca_interval(values, 0.95, resamples);
    const double deviation = std::hypot(deviation_of_end(resamples), deviation_of_end(sample["resamples"]));
    const double unit = standard_error(values);
    CAPTURE(interval.low);
    CAPTURE(interval.high);
    CAPTURE(sample["low"].get<double>());
    CAPTURE(sample["high"].get<double>());
    CHECK(near(interval.low, sample["low"], 5 * deviation * unit));
    CHECK(near(interval.high, sample["high"], 5 * deviation * unit));
    CHECK(bca_interval(values, 0.95, resamples).low == interval.low);  // no chance in it
    // 10,000 resamples, as studies take: within their own error.
    CHECK(near(bca_interval(values).low, interval.low, 5 * deviation_of_end(10'000) * unit));
  }
}

TEST_CASE("of six values a BCa interval is the one from all 6^6 resamples") {
  REQUIRE(golden()["exact_bca"].size() == 1);
  for (const auto& sample : golden()["exact_bca"]) {
    const Interval interval = bca_interval(sample["values"], 0.95, sample["resamples"]);
    CHECK(interval.low >= sample["low"]["least"].get<double>() - 1e-12);
    CHECK(interval.low <= sample["low"]["most"].get<double>() + 1e-12);
    CHECK(interval.high >= sample["high"]["least"].get<double>() - 1e-12);
    CHECK(interval.high <= sample["high"]["most"].get<double>() + 1e-12);
  }
}

TEST_CASE("a BCa interval turns with its values, shrinks with confidence and may be a point") {
  const Values values = {0.2, 1.5, 0.7, 3.9, 0.4, 0.9, 1.1, 0.3},
               turned = {-0.2, -1.5, -0.7, -3.9, -0.4, -0.9, -1.1, -0.3};
  const Interval interval = bca_interval(values), mirrored = bca_interval(turned), narrow = bca_interval(values, 0.8);
  CHECK(near(interval.low, -mirrored.high, 1e-9));
  CHECK(near(interval.high, -mirrored.low, 1e-9));
  CHECK(interval.low < narrow.low);
  CHECK(narrow.high < interval.high);
  CHECK(interval.high - mean(values) > mean(values) - interval.low);  // skewed to the right
  CHECK(bca_interval({0.1, 0.1, 0.1}).low == 0.1);
  CHECK(bca_interval({0.1, 0.1, 0.1}).high == 0.1);
  CHECK(bca_interval({4}).low == 4);
  const Interval two = bca_interval({1, 2});
  CHECK(two.low == 1);
  CHECK(two.high == 2);
  CHECK_THROWS_AS(bca_interval({}), Error);
}

TEST_CASE("95 % BCa intervals of normal samples hold the mean about as often as they say") {
  // For n = 20 the coverage of the bootstrap is a little below its nominal 95 % (Efron & Tibshirani 1993, ch. 14).
  const random::Stream stream(3, "test", "coverage");
  std::size_t held = 0;
  constexpr std::size_t studies = 400, n = 20;
  for (std::size_t i = 0; i < studies; ++i) {
    Values values;
    for (std::size_t k = 0; k < n; ++k) values.push_back(stream.normal(i * n + k));
    const Interval interval = bca_interval(values, 0.95, 2000);
    held += interval.low <= 0 && 0 <= interval.high;
  }
  const Interval coverage = wilson(held, studies);
  CHECK(coverage.high > 0.92);
  CHECK(coverage.low < 0.96);
}

TEST_CASE("sign-flip p values are SciPy's") {
  REQUIRE(golden()["sign_flip"].size() >= 3);
  for (const auto& sample : golden()["sign_flip"]) {
    CHECK(near(sign_flip_p(sample["values"]), sample["two_sided"]));
    CHECK(near(sign_flip_p_above(sample["values"]), sample["above"]));
  }
}

TEST_CASE("sign-flip p values of textbook size") {
  // The smallest there is, 2 / 2^n: so fewer than six seeds can decide nothing at 0.05.
  CHECK(sign_flip_p({1, 2, 3, 4, 5}) == 2.0 / 32);
  CHECK(sign_flip_p({1, 2, 3, 4, 5, 6}) == 2.0 / 64);
  CHECK(sign_flip_p_above({1, 2, 3, 4, 5, 6}) == 1.0 / 64);
  CHECK(sign_flip_p_above({-1, -2, -3}) == 1);
  CHECK(sign_flip_p({0, 0, 0}) == 1);
  CHECK(sign_flip_p({0.1, 0.1, 0.1, -0.1, 0.1, 0.1}) == 14.0 / 64);  // ties, whatever their additions round to
  // Darwin's maize (Fisher 1935, section 21): 1726 of 2^15 at or beyond the sum 314, both sides.
  const Values darwin = {49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};
  CHECK(near(sign_flip_p(darwin), 1726.0 / 32768));
  CHECK_THROWS_AS(sign_flip_p({}), Error);
}

TEST_CASE("beyond 16 differences signs are drawn, and p is never 0") {
  Values small(17, 1.0);
  CHECK(sign_flip_p(small) <= 10.0 / 100'001);
  CHECK(sign_flip_p(small) >= 1.0 / 100'001);
  // 200 differences of one size: the sum is binomial; P(|heads - 100| >= 10) = 0.17896.
  Values many(200, 1.0);
  for (std::size_t i = 0; i < 90; ++i) many[i] = -1;
  const double p = sign_flip_p(many), error = std::sqrt(0.179 * 0.821 / 100'000);
  CHECK(near(p, 0.17896, 4 * error));
  CHECK(sign_flip_p(many) == p);
}

TEST_CASE("Holm, Wilson and slopes are statsmodels' and SciPy's") {
  REQUIRE(golden()["holm"].size() == 4);
  for (const auto& family : golden()["holm"]) {
    const Values adjusted = holm(family["p"]), expected = family["adjusted"];
    REQUIRE(adjusted.size() == expected.size());
    for (std::size_t i = 0; i < adjusted.size(); ++i) CHECK(near(adjusted[i], expected[i]));
  }
  CHECK(holm({}).empty());
  REQUIRE(golden()["wilson"].size() == 7);
  for (const auto& share : golden()["wilson"]) {
    const Interval interval = wilson(share["hits"], share["trials"]);
    CHECK(near(interval.low, share["low"]));
    CHECK(near(interval.high, share["high"]));
  }
  CHECK(near(wilson(0, 10).high, 0.2775, 5e-5));  // none of ten still allows 28 %
  CHECK(wilson(0, 0).low == 0);
  CHECK(wilson(0, 0).high == 1);
  CHECK_THROWS_AS(wilson(2, 1), Error);
  REQUIRE(golden()["slope"].size() == 3);
  for (const auto& line : golden()["slope"]) CHECK(near(log_log_slope(line["x"], line["y"]), line["slope"]));
  CHECK(near(log_log_slope({1, 10, 100}, {3, 30, 300}), 1));
  CHECK_THROWS_AS(log_log_slope({1}, {1}), Error);
  CHECK_THROWS_AS(log_log_slope({1, 2}, {1, 0}), Error);
  CHECK_THROWS_AS(log_log_slope({2, 2}, {1, 3}), Error);
}

TEST_CASE("loss spikes stand out of the 50 before them, and are one within 20") {
  Values losses;
  for (int i = 0; i < 300; ++i) losses.push_back(1 + 0.01 * (i % 5));  // median 1.02, MAD 0.01
  CHECK(loss_spikes(losses) == 0);
  losses[100] = 1.0799;
  CHECK(loss_spikes(losses) == 0);
  losses[100] = 1.0801;
  CHECK(loss_spikes(losses) == 1);
  losses[110] = losses[130] = 2;  // 10 and 20 after the one before
  CHECK(loss_spikes(losses) == 1);
  losses[151] = 2;
  CHECK(loss_spikes(losses) == 2);
  losses[10] = 9;  // has not 50 before it
  CHECK(loss_spikes(losses) == 2);
  CHECK(loss_spikes({1, 2, 3}) == 0);
}

TEST_CASE("formulas") {
  const auto number = [](const std::string& name) { return name == "V" ? 100.0 : name == "d_model" ? 64.0 : 0.0; };
  CHECK(near(evaluate_formula("ln(V) + 1/2", number), std::log(100.0) + 0.5));
  CHECK(evaluate_formula("min(sqrt(d_model), 9) + max(1, 2)^2", number) == 12);
  CHECK(near(evaluate_formula("exp(-1)", number), std::exp(-1.0)));
  CHECK(names_in_formula("sqrt(d_model) * ln(V) / V") == std::vector<std::string>{"V", "d_model"});
  try {
    names_in_formula("2 * (V");
    FAIL("a parenthesis is missing");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("formula '2 * (V': ") == 0);
  }
}
