#pragma once

#include "experiments/study/file/hypothesis.hpp"

namespace surd {

struct TrendOptions : StatementOptions {
  TrendOptions() { expect = OneOf({"rising", "falling"}); }
  void fields(Fields& f);
};
/// The metric rises, or falls, over the numbers of the axis `over`, in every combination of the other axes' levels that
/// `arm` selects. What is measured in a seed is Kendall's tau (1938) of the metric over those numbers: 1 where every
/// two arms are in rising order, -1 where all are in falling order. It asks for no shape, as a slope does, and for
/// three numbers or more: of two, a difference says as much, and has far more power.
class Trend : public Statement {
 public:
  using Options = TrendOptions;
  explicit Trend(const Options& options = {}) : Statement(options.terms()) {}
  std::string words(const Hypothesis& hypothesis) const override;
  Finding examine(const StudyValues& values, const Hypothesis& hypothesis) const override;
  void check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const override;
};

}  // namespace surd
