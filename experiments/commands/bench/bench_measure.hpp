#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace surd {

template <class Work>
double seconds_of(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Of at least one value; of an even number of them, the larger of the two in the middle.
inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// To the nearest multiple of `unit`, one over a whole number.
inline double rounded(double value, double unit) {
  const double inverse = std::round(1 / unit);  // a whole number: 0.1 times 3 is not 0.3, but 3 over 10 is
  return std::round(value * inverse) / inverse;
}

}  // namespace surd
