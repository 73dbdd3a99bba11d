#include "experiments/study/statistics/statistics.hpp"

#include "autograd/base/error.hpp"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace surd::statistics {
namespace {

const boost::math::normal standard_normal;

/// The means of all pairs of values, each with itself too (Walsh 1949), in no order. The mean of two infinities of
/// different sign, of which nothing is known, is where `unknown` puts it.
std::vector<double> pair_means(const std::vector<double>& values, double unknown) {
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double mean = values[i] / 2 + values[j] / 2;
      means.push_back(std::isnan(mean) ? unknown : mean);
    }
  return means;
}

/// The same in rising order.
std::vector<double> walsh_averages(const std::vector<double>& values, double unknown) {
  std::vector<double> means = pair_means(values, unknown);
  std::sort(means.begin(), means.end());
  return means;
}

/// P(W <= w) for each w, as signed_rank_distribution(), of the normal distribution that has W's mean and variance, with
/// the correction for continuity (Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", section 3.1).
std::vector<double> normal_signed_ranks(std::size_t n) {
  const auto size = static_cast<double>(n);
  const double mean = size * (size + 1) / 4, deviation = std::sqrt(size * (size + 1) * (2 * size + 1) / 24);
  std::vector<double> at_most(n * (n + 1) / 2 + 1);
  for (std::size_t w = 0; w < at_most.size(); ++w)
    at_most[w] = boost::math::cdf(standard_normal, (static_cast<double>(w) + 0.5 - mean) / deviation);
  return at_most;
}

/// P(W <= w) for each w, where W is the sum of those of the ranks 1 ... n whose coin shows heads. Exact where that does
/// not take minutes; of more ranks the normal distribution is off by less than 1e-4, and small shares are too large.
std::vector<double> signed_rank_distribution(std::size_t n) {
  constexpr std::size_t most_exact = 1000;
  if (n > most_exact) return normal_signed_ranks(n);
  std::vector<double> share = {1};
  for (std::size_t rank = 1; rank <= n; ++rank) {
    std::vector<double> next(share.size() + rank);
    for (std::size_t sum = 0; sum < share.size(); ++sum) {
      next[sum] += share[sum] / 2;
      next[sum + rank] += share[sum] / 2;
    }
    share = std::move(next);
  }
  std::partial_sum(share.begin(), share.end(), share.begin());
  return share;
}

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

// Of Boost.Math 1.74 only the median is used: its mean and least-squares line round otherwise, which would change the
// last digits of stored verdicts; it has no signed ranks and no Wilson interval; and its median_absolute_deviation
// gives the middle value instead of its deviation (10 for 10, 11, 13).
double mean(const std::vector<double>& values) {
  expect(!values.empty(), "mean", "takes at least one value");
  return sum_of(values) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  expect(!values.empty(), "median", "takes at least one value");
  return boost::math::statistics::median(values);
}

