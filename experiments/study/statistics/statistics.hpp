#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// What studies need of statistics. Values of one run are paired by seed with those of another before they come here.
namespace surd::statistics {

struct Interval {
  double low, high;
};

double mean(const std::vector<double>& values);
double median(std::vector<double> values);

/// 95 % bias-corrected and accelerated bootstrap interval of the mean; Efron 1987. Deterministic: the resamples are
/// drawn from a stream of their own. Where all values are equal, both ends are that value. Throws Error for an empty
/// vector.
Interval bca_interval(const std::vector<double>& values, double confidence = 0.95, std::size_t resamples = 10'000);

/// Two-sided p of "the differences are symmetric about 0", by flipping their signs: all 2^n where n <= 16, otherwise
/// 100,000 drawn from a stream of their own (never 0: (hits + 1) / (draws + 1)).
double sign_flip_p(const std::vector<double>& differences);
/// One-sided p of the same statement against a mean above 0; where all flips are made, it is at least 1/2^n.
double sign_flip_p_above(const std::vector<double>& differences);

/// p values adjusted for making all these tests together; Holm 1979.
std::vector<double> holm(const std::vector<double>& p);

/// 95 % interval of a share; Wilson 1927. [0, 1] without trials.
Interval wilson(std::size_t hits, std::size_t trials);

/// Slope of the least-squares line through (log x, log y). Throws Error for fewer than two points or any <= 0.
double log_log_slope(const std::vector<double>& x, const std::vector<double>& y);

/// Counts the spikes of a loss curve: values above the median of the `window` values before them by more than 6 median
/// absolute deviations. A value within 20 of the last one of a spike belongs to that spike. All values must be finite.
std::size_t loss_spikes(const std::vector<double>& losses, std::size_t window = 50);

}  // namespace surd::statistics
