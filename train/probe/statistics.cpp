#include "train/probe/statistics.hpp"

#include "autograd/kernels/elementwise.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace surd {

double squares(const Real* x, std::size_t n) { return static_cast<double>(kernels::dot(x, x, n)); }

double norm(const Real* x, std::size_t n) { return std::sqrt(squares(x, n)); }

double norm(const Tensor& x) { return norm(x.data(), x.size()); }

double rms(const Tensor& x) { return x.size() == 0 ? 0 : norm(x) / std::sqrt(static_cast<double>(x.size())); }

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  // A model that diverges has them, and they have no order.
  if (std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); }))
    return std::numeric_limits<double>::quiet_NaN();
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), below, values.end());
  const double above = below + 1 == values.end() ? *below : *std::min_element(below + 1, values.end());
  const double share = place - std::floor(place);
  return share == 0 || above == *below ? *below : *below + share * (above - *below);  // they may be infinite
}

void Moments::add(const Moments& others) {
  count += others.count;
  sum += others.sum;
  squares += others.squares;
  max = std::max(max, others.max);
}

double Moments::std() const {
  return count == 0 ? 0 : std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count)));
}

}  // namespace surd
