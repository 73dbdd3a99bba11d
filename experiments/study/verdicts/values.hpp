#pragma once

#include "experiments/study/file/hypothesis.hpp"

/// Statements about a number that a formula expects, in one group of arms or in each of several.
namespace surd {

struct ValueOptions : StatementOptions {
  ValueOptions() { expect = OneOf({"within", "at_most", "at_least"}, "within"); }
  void fields(Fields& f) { formula_fields(f, "value"); }

 protected:
  void formula_fields(Fields& f, const char* kind);
};
/// The metric is within `tolerance` of (or at_most, at_least) `formula` in every arm that `arm` selects.
class Value : public Statement {
 public:
  using Options = ValueOptions;
  explicit Value(const Options& options = {}) : Statement(options.terms()) {}
  std::string words(const Hypothesis& hypothesis) const override;
  Finding examine(const StudyValues& values, const Hypothesis& hypothesis) const override;
  void check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const override;
};

struct SlopeOptions : ValueOptions {
  void fields(Fields& f);
};
/// The slope of log(metric) over log(axis `over`) is within `tolerance` of (or at_most, at_least) `formula`.
class Slope : public Statement {
 public:
  using Options = SlopeOptions;
  explicit Slope(const Options& options = {}) : Statement(options.terms()) {}
  std::string quantity(const Hypothesis& hypothesis) const override;
  std::string words(const Hypothesis& hypothesis) const override;
  Finding examine(const StudyValues& values, const Hypothesis& hypothesis) const override;
  void check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const override;
};

struct OptimumOptions : ValueOptions {
  void fields(Fields& f);
};
/// The number of the axis `along` at which the metric is best, the lowest_point() of each seed, is within `tolerance`
/// of (or at_most, at_least) `formula`; with `over`, so is the slope of its logarithm over that of this axis.
class Optimum : public Statement {
 public:
  using Options = OptimumOptions;
  explicit Optimum(const Options& options = {}) : Statement(options.terms()) {}
  std::string quantity(const Hypothesis& hypothesis) const override;
  std::string words(const Hypothesis& hypothesis) const override;
  Finding examine(const StudyValues& values, const Hypothesis& hypothesis) const override;
  void check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const override;
};

}  // namespace surd
