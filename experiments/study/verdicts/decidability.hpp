#pragma once

#include "experiments/study/file/study.hpp"

#include <vector>

namespace surd {

/// How small a p a hypothesis can come to.
struct Reach {
  std::size_t seeds = 0;   ///< that its metric has values for
  bool of_tuning = false;  ///< whether these are the seeds of the tuning
  bool tested = false;     ///< whether it is a test and has seeds enough to count among them
  double p = 1;            ///< the smallest two-sided p of signed ranks, 2/2^seeds
  double p_holm = 1;       ///< that adjusted, also for looks, where every other test comes to its smallest p as well
  bool decidable = false;
};

/// What the seeds of a study let it decide, whatever its runs will be. A hypothesis that cannot be decided now will be
/// undecided in the end.
struct Decidability {
  std::vector<Reach> hypotheses;  ///< one for each of the study
  std::size_t tests = 0;          ///< how many p values are adjusted together
  /// The fewest with which each could be decided, if neither study nor tuning has fewer; 0 where each can be.
  std::size_t seeds_for_all = 0;

  std::size_t undecidable() const;
  /// Whether there are hypotheses, and none of them can be decided.
  bool nothing() const { return !hypotheses.empty() && undecidable() == hypotheses.size(); }
};
Decidability decidability_of(const Study& study);

}  // namespace surd
