#include "train/probe/statistics.hpp"

#include "autograd/kernels/elementwise.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace surd {
namespace {

/// As std::nth_element, but partitions without branches (Lomuto's way), half of which would be mispredicted. What takes
/// more than 64 rounds, or has many equal values, is left to std::nth_element.
void select(double* begin, double* nth, double* end) {
  for (int round = 0; round < 64 && end - begin > 16; ++round) {
    const double first = *begin, middle = begin[(end - begin) / 2], last = end[-1];
    const double pivot = std::max(std::min(first, middle), std::min(std::max(first, middle), last));
    double* greater = begin;  // the first that goes behind
    for (double* next = begin; next != end; ++next) {
      const double value = *next;
      *next = *greater;
      *greater = value;
      greater += value < pivot ? 1 : 0;
    }
    if (greater == begin) break;  // the pivot is the least
    (nth < greater ? end : begin) = greater;
  }
  std::nth_element(begin, nth, end);
}

}  // namespace

double squares(const Real* x, std::size_t n) { return kernels::sum_of_squares(x, n); }

double norm(const Real* x, std::size_t n) { return std::sqrt(squares(x, n)); }

double norm(const Tensor& x) { return norm(x.data(), x.size()); }

double rms(const Tensor& x) { return x.size() == 0 ? 0 : norm(x) / std::sqrt(static_cast<double>(x.size())); }

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> quantiles(std::vector<double> values, const std::vector<double>& shares) {
  if (values.empty()) return std::vector<double>(shares.size(), 0);
  // A model that diverges has them, and they have no order.
  if (std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); }))
    return std::vector<double>(shares.size(), std::numeric_limits<double>::quiet_NaN());
  std::vector<double> found;
  double* rest = values.data();  // what comes before is no larger
  double* const end = rest + values.size();
  for (const double share : shares) {
    const double place = share * static_cast<double>(values.size() - 1);
    double* const below = values.data() + static_cast<std::size_t>(place);
    select(rest, below, end);
    const double above = below + 1 == end ? *below : *std::min_element(below + 1, end);
    const double part = place - std::floor(place);
    // 0 * infinity and infinity - infinity are NaN.
    found.push_back(part == 0 || above == *below ? *below : *below + part * (above - *below));
    rest = below;
  }
  return found;
}

double quantile(std::vector<double> values, double share) { return quantiles(std::move(values), {share}).front(); }

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
