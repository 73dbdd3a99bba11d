#pragma once

#include "experiments/study/file/hypothesis.hpp"
#include "experiments/study/verdicts/estimate.hpp"

/// Statements about the difference of a metric between arms, or its ratio where the metric is compared by that; a
/// margin is then a factor.
namespace surd {

struct ComparisonOptions : StatementOptions {
  void fields(Fields& f);
};

class Comparison : public Statement {
 public:
  using Statement::Statement;
  void check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const override;
  /// Where the effect is expected, on the scale of the metric.
  virtual Region region(const Study& study, const Hypothesis& hypothesis) const = 0;
};

struct DifferenceOptions : ComparisonOptions {
  DifferenceOptions() { expect = OneOf({"lower", "higher"}); }
  void fields(Fields& f) { direction_fields(f, "difference"); }

 protected:
  void direction_fields(Fields& f, const char* kind);
};
/// metric(arm) - metric(against) is `expect` (lower, higher) than 0 by more than `margin`.
class Difference : public Comparison {
 public:
  using Options = DifferenceOptions;
  explicit Difference(const Options& options = {}) : Comparison(options.terms()) {}
  std::string words(const Hypothesis& hypothesis) const override;
  Finding examine(const StudyValues& values, const Hypothesis& hypothesis) const override;
  Region region(const Study& study, const Hypothesis& hypothesis) const override;
};

struct EquivalenceOptions : ComparisonOptions {
  void fields(Fields& f);
};
/// |metric(arm) - metric(against)| < margin; with `under` and `versus`, of the difference of that in both.
class Equivalence : public Comparison {
 public:
  using Options = EquivalenceOptions;
  explicit Equivalence(const Options& options = {}) : Comparison(options.terms()) {}
  std::string words(const Hypothesis& hypothesis) const override;
  Finding examine(const StudyValues& values, const Hypothesis& hypothesis) const override;
  Region region(const Study& study, const Hypothesis& hypothesis) const override;
  void check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const override;
};

struct InteractionOptions : DifferenceOptions {
  void fields(Fields& f);
};
/// (arm - against) in `under` minus (arm - against) in `versus` is `expect` than 0 by more than `margin`.
class Interaction : public Comparison {
 public:
  using Options = InteractionOptions;
  explicit Interaction(const Options& options = {}) : Comparison(options.terms()) {}
  std::string words(const Hypothesis& hypothesis) const override;
  Finding examine(const StudyValues& values, const Hypothesis& hypothesis) const override;
  Region region(const Study& study, const Hypothesis& hypothesis) const override;
  void check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const override;
};

}  // namespace surd
