#include "experiments/study/verdicts/comparisons.hpp"
#include "experiments/study/verdicts/finding.hpp"
#include "experiments/study/verdicts/identical.hpp"
#include "experiments/study/verdicts/trend.hpp"
#include "experiments/study/verdicts/values.hpp"

namespace surd {

StatementRegistry& hypothesis_kinds() {
  static StatementRegistry table = [] {
    StatementRegistry built_in("hypothesis");
    built_in.add<Difference>("difference", "the metric of arm is lower or higher than that of against");
    built_in.add<Equivalence>("equivalence", "they differ by less than the margin");
    built_in.add<Interaction>("interaction", "the difference under some levels minus that in others, versus");
    built_in.add<Value>("value", "the metric is what a formula says, in every arm selected");
    built_in.add<Slope>("slope", "so is the slope of its logarithm over that of an axis");
    built_in.add<Optimum>("optimum", "so is the number of an axis at which the metric is best, or the slope of that");
    built_in.add<Trend>("trend", "the metric rises or falls over an axis of three numbers or more, in whatever shape");
    built_in.add<Identical>("identical", "the loss curves of two arms are the same");
    return built_in;
  }();
  return table;
}

}  // namespace surd
