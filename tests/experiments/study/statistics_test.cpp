#include "experiments/study/statistics/statistics.hpp"
#include "autograd/base/error.hpp"
#include "autograd/base/random.hpp"
#include "experiments/study/statistics/formula.hpp"
#include "experiments/study/statistics/lowest_point.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <sstream>

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

bool near(double a, double b, double tolerance = 1e-12) { return a == b || std::fabs(a - b) <= tolerance; }

/// How values are distributed over seeds: a draw from a standard normal and a uniform number, and its share below a
/// number.
struct Seeds {
  const char* name;
  double (*draw)(double normal, double uniform);
  double (*share_below)(double);

  double quantile(double share) const {
    double low = -60, high = 60;
    for (int i = 0; i < 80; ++i) (share_below((low + high) / 2) < share ? low : high) = (low + high) / 2;
    return (low + high) / 2;
  }
  /// The number below which half of all means of two draws lie.
  double pseudo_median() const {
    constexpr int points = 2000;
    Values at;
    for (int i = 0; i < points; ++i) at.push_back(quantile((i + 0.5) / points));
    double low = at.front(), high = at.back();
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      double below = 0;
      for (const double x : at) below += share_below(2 * middle - x) / points;
      (below < 0.5 ? low : high) = middle;
    }
    return low;
  }
};

double normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

const Seeds distributions[] = {
    {"normal", [](double z, double) { return z; }, normal},
    {"lognormal", [](double z, double) { return std::exp(z); },
     [](double x) { return x > 0 ? normal(std::log(x)) : 0; }},
    // Times that vary by a tenth, one in ten of them five times as long, as their logarithms are compared.
    {"late learners", [](double z, double u) { return 0.1 * z + (u < 0.1 ? std::log(5.0) : 0); },
     [](double x) { return 0.9 * normal(x / 0.1) + 0.1 * normal((x - std::log(5.0)) / 0.1); }},
    // Accuracies near their upper end.
    {"bounded", [](double, double u) { return std::sqrt(u); },
     [](double x) { return x <= 0   ? 0
                           : x >= 1 ? 1
                                    : x * x; }}};

