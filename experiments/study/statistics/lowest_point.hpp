#pragma once

#include "experiments/study/statistics/bounded.hpp"

#include <vector>

namespace surd::statistics {

/// Where y was measured, and what it was there: infinite where a run diverged, a bound where that is all that is known.
struct Point {
  double x;
  Bounded y;
};

/// The x at which y is lowest: the vertex of a parabola in log x through the point with the lowest y and its two
/// neighbours, so that a grid of factors of 3 tells more than a factor of 3. Infinite points are left out.
///
/// Where the lowest of those left is the first or the last of them, only bounds are known: the parabola goes through it
/// and the two beside it; where that falls on beyond them, x is at most or at least that of the lowest, where it turns
/// before, that of the one beside it: y may flatten out and have its lowest point anywhere beyond. x is within the
/// infinite point next to it. With fewer than three left, or where points that are not next to each other are equally
/// low, all that is known is between which points x lies; with none left, it is at most that of the first. Of a
/// neighbour with a lower bound for y the vertex has bounds: with that y and with one far above it. Where the lowest y
/// is itself a bound, nothing is known.
///
/// All x are above 0 and in rising order.
Bounded lowest_point(const std::vector<Point>& points);

}  // namespace surd::statistics
