#include "train/optimizers/optimizer.hpp"

#include "train/optimizers/adafactor.hpp"
#include "train/optimizers/adam.hpp"
#include "train/optimizers/lion.hpp"
#include "train/optimizers/sgd.hpp"

namespace surd {
namespace {

/// What is wrong with a pattern that got no parameter.
std::string unmatched(const std::string& pattern, const ParameterSet& parameters) {
  std::vector<std::string> patterns;  // what may have been meant
  for (const Parameter& parameter : parameters) {
    const std::string& name = parameter.name;
    if (matches(pattern, name))
      return fmt::format("'{}' matches only what earlier groups have taken; move it before them or remove it", pattern);
    patterns.insert(patterns.end(), {name, "*" + name.substr(name.rfind('.') + 1),
                                     "*." + name.substr(name.rfind('.') + 1), name.substr(0, name.find('.')) + ".*"});
  }
  return fmt::format("must match the name of a parameter, such as '{}'; '{}' matches none{}",
                     parameters.size() > 0 ? parameters[0].name : "", pattern, did_you_mean(pattern, patterns));
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  // Each star first stands for nothing. Where the text after it does not fit, it takes one character more; only the
  // last star passed needs to: the ones before it have found the earliest place for theirs.
  std::size_t p = 0, n = 0;
  std::size_t after_star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (after_star != std::string_view::npos) {
      p = after_star;
      n = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

Optimizer::Optimizer(ParameterSet& parameters, const OptimizerOptions& options, double epsilon)
    : parameters_(parameters), options_(options) {
  std::vector<bool> matched(options.groups.size(), false);
  for (const Parameter& parameter : parameters) {
    Settings settings{parameter.learning_rate_multiplier, epsilon, options.weight_decay};
    for (std::size_t i = 0; i < options.groups.size(); ++i) {
      const ParameterGroupOptions& group = options.groups[i];
      if (!matches(group.match, parameter.name)) continue;
      matched[i] = true;
      settings = {settings.learning_rate_multiplier * group.learning_rate_multiplier, group.epsilon.value_or(epsilon),
                  group.weight_decay.value_or(options.weight_decay)};
      break;
    }
    settings_.push_back(settings);
  }
  for (std::size_t i = 0; i < matched.size(); ++i)
    expect_option(matched[i], fmt::format("optimizer.groups[{}].match", i), "{}",
                  unmatched(options.groups[i].match, parameters));
}

void Optimizer::step(double schedule_factor, double gradient_scale) {
  begin_step();
  for (Parameter& parameter : parameters_) step_parameter(parameter, schedule_factor, gradient_scale);
}

void Optimizer::step_parameter(Parameter& parameter, double schedule_factor, double gradient_scale) {
  if (parameter.gradient.empty) return;
  const Settings& settings = settings_[parameter.index];
  update(parameter, {options_.learning_rate * schedule_factor * settings.learning_rate_multiplier, settings.epsilon,
                     settings.weight_decay, gradient_scale});
}

std::size_t Optimizer::add_slot(std::string name) {
  return add_slot(std::move(name), [](const Shape& shape) { return shape; });
}

std::size_t Optimizer::add_slot(std::string name, const std::function<Shape(const Shape&)>& shape_of) {
  slots_.push_back({std::move(name), {}});
  for (const Parameter& parameter : parameters_)
    slots_.back().tensors.push_back(zeros(shape_of(parameter.value.shape())));
  return slots_.size() - 1;
}

OptimizerRegistry& optimizers() {
  static OptimizerRegistry table = [] {
    OptimizerRegistry built_in("optimizer");
    built_in.add<Sgd>("sgd", "stochastic gradient descent, with momentum or Nesterov's as PyTorch has them");
    built_in.add<Adam>("adam", "adaptive moments; weight decay is L2");
    built_in.add<AdamW>("adamw", "Adam with decoupled weight decay");
    built_in.add<Adafactor>("adafactor",
                            "Adam's divisor from the means r of a matrix's rows and c of its columns, r c / mean(r); a "
                            "vector keeps its own");
    built_in.add<Lion>("lion", "steps by the sign of a momentum");
    return built_in;
  }();
  return table;
}

}  // namespace surd
