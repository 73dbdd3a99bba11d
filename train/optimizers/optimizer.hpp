#pragma once

#include "autograd/base/registry.hpp"
#include "autograd/parameter.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace surd {

/// Settings of the parameters whose names match a pattern.
struct ParameterGroupOptions {
  std::string match;
  double learning_rate_multiplier = 1;
  std::optional<double> epsilon;
  std::optional<double> weight_decay;

  void fields(Fields& f) {
    f("match", match, "parameter names, '*' stands for anything: \"*.bias\", \"encoder.*\"; the first match counts");
    f("learning_rate_multiplier", learning_rate_multiplier, "on the learning rate", at_least(0));
    f("epsilon", epsilon, "instead of the optimizer's", above(0));
    f("weight_decay", weight_decay, "instead of the optimizer's", at_least(0));
    f.rule(!match.empty(), "match", "is required; write a pattern such as '*.bias'");
  }
};

/// Whether `name` matches `pattern`, in which '*' stands for any text.
bool matches(std::string_view pattern, std::string_view name);

/// What every optimizer has.
struct OptimizerOptions {
  double learning_rate = 1e-3;
  double weight_decay = 0;
  std::vector<ParameterGroupOptions> groups;

  void fields(Fields& f) {
    f("learning_rate", learning_rate,
      "the rate of an update is this times the schedule's factor and the parameter's multipliers", above(0));
    f("weight_decay", weight_decay,
      "pull of a value x towards zero; L2 (sgd, adam): weight_decay * x is added to the clipped gradient; decoupled "
      "(adamw, adafactor, lion): x loses rate * weight_decay * x",
      at_least(0));
    f("groups", groups, "settings of single parameters");
  }
  /// Of an optimizer without an epsilon: no group may set one.
  void refuse_epsilon(Fields& f, std::string_view optimizer) const {
    const auto has_epsilon = [](const ParameterGroupOptions& group) { return group.epsilon.has_value(); };
    f.rule(std::none_of(groups.begin(), groups.end(), has_epsilon), "groups",
           fmt::format("must not set epsilon: {} has none; remove it there", optimizer));
  }
};

/// Changes parameters against their gradients.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One update with the learning rate times `schedule_factor` and every gradient times `gradient_scale`. Parameters
  /// without a gradient stay. Gradients are left as they are.
  void step(double schedule_factor, double gradient_scale);

  /// The same in parts, for several threads: begin_step(), and then step_parameter() for each parameter.
  void begin_step() { ++updates_; }
  void step_parameter(Parameter& parameter, double schedule_factor, double gradient_scale);

  /// What must be saved with the parameters to go on: updates() and these tensors, one a parameter in each slot, in the
  /// order of the parameters, mostly in their shapes.
  struct Slot {
    std::string name;  ///< "first_moment"
    std::vector<Tensor> tensors;
  };
  std::vector<Slot>& slots() { return slots_; }
  const std::vector<Slot>& slots() const { return slots_; }
  std::uint64_t updates() const { return updates_; }
  void set_updates(std::uint64_t updates) { updates_ = updates; }

  double learning_rate() const { return options_.learning_rate; }

 protected:
  /// The parameters must outlive it. Throws OptionError for a group that matches none of them.
  Optimizer(ParameterSet& parameters, const OptimizerOptions& options, double epsilon);

  /// The settings of one parameter in this update, after its group, multiplier and the schedule.
  struct Step {
    double rate;
    double epsilon;
    double weight_decay;
    double gradient_scale;
  };
  /// Changes one parameter and its slots: called once an update for each parameter that has a gradient, after updates()
  /// has counted this update (it is 1 in the first). With replicas and many parameters it is called for several at
  /// once, in any order and by different threads: what does not belong to this parameter is not to be changed, nor read
  /// where it changes. `step.rate` is final: it is not to be multiplied by the schedule or the group again. The
  /// gradient, `parameter.gradient.sum`, must be taken times `step.gradient_scale`, and left as it is. Slots are zeros
  /// before the first call, and hold all that the next call depends on: nothing else goes into a checkpoint.
  virtual void update(Parameter& parameter, const Step& step) = 0;

  /// Adds a slot of zeros in the parameters' shapes; returns its index.
  std::size_t add_slot(std::string name);
  /// The same where a tensor's shape is a function of its parameter's.
  std::size_t add_slot(std::string name, const std::function<Shape(const Shape&)>& shape_of);
  Real* slot(std::size_t index, const Parameter& parameter) { return slots_[index].tensors[parameter.index].data(); }

 private:
  ParameterSet& parameters_;
  OptimizerOptions options_;
  struct Settings {
    double learning_rate_multiplier, epsilon, weight_decay;
  };
  std::vector<Settings> settings_;  // a parameter
  std::vector<Slot> slots_;
  std::uint64_t updates_ = 0;
};

/// The optimizers a config can name: made from (parameters, options).
using OptimizerRegistry = Registry<Optimizer(ParameterSet&)>;
using OptimizerChoice = Choice<Optimizer(ParameterSet&)>;
OptimizerRegistry& optimizers();

}  // namespace surd
