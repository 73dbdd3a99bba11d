#pragma once

#include "experiments/study/file/hypothesis.hpp"

namespace surd {

struct IdenticalOptions : StatementOptions {
  IdenticalOptions() { expect = OneOf({"same", "different"}, "same"); }
  void fields(Fields& f);
};
/// The loss curves of `arm` and `against` are the same within `tolerance` in every seed (expect: same), or in none.
class Identical : public Statement {
 public:
  using Options = IdenticalOptions;
  explicit Identical(const Options& options = {}) : Statement(options.terms()) {}
  std::string words(const Hypothesis& hypothesis) const override;
  Finding examine(const StudyValues& values, const Hypothesis& hypothesis) const override;
  void check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const override;
  bool tested() const override { return false; }  // it holds in every seed or it does not
};

}  // namespace surd
