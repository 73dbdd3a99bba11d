#pragma once

#include "experiments/study/statistics/bounded.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// What studies need of statistics. Values of one run are paired by seed with those of another before they come here.
namespace surd::statistics {

struct Interval {
  double low, high;
};

double mean(const std::vector<double>& values);
double median(std::vector<double> values);
/// Of a sample: the root of the mean square of n values about their mean, with n - 1 for n. Throws Error for fewer than
/// two.
double standard_deviation(const std::vector<double>& values);

/// What a p must be at or below for something to be decided.
inline constexpr double significance = 0.05;
/// The smallest two-sided p that so many seeds can give by signed ranks, 2/2^n.
double smallest_p(std::size_t seeds);
/// With fewer seeds nothing can be decided: of five, the smallest p is 0.0625.
inline constexpr std::size_t fewest_seeds = 6;

/// The pseudo-median, the middle of a symmetric distribution and the median of the mean of two draws from any other:
/// the median of the means of all pairs of values, each with itself too (Hodges & Lehmann 1963). Infinite values are
/// allowed.
double pseudo_median(const std::vector<double>& values);

/// The interval of all pseudo-medians that the signed-rank test does not reject, so that interval and test agree: a
/// bound has signed_rank_p_above(values, bound) of at most (1 - confidence) / 2 where it lies below `low`, and not at
/// `low`; likewise above `high` (Hollander, Wolfe & Chicken 2014, section 3.4). Unbounded where so few values cannot
/// reject any.
Interval pseudo_median_interval(const std::vector<double>& values, double confidence = 0.95);

/// The same for many lists of `count` values each: what depends on their number alone is computed once.
class PseudoMedianInterval {
 public:
  PseudoMedianInterval(std::size_t count, double confidence);
  Interval of(const std::vector<double>& values) const;

 private:
  std::size_t count_, outside_;  // so many means of pairs lie beyond each end, and one is the end
};

/// Whether pairs of values whose mean is the bound speak against what a test would show, so that they can only make p
/// larger, or in favour of it.
enum class Ties { against, in_favour };

/// One-sided p of "the pseudo-median is at most `bound`" (with ties in favour: "is below") by Wilcoxon's signed ranks
/// (1945), exact for up to 1000 values, and by the normal distribution for more: at least 1/2^n. The bound and values
/// may be infinite; of a censored value, give the lower bound.
double signed_rank_p_above(const std::vector<double>& values, double bound = 0, Ties ties = Ties::against);
/// Likewise of "the pseudo-median is at least `bound`"; of a censored value, give the upper bound.
double signed_rank_p_below(const std::vector<double>& values, double bound = 0, Ties ties = Ties::against);

/// The largest of the values that at most this share of them is below, e.g. the second smallest of ten for 0.1, and the
/// exact 95 % interval of the quantile from the order of the values (David & Nagaraja 2003, section 7.1). Unbounded
/// where there are too few.
struct Quantile {
  double value;
  Interval interval;
};
Quantile quantile(std::vector<double> values, double share);

/// p values adjusted for making all these tests together; Holm 1979.
std::vector<double> holm(const std::vector<double>& p);

/// 95 % interval of a share; Wilson 1927. [0, 1] without trials.
Interval wilson(std::size_t hits, std::size_t trials);

/// Slope of the least-squares line through (log x, log y). Throws Error for fewer than two points or any <= 0.
double log_log_slope(const std::vector<double>& x, const std::vector<double>& y);
/// The same where of some y only bounds are known.
Bounded log_log_slope(const std::vector<double>& x, const std::vector<Bounded>& y);

/// Counts the spikes of a loss curve, of which some updates were logged: losses above the median of those logged in the
/// 50 updates before by more than 6 median absolute deviations. One within 20 updates of the last belongs to the same
/// spike. Nothing where no loss has ten others in the 50 updates before it. All losses must be finite.
std::optional<std::size_t> loss_spikes(const std::vector<std::uint64_t>& updates, const std::vector<double>& losses);

}  // namespace surd::statistics
