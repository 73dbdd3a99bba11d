#include "experiments/study/verdicts/power.hpp"

#include "autograd/base/error.hpp"
#include "autograd/base/random.hpp"
#include "experiments/study/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

constexpr std::size_t simulated = 1000;  // the share of 0.8 is then known to 0.013

double smallest_for(const std::vector<double>& sorted, double share) {
  const double count = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[std::clamp<std::size_t>(static_cast<std::size_t>(count), 1, sorted.size()) - 1];
}

}  // namespace

// A shift of all differences shifts the interval of all effects that the test does not reject by as much, so one
// interval a study says of every effect and margin what the test would.
SimulatedStudies::SimulatedStudies(std::size_t seeds, double error) {
  expect(seeds > 0 && error > 0 && error < 1, "SimulatedStudies", "takes seeds, and an error in (0, 1); got {} and {}",
         seeds, error);
  const random::Stream stream(0, "study", "power");
  const statistics::PseudoMedianInterval interval(seeds, 1 - error);
  std::vector<double> differences(seeds);
  for (std::size_t study = 0; study < simulated; ++study) {
    stream.normal(study * seeds, seeds, differences.data());
    const auto [low, high] = interval.of(differences);
    below_.push_back(-low);
    either_way_.push_back(std::max(-low, high));
  }
  std::sort(below_.begin(), below_.end());
  std::sort(either_way_.begin(), either_way_.end());
}

double SimulatedStudies::smallest_effect(double share) const { return smallest_for(below_, share); }

double SimulatedStudies::smallest_margin(double share) const { return smallest_for(either_way_, share); }

double SimulatedStudies::share_within(double margin) const {
  const auto within = std::lower_bound(either_way_.begin(), either_way_.end(), margin) - either_way_.begin();
  return static_cast<double>(within) / static_cast<double>(either_way_.size());
}

}  // namespace surd
