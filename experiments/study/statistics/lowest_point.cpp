#include "experiments/study/statistics/lowest_point.hpp"

#include <algorithm>
#include <optional>

namespace surd::statistics {
namespace {

/// The vertex of the parabola through (log x, y) of three points, with the lowest not above its neighbours or at an
/// end. Nothing where it has no minimum.
std::optional<double> vertex(const double (&x)[3], const double (&y)[3]) {
  const double a = std::log(x[0]), b = std::log(x[1]), c = std::log(x[2]);
  if (y[0] == infinity || y[2] == infinity) {  // what it tends to
    const double low = y[2] == infinity ? a : b, high = y[0] == infinity ? c : b;
    return std::exp((low + high) / 2);
  }
  const double first = (y[1] - y[0]) / (b - a), second = (y[2] - y[1]) / (c - b);
  const double curvature = (second - first) / (c - a);
  if (!(curvature > 0)) return std::nullopt;
  return std::exp((a + b - first / curvature) / 2);
}

}  // namespace

Bounded lowest_point(const std::vector<Point>& points) {
  std::vector<Point> left;
  for (const Point& point : points)
    if (point.y.low < infinity) left.push_back(point);
  if (left.empty()) return points.empty() ? Bounded() : Bounded::at_most(points.front().x);

  const auto lowest =
      std::min_element(left.begin(), left.end(), [](const Point& a, const Point& b) { return a.y.low < b.y.low; });
  if (!lowest->y.known()) return {};
  const auto before = [&](double x) {
    const auto at = std::find_if(points.rbegin(), points.rend(), [&](const Point& point) { return point.x < x; });
    return at == points.rend() ? -infinity : at->x;
  };
  const auto behind = [&](double x) {
    const auto at = std::find_if(points.begin(), points.end(), [&](const Point& point) { return point.x > x; });
    return at == points.end() ? infinity : at->x;
  };
  if (left.size() < 3) return Bounded::between(before(lowest->x), behind(lowest->x));

  const auto last_lowest = std::find_if(left.rbegin(), left.rend(),
                                        [&](const Point& at) { return at.y.known() && at.y.low == lowest->y.low; })
                               .base() -
                           1;
  const bool first = lowest == left.begin(), last = last_lowest + 1 == left.end();
  if (last_lowest - lowest > 1)
    return Bounded::between(first ? before(lowest->x) : lowest->x, last ? behind(last_lowest->x) : last_lowest->x);

  const Point* three = last ? &*last_lowest - 2 : &*lowest - (first ? 0 : 1);
  const double x[] = {three[0].x, three[1].x, three[2].x};
  const bool known = three[0].y.known() && three[1].y.known() && three[2].y.known();
  const auto leftmost = vertex(x, {three[0].y.low, three[1].y.low, three[2].y.high});
  const auto rightmost = vertex(x, {three[0].y.high, three[1].y.low, three[2].y.low});
  if (first) {
    const bool turns = !known || (leftmost && *leftmost > x[0]);
    return Bounded::between(before(x[0]), turns ? x[1] : x[0]);
  }
  if (last) {
    const bool turns = !known || (rightmost && *rightmost < x[2]);
    return Bounded::between(turns ? x[1] : x[2], behind(x[2]));
  }
  return Bounded::between(leftmost.value_or(lowest->x), rightmost.value_or(lowest->x));
}

}  // namespace surd::statistics
