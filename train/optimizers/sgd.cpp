#include "train/optimizers/sgd.hpp"

#include "autograd/base/subnormals.hpp"
#include "autograd/kernels/optimizers.hpp"

namespace surd {

Sgd::Sgd(ParameterSet& parameters, const Options& options) : Optimizer(parameters, options, 0), options_(options) {
  check_options("sgd", options);
  if (options.momentum > 0) velocity_ = add_slot("velocity");
}

void Sgd::update(Parameter& parameter, const Step& step) {
  const FlushSubnormals flush;  // a velocity without gradients decays
  kernels::sgd(parameter.gradient.sum.data(), static_cast<Real>(step.gradient_scale), static_cast<Real>(step.rate),
               static_cast<Real>(options_.momentum), options_.nesterov, static_cast<Real>(step.weight_decay),
               parameter.value.data(), velocity_ ? slot(*velocity_, parameter) : nullptr, parameter.value.size());
}

}  // namespace surd
