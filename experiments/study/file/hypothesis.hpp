#pragma once

#include "autograd/base/registry.hpp"
#include "experiments/config/one_of.hpp"
#include "experiments/config/raw_yaml.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace surd {

struct Finding;
struct Hypothesis;
struct Study;
class StudyValues;

/// The learning rate given in the base config for every arm, or the one that is best for each arm.
enum class Regime { shared, tuned };
std::vector<std::string> names_of(Regime);

/// Level names by axis name; an axis that is not named is free. Also used with the axis "regime".
using Selector = std::map<std::string, std::string>;

/// A selector with the levels of another over its own.
Selector narrowed(Selector selector, const Selector& more);

/// What a hypothesis is about, as tables and charts show it. Each kind of hypothesis fills in the terms that it has.
struct HypothesisTerms {
  std::string metric;
  Regime regime = Regime::shared;
  Selector arm, against, under, versus;
  std::string expect;
  double margin = 0;
  std::string over;   ///< the axis whose numbers are the x of a slope
  std::string along;  ///< the axis whose best number is looked for
  std::string formula;
  double tolerance = 0;
  bool relative = false;  ///< tolerance is a share of the expected value
};

/// What a hypothesis says: one class a kind, registered in hypothesis_kinds() under the name that a study file gives as
/// `kind`; its Options list the keys it reads. The kinds of this program are in verdicts/.
class Statement {
 public:
  explicit Statement(HypothesisTerms terms) : terms_(std::move(terms)) {}
  virtual ~Statement() = default;

  const HypothesisTerms& terms() const { return terms_; }
  /// The number that it is about, in a few words; the metric, unless it is something made of that.
  virtual std::string quantity(const Hypothesis& hypothesis) const;
  /// What is to be true, as a sentence without its full stop.
  virtual std::string words(const Hypothesis& hypothesis) const = 0;
  /// What the results of a study say of it.
  virtual Finding examine(const StudyValues& values, const Hypothesis& hypothesis) const = 0;
  /// Whether it is a test, with a p that is adjusted together with those of all other tests of the study.
  virtual bool tested() const { return true; }

  /// Is called with the key that is wrong and a message that says what to do about it.
  using Complain = std::function<void(const char* key, std::string message)>;
  /// Complains about what is wrong before any run. Called when the study file is read, once axes, arms and metrics are
  /// there. The base class checks that there is such a metric.
  virtual void check(const Study& study, const Hypothesis& hypothesis, const Complain& complain) const;

 private:
  HypothesisTerms terms_;
};
/// Complains where the arms that `arm` and `against` select, under the levels of `under` and `versus` if there are any,
/// cannot be compared: where a side selects none, where an arm has no counterpart, or where both are the same.
void check_sides(const Study& study, const Hypothesis& hypothesis, const Statement::Complain& complain);

using StatementRegistry = Registry<Statement()>;
using StatementChoice = Choice<Statement()>;
StatementRegistry& hypothesis_kinds();

/// A statement written before the run, and what is to be true of it.
struct Hypothesis : HypothesisTerms {
  std::string name;  ///< one sentence
  std::size_t claim = 0;
  bool contradicts = false;  ///< where it holds, it speaks against the claim
  std::string kind;          ///< its name in hypothesis_kinds()
  std::shared_ptr<const Statement> statement;
  Origin origin;
};

/// Levels by axis as an option: {tie: none, rho: '1.41'}. Reading the study checks that there are such levels, for the
/// keys arm, against, under and versus.
class WrittenSelector : public RawYaml {
 public:
  WrittenSelector() : RawYaml("mapping of levels") {}
  Selector levels() const;
};

/// The options that kinds of hypothesis are made of; each lists those it reads.
struct StatementOptions {
  std::string metric;
  Regime regime = Regime::shared;
  WrittenSelector arm, against, under, versus;
  OneOf expect;
  double margin = 0;
  std::string over, along, formula;
  double tolerance = 0;
  bool relative = false;

  HypothesisTerms terms() const;
};

}  // namespace surd
