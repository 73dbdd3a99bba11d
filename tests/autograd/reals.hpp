#pragma once

#include "autograd/base/random.hpp"
#include "autograd/tensor.hpp"

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

}  // namespace surd::test
