#pragma once

#include "autograd/tensor.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

/// The statistics that the probe's quantities share.
namespace surd {

/// The sum of the squares of n numbers.
double squares(const Real* x, std::size_t n);
/// The root of that sum.
double norm(const Real* x, std::size_t n);
/// Of all elements, whatever the shape (Frobenius).
double norm(const Tensor& x);
/// The root of the mean of the squares of all elements; 0 where there are none.
double rms(const Tensor& x);

// Boost.Math has a mean and a median. Its mean runs over four sums side by side, which rounds otherwise than one sum
// does, and its median is one quantile of the three that are wanted here, without a rule for NaN: so both are ours.

/// 0 where there are none.
double mean(const std::vector<double>& values);
/// The quantiles below which these shares of the values are, linear between the two nearest of the sorted values; 0
/// where there are none, NaN where one is. Takes the values by value because it changes their order. The shares, in [0,
/// 1], must ascend.
std::vector<double> quantiles(std::vector<double> values, const std::vector<double>& shares);
double quantile(std::vector<double> values, double share);

/// Standard deviation and maximum of numbers that come one at a time.
struct Moments {
  double count = 0, sum = 0, squares = 0, max = -std::numeric_limits<double>::infinity();

  void add(double value) {
    ++count;
    sum += value;
    squares += value * value;
    max = std::max(max, value);
  }
  void add(const Moments& others);
  double std() const;  ///< 0 where there are none
};

}  // namespace surd
