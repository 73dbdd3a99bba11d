#pragma once

#include "autograd/base/random.hpp"
#include "autograd/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

/// Numbers for the tests of kernels.
namespace surd::test {

using Reals = std::vector<Real>;

inline constexpr std::size_t longest = 70;  // so many lengths show every length of the incomplete last register
inline constexpr double eps = std::numeric_limits<Real>::epsilon();
inline constexpr Real not_a_number = std::numeric_limits<Real>::quiet_NaN();
inline constexpr Real infinity = std::numeric_limits<Real>::infinity();

/// `factor` times standard normals.
inline Reals draw(std::size_t n, std::uint64_t seed, double factor = 1) {
  const random::Stream stream(seed, "test", "reals");
  Reals values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<Real>(factor * stream.normal(i));
  return values;
}

using Longs = std::vector<long double>;

/// The largest error of an element of `a`, relative where `b` is more than 1; infinite for a NaN.
inline double difference(const Reals& a, const Longs& b) {
  double worst = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const auto error = static_cast<double>(std::fabs(a[i] - b[i]) / std::max(1.0L, std::fabs(b[i])));
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  return worst;
}

inline Longs exact_softmax(const Reals& x) {
  const long double top = *std::max_element(x.begin(), x.end());
  Longs y;
  long double total = 0;
  for (const Real v : x) y.push_back(std::exp(v - top)), total += y.back();
  for (long double& v : y) v /= total;
  return y;
}

}  // namespace surd::test
