#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace surd::statistics {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// A number of which sometimes only a bound is known: how many updates a run needs to a target it has not reached lies
/// at or above its length. Where `low` equals `high`, the number is known.
struct Bounded {
  double low = -infinity, high = infinity;

  Bounded() = default;  ///< nothing is known
  Bounded(double known) : low(known), high(known) {}
  static Bounded between(double low, double high) {
    Bounded bounded;
    bounded.low = low, bounded.high = high;
    return bounded;
  }
  static Bounded at_least(double low) { return between(low, infinity); }
  static Bounded at_most(double high) { return between(-infinity, high); }

  bool known() const { return low == high; }
  /// The number, or the bound it has: the lower one where it has two. NaN where nothing is known.
  double nearest() const {
    if (low > -infinity) return low;
    return high < infinity ? high : std::numeric_limits<double>::quiet_NaN();
  }

  Bounded& operator+=(const Bounded& other) { return *this = between(low + other.low, high + other.high); }
  friend Bounded operator-(const Bounded& a, const Bounded& b) { return between(a.low - b.high, a.high - b.low); }
  friend Bounded operator*(double factor, const Bounded& a) {
    if (factor == 0) return 0;
    return between(std::min(factor * a.low, factor * a.high), std::max(factor * a.low, factor * a.high));
  }
};

/// Of a number above 0, or of its bounds; a bound that is not above 0 says nothing.
inline Bounded logarithm(const Bounded& a) {
  const auto log = [](double bound) { return bound > 0 ? std::log(bound) : -infinity; };
  return Bounded::between(log(a.low), log(a.high));
}
/// Undoes it.
inline Bounded exponential(const Bounded& a) {
  return Bounded::between(a.low > -infinity ? std::exp(a.low) : -infinity, std::exp(a.high));
}

inline std::vector<double> lows_of(const std::vector<Bounded>& values) {
  std::vector<double> lows;
  for (const Bounded& value : values) lows.push_back(value.low);
  return lows;
}
inline std::vector<double> highs_of(const std::vector<Bounded>& values) {
  std::vector<double> highs;
  for (const Bounded& value : values) highs.push_back(value.high);
  return highs;
}

}  // namespace surd::statistics