double standard_deviation(const std::vector<double>& values) {
  expect(values.size() >= 2, "standard_deviation", "takes at least two values; got {}", values.size());
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double smallest_p(std::size_t seeds) { return 2 / std::pow(2.0, static_cast<double>(seeds)); }

double pseudo_median(const std::vector<double>& values) {
  expect(!values.empty(), "pseudo_median", "takes at least one value");
  constexpr double nowhere = std::numeric_limits<double>::quiet_NaN();
  const bool opposed =
      std::count(values.begin(), values.end(), infinity) > 0 && std::count(values.begin(), values.end(), -infinity) > 0;
  return opposed ? nowhere : median(walsh_averages(values, nowhere));
}

PseudoMedianInterval::PseudoMedianInterval(std::size_t count, double confidence) : count_(count) {
  expect(count > 0, "pseudo_median_interval", "takes at least one value");
  expect(confidence > 0 && confidence < 1, "pseudo_median_interval", "confidence must be in (0, 1); got {}",
         confidence);
  const std::vector<double> at_most = signed_rank_distribution(count);
  const double each_side = (1 - confidence) / 2;
  // A mean of pairs is outside if so few are beyond it that the test rejects.
  outside_ = static_cast<std::size_t>(std::upper_bound(at_most.begin(), at_most.end(), each_side * (1 + 1e-12)) -
                                      at_most.begin());
}

Interval PseudoMedianInterval::of(const std::vector<double>& values) const {
  expect(values.size() == count_, "pseudo_median_interval", "takes {} values; got {}", count_, values.size());
  if (outside_ == 0) return {-infinity, infinity};
  const auto at = [](std::vector<double> means, std::size_t rank) {
    const auto place = means.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(means.begin(), place, means.end());
    return *place;
  };
  return {at(pair_means(values, -infinity), outside_ - 1),
          at(pair_means(values, infinity), count_ * (count_ + 1) / 2 - outside_)};
}

Interval pseudo_median_interval(const std::vector<double>& values, double confidence) {
  return PseudoMedianInterval(values.size(), confidence).of(values);
}

double signed_rank_p_above(const std::vector<double>& values, double bound, Ties ties) {
  expect(!values.empty(), "signed_rank_p_above", "takes at least one value");
  double largest = std::isfinite(bound) ? std::fabs(bound) : 0;
  for (const double value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  const double rounding = 1e-12 * largest;  // means that are no farther from the bound are ties
  const double least = bound + (ties == Ties::against ? rounding : -rounding);
  const std::vector<double> means = walsh_averages(values, -infinity);
  const auto first_above = ties == Ties::against ? std::upper_bound(means.begin(), means.end(), least)
                                                 : std::lower_bound(means.begin(), means.end(), least);
  const auto not_above = static_cast<std::size_t>(first_above - means.begin());
  // As many means are above the bound as the ranks of the values above it add up to, and W is symmetric.
  return std::min(1.0, signed_rank_distribution(values.size())[not_above]);
}

double signed_rank_p_below(const std::vector<double>& values, double bound, Ties ties) {
  std::vector<double> turned;
  for (const double value : values) turned.push_back(-value);
  return signed_rank_p_above(turned, -bound, ties);
}

Quantile quantile(std::vector<double> values, double share) {
  expect(!values.empty(), "quantile", "takes at least one value");
  expect(share > 0 && share < 1, "quantile", "share must be in (0, 1); got {}", share);
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  const auto below = static_cast<std::size_t>(share * static_cast<double>(n) * (1 + 1e-12));
  Quantile found{values[std::min(below, n - 1)], {-infinity, infinity}};
  // The k-th smallest value is above the quantile if fewer than k lie below that: binomial.
  const boost::math::binomial lies_below(static_cast<double>(n), share);
  for (std::size_t k = 1; k <= n; ++k) {
    const double fewer = boost::math::cdf(lies_below, static_cast<double>(k - 1));
    if (fewer <= 0.025) found.interval.low = values[k - 1];
    if (fewer >= 0.975 && found.interval.high == infinity) found.interval.high = values[k - 1];
  }
  return found;
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, static_cast<double>(p.size() - i) * p[order[i]]);
    adjusted[order[i]] = std::min(largest, 1.0);
  }
  return adjusted;
}

Interval wilson(std::size_t hits, std::size_t trials) {
  expect(hits <= trials, "wilson", "of {} trials {} cannot be hits", trials, hits);
  if (trials == 0) return {0, 1};
  const double z = boost::math::quantile(standard_normal, 0.975);
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(hits) / n;
  const double middle = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return {hits == 0 ? 0 : middle - half, hits == trials ? 1 : middle + half};
}

Bounded log_log_slope(const std::vector<double>& x, const std::vector<Bounded>& y) {
  expect(x.size() == y.size() && x.size() >= 2, "log_log_slope", "takes two points or more; got {} x and {} y",
         x.size(), y.size());
  std::vector<double> log_x;
  std::vector<Bounded> log_y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    expect(x[i] > 0 && y[i].high > 0, "log_log_slope", "({}, {}) has no logarithm", x[i], y[i].high);
    log_x.push_back(std::log(x[i]));
    log_y.push_back(logarithm(y[i]));
  }
  const double mean_x = mean(log_x);
  double variance = 0;
  for (const double value : log_x) variance += (value - mean_x) * (value - mean_x);
  expect(variance > 0, "log_log_slope", "all x are {}", x[0]);
  Bounded slope = 0;
  for (std::size_t i = 0; i < x.size(); ++i) slope += (log_x[i] - mean_x) / variance * log_y[i];
  return slope;
}

double log_log_slope(const std::vector<double>& x, const std::vector<double>& y) {
  return log_log_slope(x, std::vector<Bounded>(y.begin(), y.end())).low;
}

std::optional<std::size_t> loss_spikes(const std::vector<std::uint64_t>& updates, const std::vector<double>& losses) {
  expect(updates.size() == losses.size(), "loss_spikes", "takes a loss for each update; got {} and {}", losses.size(),
         updates.size());
  constexpr double deviations = 6;
  constexpr std::size_t fewest = 10;
  constexpr std::uint64_t window = 50, apart = 20;
  bool looked = false;
  std::size_t spikes = 0;
  std::uint64_t last = 0;
  for (std::size_t i = 0, first = 0; i < losses.size(); ++i) {
    while (updates[first] + window < updates[i]) ++first;
    if (i - first < fewest) continue;
    looked = true;
    std::vector<double> before(losses.begin() + static_cast<std::ptrdiff_t>(first),
                               losses.begin() + static_cast<std::ptrdiff_t>(i));
    const double middle = median(before);
    for (double& loss : before) loss = std::fabs(loss - middle);
    if (losses[i] <= middle + deviations * median(std::move(before))) continue;
    if (spikes == 0 || updates[i] - last > apart) ++spikes;
    last = updates[i];
  }
  return looked ? std::optional<std::size_t>(spikes) : std::nullopt;
}

}  // namespace surd::statistics
