#include "experiments/study/statistics/statistics.hpp"

#include "autograd/base/error.hpp"
#include "autograd/base/random.hpp"

#include <boost/math/distributions/normal.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace surd::statistics {
namespace {

const boost::math::normal standard_normal;

/// The quantile of sorted values, linear between them (type 7 of Hyndman & Fan 1996, as NumPy's default).
double quantile_of_sorted(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(position), sorted.size() - 1);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::vector<double> resampled_means(const std::vector<double>& values, std::size_t resamples) {
  const std::size_t n = values.size(), blocks = (n + 3) / 4;
  const random::Stream stream(0, "statistics", "bootstrap");
  std::vector<std::uint32_t> words(4 * blocks);
  std::vector<double> means(resamples);
  for (std::size_t r = 0; r < resamples; ++r) {
    stream.blocks(r * blocks, blocks, words.data());
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += values[(std::uint64_t{words[i]} * n) >> 32];
    means[r] = sum / static_cast<double>(n);
  }
  return means;
}

/// How often the sum of randomly signed differences is one that `counts`, as a share of all 2^n or of those drawn.
template <class Counts>
double share_of_flips(const std::vector<double>& differences, Counts counts) {
  const std::size_t n = differences.size();
  constexpr std::size_t enumerated = 16, draws = 100'000;
  std::size_t hits = 0;
  if (n <= enumerated) {
    for (std::uint32_t flips = 0; flips < (1U << n); ++flips) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += (flips >> i & 1U) != 0 ? -differences[i] : differences[i];
      hits += counts(sum);
    }
    return static_cast<double>(hits) / static_cast<double>(1U << n);
  }
  const random::Stream stream(0, "statistics", "sign flips");
  const std::size_t blocks = (n + 127) / 128;
  std::vector<std::uint32_t> words(4 * blocks);
  for (std::size_t draw = 0; draw < draws; ++draw) {
    stream.blocks(draw * blocks, blocks, words.data());
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += (words[i / 32] >> (i % 32) & 1U) != 0 ? -differences[i] : differences[i];
    hits += counts(sum);
  }
  return static_cast<double>(hits + 1) / static_cast<double>(draws + 1);
}

/// How far apart two sums of these numbers may be merely because they were added in another order.
double rounding(const std::vector<double>& differences) {
  double sum = 0;
  for (const double difference : differences) sum += std::fabs(difference);
  return 1e-12 * sum;
}

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

// Of Boost.Math 1.74 only the median is used: its mean and least-squares line round otherwise, which would change the
// last digits of stored verdicts; it has no quantile of a sample, no bootstrap and no Wilson interval; and its
// median_absolute_deviation gives the middle value instead of its deviation (10 for 10, 11, 13).
double mean(const std::vector<double>& values) {
  expect(!values.empty(), "mean", "takes at least one value");
  return sum_of(values) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  expect(!values.empty(), "median", "takes at least one value");
  return boost::math::statistics::median(values);
}

Interval bca_interval(const std::vector<double>& values, double confidence, std::size_t resamples) {
  expect(!values.empty(), "bca_interval", "takes at least one value");
  expect(confidence > 0 && confidence < 1, "bca_interval", "confidence must be in (0, 1); got {}", confidence);
  expect(resamples > 0, "bca_interval", "takes at least one resample");
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  if (*least == *greatest) return {*least, *greatest};

  const double estimate = mean(values);
  std::vector<double> means = resampled_means(values, resamples);
  std::sort(means.begin(), means.end());

  // Bias: where the estimate lies among the resampled ones; those that equal it count half.
  const double tie = rounding(values) / static_cast<double>(values.size());
  const auto below = std::lower_bound(means.begin(), means.end(), estimate - tie) - means.begin();
  const auto not_above = std::upper_bound(means.begin(), means.end(), estimate + tie) - means.begin();
  const auto count = static_cast<double>(resamples);
  const double rank = std::clamp(static_cast<double>(below + not_above) / 2 / count, 0.5 / count, 1 - 0.5 / count);
  const double bias = boost::math::quantile(standard_normal, rank);

  // Acceleration: the skewness of the jackknife's estimates, which for a mean is that of the values.
  double squares = 0, cubes = 0;
  for (const double value : values) {
    const double d = value - estimate;
    squares += d * d;
    cubes += d * d * d;
  }
  const double acceleration = cubes / (6 * std::pow(squares, 1.5));

  const auto end = [&](double share) {
    const double z = bias + boost::math::quantile(standard_normal, share);
    return quantile_of_sorted(means, boost::math::cdf(standard_normal, bias + z / (1 - acceleration * z)));
  };
  return {end((1 - confidence) / 2), end((1 + confidence) / 2)};
}

double sign_flip_p(const std::vector<double>& differences) {
  expect(!differences.empty(), "sign_flip_p", "takes at least one difference");
  const double least = std::fabs(sum_of(differences)) - rounding(differences);
  return share_of_flips(differences, [&](double sum) { return std::fabs(sum) >= least; });
}

double sign_flip_p_above(const std::vector<double>& differences) {
  expect(!differences.empty(), "sign_flip_p_above", "takes at least one difference");
  const double least = sum_of(differences) - rounding(differences);
  return share_of_flips(differences, [&](double sum) { return sum >= least; });
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

double log_log_slope(const std::vector<double>& x, const std::vector<double>& y) {
  expect(x.size() == y.size() && x.size() >= 2, "log_log_slope", "takes two points or more; got {} x and {} y",
         x.size(), y.size());
  std::vector<double> log_x, log_y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    expect(x[i] > 0 && y[i] > 0, "log_log_slope", "({}, {}) has no logarithm", x[i], y[i]);
    log_x.push_back(std::log(x[i]));
    log_y.push_back(std::log(y[i]));
  }
  const double mean_x = mean(log_x), mean_y = mean(log_y);
  double covariance = 0, variance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    covariance += (log_x[i] - mean_x) * (log_y[i] - mean_y);
    variance += (log_x[i] - mean_x) * (log_x[i] - mean_x);
  }
  expect(variance > 0, "log_log_slope", "all x are {}", x[0]);
  return covariance / variance;
}

std::size_t loss_spikes(const std::vector<double>& losses, std::size_t window) {
  expect(window > 0, "loss_spikes", "takes a window of at least one");
  constexpr double deviations = 6;
  constexpr std::size_t apart = 20;
  std::size_t spikes = 0, last = 0;
  for (std::size_t i = window; i < losses.size(); ++i) {
    const auto end = losses.begin() + static_cast<std::ptrdiff_t>(i);
    std::vector<double> before(end - static_cast<std::ptrdiff_t>(window), end);
    const double middle = median(before);
    for (double& loss : before) loss = std::fabs(loss - middle);
    if (losses[i] <= middle + deviations * median(std::move(before))) continue;
    if (spikes == 0 || i - last > apart) ++spikes;
    last = i;
  }
  return spikes;
}

}  // namespace surd::statistics
