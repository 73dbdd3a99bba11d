#pragma once

#include <cstddef>
#include <vector>

namespace surd {

/// What studies with so many seeds would find: simulated ones, whose differences over seeds are normal with deviation 1
/// about a mean of 0 and are judged as verdicts are, by signed ranks. The draws are the same every time. All lengths
/// are in deviations.
class SimulatedStudies {
 public:
  /// `error`: the two-sided p at or below which something is found, e.g. 0.05 shared among the tests of a study.
  SimulatedStudies(std::size_t seeds, double error);

  /// How far beyond a margin an effect has to be so that this share of the studies finds it there. Infinite where so
  /// few seeds find nothing.
  double smallest_effect(double share) const;
  /// How large a margin has to be so that this share of the studies finds an effect of 0 within it.
  double smallest_margin(double share) const;
  /// The share of the studies that find an effect of 0 within this margin.
  double share_within(double margin) const;

 private:
  // One for each study, in order: how far its interval reaches below its true effect, and how far at most either way.
  std::vector<double> below_, either_way_;
};

}  // namespace surd
