#include "train/probe/attention_statistics.hpp"

#include "autograd/base/random.hpp"
#include "autograd/ops.hpp"
#include "tests/tensors.hpp"
#include "train/probe/probe.hpp"
#include "train/probe/statistics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace surd {
namespace {

using doctest::Approx;
using test::tensor_of;
using Numbers = std::map<std::string, double>;

bool every_query(std::size_t, std::size_t) { return true; }

StatisticSink into(Numbers& numbers) {
  return [&](const std::string& what, const char* statistic, double number) {
    CHECK(numbers.emplace(what + " " + statistic, number).second);
  };
}

Numbers of_weights(const Tensor& weights, const AttentionShape& shape = {}) {
  Numbers numbers;
  report_weights(weights, shape, every_query, into(numbers));
  return numbers;
}

TEST_CASE("quantiles lie linearly between sorted values") {
  CHECK(quantile({}, 0.5) == 0);
  CHECK(quantile({7}, 0.95) == 7);
  CHECK(quantile({4, 1, 2}, 0.5) == 2);
  CHECK(quantile({4, 1, 2, 3}, 0.5) == 2.5);
  CHECK(quantile({0, 10, 20, 30, 40}, 0.1) == Approx(4));
  CHECK(quantile({1, 2}, 0) == 1);
  CHECK(quantile({1, 2}, 1) == 2);
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(quantile({1, infinity, 2}, 0.5) == 2);
  CHECK(std::isnan(quantile({3, nan, 1, 2}, 0.5)));
}

TEST_CASE("quantiles of many values are those of the sorted ones, whatever their order") {
  const random::Stream draws(1, "test", "quantiles");
  const std::vector<double> shares = {0, 0.1, 0.5, 0.95, 1};
  for (const std::size_t n : {17, 100, 5000}) {
    std::vector<double> scattered(n), rising(n), falling(n), equal(n, 3), few(n), tent(n);
    for (std::size_t i = 0; i < n; ++i) {
      scattered[i] = draws.normal(i);
      rising[i] = static_cast<double>(i);
      falling[i] = static_cast<double>(n - i);
      few[i] = static_cast<double>(draws.integer(i, 3));
      tent[i] = static_cast<double>(std::min(i, n - i));
    }
    std::vector<double> endless = scattered;
    endless[n / 2] = std::numeric_limits<double>::infinity();
    endless[0] = -std::numeric_limits<double>::infinity();
    for (const std::vector<double>& values : {scattered, rising, falling, equal, few, tent, endless}) {
      std::vector<double> sorted = values;
      std::sort(sorted.begin(), sorted.end());
      const std::vector<double> found = quantiles(values, shares);
      for (std::size_t i = 0; i < shares.size(); ++i) {
        const double place = shares[i] * static_cast<double>(n - 1);
        const auto below = static_cast<std::size_t>(place);
        CAPTURE(n);
        CAPTURE(shares[i]);
        CHECK(quantile(values, shares[i]) == found[i]);
        const double above = sorted[std::min(below + 1, n - 1)], part = place - std::floor(place);
        CHECK(found[i] ==
              (part == 0 || above == sorted[below] ? sorted[below] : sorted[below] + part * (above - sorted[below])));
      }
    }
  }
}

TEST_CASE("weights: entropy with its 10th percentile, saturation and Gini impurity, by layer and head") {
  // One row of a batch, two heads, two queries, two keys.
  const Tensor weights = tensor_of({1, 2, 2, 2}, {0.5, 0.5, 0.75, 0.25, 0.995, 0.005, 1, 0});
  AttentionShape shape{2, 2, {2, 2, 2, 2}};  // the last weight underflowed
  const auto entropy = [](double p) { return p <= 0 || p >= 1 ? 0 : -(p * std::log2(p) + (1 - p) * std::log2(1 - p)); };
  const double e[] = {entropy(0.5), entropy(0.75), entropy(0.995), 0};
  const Numbers all = of_weights(weights, shape);
  CHECK(all.size() == 3 * 4);
  CHECK(all.at("weights entropy") == Approx((e[0] + e[1] + e[2] + e[3]) / 4));
  CHECK(all.at("weights entropy_p10") == Approx(0.3 * e[2]));  // of 0, e2, e1, e0: 0.1 * 3 places up
  CHECK(all.at("weights saturated") == 0.5);
  CHECK(all.at("weights gini_impurity") == Approx((0.5 + 0.375 + 2 * 0.995 * 0.005 + 0) / 4));
  CHECK(all.at("weights.head0 entropy") == Approx((e[0] + e[1]) / 2));
  CHECK(all.at("weights.head0 entropy_p10") == Approx(e[1] + 0.1 * (e[0] - e[1])));
  CHECK(all.at("weights.head0 saturated") == 0);
  CHECK(all.at("weights.head0 gini_impurity") == Approx((0.5 + 0.375) / 2));
  CHECK(all.at("weights.head1 entropy") == Approx(e[2] / 2));
  CHECK(all.at("weights.head1 saturated") == 1);

  shape.visible.back() = 1;  // there was only one key to see: the row does not count
  CHECK(of_weights(weights, shape).at("weights.head1 entropy") == Approx(e[2]));
  CHECK(of_weights(weights, shape).at("weights saturated") == Approx(1.0 / 3));
}

TEST_CASE("scores: standard deviation and maximum by head, visible keys counted") {
  const double hidden = std::numeric_limits<double>::quiet_NaN();
  const Tensor scores = tensor_of({1, 2, 2, 2}, {1, hidden, 2, 3, 7, hidden, 5, 5});
  Numbers numbers;
  report_scores(scores, every_query, into(numbers));
  CHECK(numbers.at("scores max") == 7);
  CHECK(numbers.at("scores.head0 max") == 3);
  CHECK(numbers.at("scores.head0 std") == Approx(std::sqrt(2.0 / 3)));
  CHECK(numbers.at("scores.head1 std") == Approx(std::sqrt(8.0 / 9)));
  const AttentionShape shape = attention_shape(scores);
  CHECK(shape.heads == 2);
  CHECK(shape.queries == 2);
  CHECK(shape.visible == std::vector<std::size_t>{1, 2, 1, 2});
}

TEST_CASE("gradients: the norm of each row, in the layout of each tensor") {
  // Two heads, two queries; the first query sees one key.
  const AttentionShape shape{2, 2, {1, 2, 1, 2}};
  Numbers numbers;
  report_scores_gradient(tensor_of({1, 2, 2, 2}, {9, 9, 3, -4, 9, 9, 6, 8}), shape, every_query, into(numbers));
  CHECK(numbers.at("scores_gradient mean") == Approx(7.5));
  CHECK(numbers.at("scores_gradient.head0 median") == Approx(5));
  CHECK(numbers.at("scores_gradient.head1 p95") == Approx(10));
  numbers.clear();
  report_query_gradient(tensor_of({1, 2, 4}, {9, 9, 9, 9, 3, -4, 6, 8}), shape, every_query, into(numbers));
  CHECK(numbers.at("query_gradient mean") == Approx(7.5));
  CHECK(numbers.at("query_gradient p95") == Approx(9.75));
  CHECK(numbers.at("query_gradient.head0 mean") == Approx(5));
  CHECK(numbers.at("query_gradient.head1 mean") == Approx(10));
  numbers.clear();
  report_query_gradient(
      tensor_of({1, 2, 4}, {9, 9, 9, 9, 3, -4, 6, 8}), shape, [](std::size_t, std::size_t t) { return t == 0; },
      into(numbers));
  CHECK(numbers.at("query_gradient mean") == 0);  // of no row
}

TEST_CASE("heads are told apart in every row of a batch, and rows that do not count are left out") {
  const auto first_of_batch = [](std::size_t b, std::size_t) { return b == 0; };
  Numbers numbers;
  const Tensor scores = tensor_of({2, 2, 1, 2}, {1, 2, 3, 4, 50, 6, 7, 80});
  report_scores(scores, first_of_batch, into(numbers));
  CHECK(numbers.at("scores.head0 max") == 2);
  CHECK(numbers.at("scores.head1 max") == 4);
  report_query_gradient(tensor_of({2, 1, 4}, {3, 4, 6, 8, 30, 40, 60, 80}), attention_shape(scores), first_of_batch,
                        into(numbers));
  CHECK(numbers.at("query_gradient.head0 mean") == Approx(5));
  CHECK(numbers.at("query_gradient.head1 mean") == Approx(10));
}

TEST_CASE("the four parts of a score are products of projected tokens and positions") {
  // d = 1, two heads of width 1 that share one of keys, one row of two tokens, factor 10.
  const Tensor tokens = tensor_of({1, 2, 1}, {1, 3}), positions = tensor_of({2, 1}, {0, 2}),
               query = tensor_of({2, 1}, {1, -1}), key = tensor_of({1, 1}, {2});
  Numbers numbers;
  report_score_parts({tokens, positions, query, key, 2, 10}, every_query, into(numbers));
  // token.token: +-20 {1 * 1, 1 * 3, 3 * 1, 3 * 3}; both signs, so the mean is zero
  CHECK(numbers.at("scores.token.token std") == Approx(20 * std::sqrt((1 + 9 + 9 + 81) / 4.0)));
  CHECK(numbers.at("scores.token.position std") == Approx(20 * std::sqrt((0 + 4 + 0 + 36) / 4.0)));
  CHECK(numbers.at("scores.position.token std") == Approx(20 * std::sqrt((0 + 0 + 4 + 36) / 4.0)));
  CHECK(numbers.at("scores.position.position std") == Approx(20 * std::sqrt(16 / 4.0)));
  numbers.clear();
  report_score_parts(
      {tokens, positions, query, key, 2, 10}, [](std::size_t, std::size_t t) { return t == 1; }, into(numbers));
  CHECK(numbers.at("scores.token.token std") == Approx(20 * 9));
}

/// median / mean of |dL/dq|, as the probe records it, of rows as in tests/layers/gradient_tails_test.cpp.
double tail_ratio(std::size_t head_width, double factor) {
  constexpr std::size_t rows = 4000, keys = 10;
  Probe probe;
  TapeArguments options;
  options.observer = &probe;
  Tape tape(options);
  const std::string path = "attention";
  const Tape::Region region(tape, path);
  const Variable q = tape.input(test::random_tensor({rows, 1, head_width}, 1), true);
  const Variable k = tape.input(test::random_tensor({rows, keys, head_width}, 2));
  Tensor identity = zeros({rows, keys, keys});  // so that the output is the weights themselves
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < keys; ++i) identity.data()[(r * keys + i) * keys + i] = 1;
  const Variable weights = attention(q, k, tape.input(identity), {1, static_cast<Real>(factor)});
  tape.backward(weights, test::random_tensor({rows, 1, keys}, 3));
  Numbers numbers;
  for (const Probe::Record& record : probe.records())
    if (record.path == path && record.what == "query_gradient.head0") numbers[record.statistic] = record.number;
  CHECK(numbers.at("p95") > numbers.at("mean"));
  return numbers.at("median") / numbers.at("mean");
}

TEST_CASE("as recorded, the median gradient of a query falls far below the mean where scores are unscaled") {
  CHECK(tail_ratio(4, 1) == Approx(0.8).epsilon(0.15));
  CHECK(tail_ratio(64, 1) < tail_ratio(16, 1));
  CHECK(tail_ratio(256, 1) == Approx(0.02).epsilon(0.15));
  for (const std::size_t head_width : {4, 256}) {
    const double ratio = tail_ratio(head_width, 1 / std::sqrt(static_cast<double>(head_width)));
    CHECK(ratio >= 0.83);
    CHECK(ratio <= 0.95);
  }
}

}  // namespace
}  // namespace surd