/// The row that docs/studies.md has for a distribution and a number of seeds: "| late learners | 6 | 0.95 | ...".
std::optional<Values> documented(const std::string& distribution, std::size_t seeds) {
  std::ifstream file(SURD_SOURCE_DIR "/docs/studies.md");
  const std::string start = fmt::format("| {} | {} |", distribution, seeds);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(start, 0) != 0) continue;
    Values numbers;
    std::istringstream cells(line.substr(start.size()));
    for (std::string cell; std::getline(cells, cell, '|');) numbers.push_back(std::stod(cell));
    return numbers;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("mean and median") {
  CHECK(statistics::mean({1, 2, 6}) == 3);
  CHECK(median({6, 1, 2}) == 2);
  CHECK(median({6, 1, 2, 3}) == 2.5);
  CHECK(median({7}) == 7);
  CHECK(near(standard_deviation({2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32 / 7.0)));
  CHECK_THROWS_AS(standard_deviation({1}), Error);
  CHECK_THROWS_AS(statistics::mean({}), Error);
  CHECK_THROWS_AS(median({}), Error);
}

TEST_CASE("pseudo-medians, their intervals and signed ranks are SciPy's") {
  REQUIRE(golden()["signed_rank"].size() == 6);
  for (const auto& sample : golden()["signed_rank"]) {
    const Values values = sample["values"];
    CHECK(near(pseudo_median(values), sample["pseudo_median"]));
    const Interval interval = pseudo_median_interval(values);
    CHECK(near(interval.low, sample["low"].is_null() ? -infinity : sample["low"].get<double>()));
    CHECK(near(interval.high, sample["high"].is_null() ? infinity : sample["high"].get<double>()));
    REQUIRE(sample["tests"].size() == 3);
    for (const auto& test : sample["tests"]) {
      CHECK(near(signed_rank_p_above(values, test["bound"]), test["above"]));
      CHECK(near(signed_rank_p_below(values, test["bound"]), test["below"]));
    }
  }
}

TEST_CASE("signed ranks of textbook size") {
  // The smallest there is, 1 / 2^n on a side: so fewer than six seeds can decide nothing at 0.05.
  CHECK(signed_rank_p_above({1, 2, 3, 4, 5}) == 1.0 / 32);
  CHECK(signed_rank_p_above({1, 2, 3, 4, 5, 6}) == 1.0 / 64);
  CHECK(signed_rank_p_below({1, 2, 3, 4, 5, 6}) == 1);
  CHECK(signed_rank_p_above({1, 2, 3, 4, 5, 6}, 7) == 1);
  for (const auto ties : {statistics::Ties::against, statistics::Ties::in_favour}) {
    CHECK(signed_rank_p_above({1, 2, 3, 4, 5, 6}, -infinity, ties) == 1.0 / 64);
    CHECK(signed_rank_p_below({1, 2, 3, 4, 5, 6}, -infinity, ties) == 1);
    CHECK(signed_rank_p_above({1, 2, 3, 4, 5, 6}, infinity, ties) == 1);
  }
  // Darwin's maize, crossed against self-fertilised (Fisher 1935): the negative ranks 11 and 14 add up to 24 with ties
  // apart, and 2 * P(W <= 24) = 0.0413 (R: wilcox.test).
  const Values darwin = {49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};
  CHECK(near(2 * signed_rank_p_above(darwin), 0.0413, 5e-5));
  CHECK_THROWS_AS(signed_rank_p_above({}), Error);
  CHECK_THROWS_AS(pseudo_median({}), Error);
  CHECK_THROWS_AS(pseudo_median_interval({}), Error);
}

TEST_CASE(
    "the p of more than a thousand values is that of signed ranks to four digits, and small ones are no smaller") {
  constexpr std::size_t n = 1001, ranks = n * (n + 1) / 2;
  std::vector<double> share(ranks + 1);  // of each sum of ranks
  share[0] = 1;
  for (std::size_t rank = 1; rank <= n; ++rank)
    for (std::size_t sum = rank * (rank + 1) / 2 + 1; sum-- > 0;)
      share[sum] = (share[sum] + (sum >= rank ? share[sum - rank] : 0)) / 2;
  for (const std::size_t negative : {550, 650, 680, 700, 720, 760}) {
    std::vector<double> values;
    for (std::size_t i = 1; i <= n; ++i)
      values.push_back(i <= negative ? -static_cast<double>(i) : static_cast<double>(i));
    const std::size_t sum = ranks - negative * (negative + 1) / 2;
    double exact = 0;
    for (std::size_t at_least = sum; at_least <= ranks; ++at_least) exact += share[at_least];
    CAPTURE(exact);
    CHECK(std::fabs(signed_rank_p_above(values) - exact) < 1e-4);
    if (exact < 0.01) CHECK(signed_rank_p_above(values) >= exact);
  }
}

TEST_CASE("ties speak against, unless they are to speak in favour, whatever their additions round to") {
  CHECK(signed_rank_p_above({0, 0, 0, 0, 0, 0}) == 1);
  CHECK(signed_rank_p_above({0, 0, 0, 0, 0, 0}, 0, Ties::in_favour) == 1.0 / 64);
  CHECK(signed_rank_p_below({0, 0, 0, 0, 0, 0}, 0, Ties::in_favour) == 1.0 / 64);
  const double tenth = 1.1 - 1;  // a little above 0.1
  CHECK(signed_rank_p_above(Values(6, tenth), 0.1) == 1);
  CHECK(signed_rank_p_above(Values(6, 0.1), tenth, Ties::in_favour) == 1.0 / 64);
  // Five of one sign and one of the other, all of one size: 15 of 21 means above 0, 5 at it; P(W >= 15) = 14 / 64.
  CHECK(signed_rank_p_above({0.1, 0.1, 0.1, -0.1, 0.1, 0.1}) == 14.0 / 64);
  CHECK(signed_rank_p_above({0.1, 0.1, 0.1, -0.1, 0.1, 0.1}, 0, Ties::in_favour) == 2.0 / 64);
}

TEST_CASE("infinite values keep their order") {
  CHECK(pseudo_median({1, 2, 3, infinity}) == 2.75);  // 1 1.5 2 2 2.5 | 3 and four infinite ones
  CHECK(pseudo_median({1, infinity, infinity}) == infinity);
  CHECK(std::isnan(pseudo_median({1, infinity, -infinity})));
  CHECK(signed_rank_p_above({1, 2, 3, 4, 5, infinity}) == 1.0 / 64);
  CHECK(signed_rank_p_above({1, 2, 3, 4, 5, -infinity}) == signed_rank_p_above({1, 2, 3, 4, 5, -6}));
  const Interval interval = pseudo_median_interval({1, 2, 3, 4, 5, infinity});
  CHECK(interval.low == 1);
  CHECK(interval.high == infinity);
}

TEST_CASE("an interval turns with its values, shrinks with confidence and may be a point or unbounded") {
  const Values values = {0.2, 1.5, 0.7, 3.9, 0.4, 0.9, 1.1, 0.3},
               turned = {-0.2, -1.5, -0.7, -3.9, -0.4, -0.9, -1.1, -0.3};
  const Interval interval = pseudo_median_interval(values), mirrored = pseudo_median_interval(turned),
                 narrow = pseudo_median_interval(values, 0.8);
  CHECK(interval.low == -mirrored.high);
  CHECK(interval.high == -mirrored.low);
  CHECK(interval.low < narrow.low);
  CHECK(narrow.high < interval.high);
  CHECK(pseudo_median_interval(Values(6, 0.1)).low == 0.1);
  CHECK(pseudo_median_interval(Values(6, 0.1)).high == 0.1);
  CHECK(pseudo_median_interval(Values(5, 0.1)).low == -infinity);
  CHECK(pseudo_median_interval(Values(5, 0.1)).high == infinity);
}

TEST_CASE("interval and test agree, and hold what docs/studies.md says of them") {
  constexpr std::size_t studies = 20'000;
  for (const Seeds& distribution : distributions) {
    const random::Stream normals(3, "test", distribution.name), uniforms(4, "test", distribution.name);
    const double truth = distribution.pseudo_median();
    for (const std::size_t seeds : {6, 7, 8, 10, 20}) {
      std::size_t held = 0, above = 0, below = 0, disagree = 0;
      for (std::size_t i = 0; i < studies; ++i) {
        Values values;
        for (std::size_t k = 0; k < seeds; ++k)
          values.push_back(distribution.draw(normals.normal(i * 20 + k), uniforms.uniform(i * 20 + k)));
        const Interval interval = pseudo_median_interval(values);
        const bool rejects_above = signed_rank_p_above(values, truth) <= 0.025,
                   rejects_below = signed_rank_p_below(values, truth) <= 0.025;
        held += interval.low <= truth && truth <= interval.high;
        above += rejects_above, below += rejects_below;
        disagree += rejects_above != (interval.low > truth) || rejects_below != (interval.high < truth);
      }
      const auto share = [](std::size_t count) { return static_cast<double>(count) / static_cast<double>(studies); };
      INFO(fmt::format("| {} | {} | {:.3f} | {:.3f} | {:.3f} |", distribution.name, seeds, share(held), share(above),
                       share(below)));
      CHECK(disagree == 0);
      const bool worst = seeds == 7 && std::string(distribution.name) == "lognormal";
      CHECK(share(held) >= (worst ? 0.936 : 0.94));
      CHECK(share(above + below) <= (worst ? 0.064 : 0.06));
      const auto written = documented(distribution.name, seeds);
      CHECK(written);
      if (!written) continue;
      REQUIRE(written->size() == 3);
      CHECK(near((*written)[0], share(held), 0.002));
      CHECK(near((*written)[1], share(above), 0.002));
      CHECK(near((*written)[2], share(below), 0.002));
    }
  }
}

TEST_CASE("a quantile over seeds and its interval by order") {
  Values values;
  for (int i = 20; i > 0; --i) values.push_back(i);
  CHECK(quantile(values, 0.1).value == 3);  // two of twenty are below
  // P(B <= 0) = 0.1216 and P(B <= 5) = 0.9887 >= 0.975 > P(B <= 4) = 0.9568, of 20 with 0.1.
  CHECK(quantile(values, 0.1).interval.low == -infinity);
  CHECK(quantile(values, 0.1).interval.high == 6);
  // P(B <= 5) = 0.0207 <= 0.025 < P(B <= 6) = 0.0577, of 20 with 0.5.
  CHECK(quantile(values, 0.5).interval.low == 6);
  CHECK(quantile(values, 0.5).interval.high == 15);
  CHECK(quantile({4, 2, 3}, 0.1).value == 2);
  CHECK_THROWS_AS(quantile({}, 0.1), Error);
  CHECK_THROWS_AS(quantile({1}, 1), Error);
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
  for (const auto& line : golden()["slope"])
    CHECK(near(log_log_slope(line["x"].get<Values>(), line["y"].get<Values>()), line["slope"]));
  CHECK(near(log_log_slope({1, 10, 100}, Values{3, 30, 300}), 1));
  CHECK_THROWS_AS(log_log_slope({1}, Values{1}), Error);
  CHECK_THROWS_AS(log_log_slope({1, 2}, Values{1, 0}), Error);
  CHECK_THROWS_AS(log_log_slope({2, 2}, Values{1, 3}), Error);
}

TEST_CASE("the lowest point lies on a parabola through the lowest and its neighbours") {
  const auto at = [](const std::vector<Bounded>& y) {
    std::vector<Point> points;
    for (const Bounded& value : y) points.push_back({std::pow(10, points.size()), value});
    return lowest_point(points);
  };
  const Bounded symmetric = at({3, 1, 3});
  CHECK(symmetric.known());
  CHECK(near(symmetric.low, 10));
  CHECK(near(at({9, 4, 1, 2, 9}).low, 100 * std::pow(10, 0.25)));
  // Of a neighbour that is known to be at least so high: the vertex with that height, and the limit of ever more.
  const Bounded open = at({3, 1, Bounded::at_least(3)});
  CHECK(near(open.high, 10));
  CHECK(near(open.low, std::sqrt(10)));
  const Bounded both = at({Bounded::at_least(3), 1, Bounded::at_least(3)});
  CHECK(near(both.low, std::sqrt(10)));
  CHECK(near(both.high, 10 * std::sqrt(10)));
  // At an end of the grid only bounds are known, though the vertex of the parabola is between the first two.
  for (const std::vector<Bounded>& y : {std::vector<Bounded>{1, 2, 9}, {1, 2, Bounded::at_least(2)}, {1, 1, 3}}) {
    CHECK(at(y).low == -infinity);
    CHECK(at(y).high == 10);
  }
  for (const std::vector<Bounded>& y : {std::vector<Bounded>{9, 2, 1}, {3, 1, 1}}) {
    CHECK(at(y).low == 10);
    CHECK(at(y).high == infinity);
  }
  const Bounded unknown = at({3, Bounded::at_least(1), 2});  // 3 or 2 may be lower
  CHECK(unknown.low == -infinity);
  CHECK(unknown.high == infinity);
  CHECK(at({}).high == infinity);
  // Equally low: two neighbours have their middle, others a range.
  CHECK(near(at({3, 1, 1, 3}).low, 10 * std::sqrt(10)));
  const auto ranges = [&](const std::vector<Bounded>& y, double low, double high) {
    CHECK(near(at(y).low, low));
    CHECK(near(at(y).high, high));
  };
  ranges({3, 1, 2, 1, 3}, 10, 1000);
  ranges({3, 1, 1, 1, 3}, 10, 1000);
  CHECK(at({1, 2, 1}).low == -infinity);
  CHECK(at({1, 2, 1}).high == infinity);
  ranges({3, 1, Bounded::at_least(1), 3}, std::sqrt(10), 10 * std::sqrt(10));  // which may be as low or far above
  CHECK(at({infinity, infinity}).high == 1);
  ranges({infinity, 1, 2, infinity}, 1, 100);
}

TEST_CASE("a slope through bounds is a bound where they pull one way") {
  using Bounds = std::vector<Bounded>;
  const Bounded rising = log_log_slope({1, 10, 100}, Bounds{3, 30, Bounded::at_least(300)});
  CHECK(near(rising.low, 1));
  CHECK(rising.high == infinity);
  const Bounded falling = log_log_slope({1, 10, 100}, Bounds{Bounded::at_least(3), 30, 300});
  CHECK(near(falling.high, 1));
  CHECK(falling.low == -infinity);
  CHECK(near(log_log_slope({1, 10, 100}, Bounds{3, Bounded::at_least(1), 300}).low, 1));  // the middle pulls nowhere
  const Bounded both = log_log_slope({1, 10}, Bounds{Bounded::at_least(3), Bounded::at_least(3)});
  CHECK(both.low == -infinity);
  CHECK(both.high == infinity);
  CHECK_THROWS_AS(log_log_slope({1, 2}, Bounds{1, Bounded::at_most(0)}), Error);
}

TEST_CASE("loss spikes stand out of the 50 updates before them, and are one within 20") {
  Values losses;
  for (int i = 0; i < 300; ++i) losses.push_back(1 + 0.01 * (i % 5));  // median 1.02, MAD 0.01
  const auto spikes = [&](std::uint64_t every) {
    std::vector<std::uint64_t> updates;
    for (std::size_t i = 0; i < losses.size(); ++i) updates.push_back(every * i);
    return loss_spikes(updates, losses);
  };
  CHECK(*spikes(1) == 0);
  losses[100] = 1.0799;
  CHECK(*spikes(1) == 0);
  losses[100] = 1.0801;
  CHECK(*spikes(1) == 1);
  losses[110] = losses[130] = 2;  // 10 and 20 after the one before
  CHECK(*spikes(1) == 1);
  CHECK(*spikes(5) == 3);  // 50 and 100 updates apart
  losses[151] = 2;
  CHECK(*spikes(1) == 2);
  losses[9] = 9;  // has not ten before it
  CHECK(*spikes(1) == 2);
  losses[10] = 9;
  CHECK(*spikes(1) == 3);
  CHECK_FALSE(spikes(10).has_value());  // too far apart for ten of them within 50 updates
  losses.resize(10);
  CHECK_FALSE(spikes(1).has_value());
  CHECK_THROWS_AS(loss_spikes({1, 2}, {1}), Error);
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
