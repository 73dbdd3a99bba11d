#include "train/optimizers/adam.hpp"

#include "autograd/base/subnormals.hpp"
#include "autograd/kernels/optimizers.hpp"

#include <cmath>
#include <optional>

namespace surd {

Adam::Adam(ParameterSet& parameters, const Options& options, bool decoupled_decay)
    : Optimizer(parameters, options, options.epsilon), options_(options), decoupled_decay_(decoupled_decay) {
  check_options("adam", options);
  first_moment_ = add_slot("first_moment");
  second_moment_ = add_slot("second_moment");
}

void Adam::update(Parameter& parameter, const Step& step) {
  const auto t = static_cast<double>(updates());
  kernels::AdamStep adam;
  adam.beta1 = static_cast<Real>(options_.beta1);
  adam.beta2 = static_cast<Real>(options_.beta2);
  // Corrections for the betas as rounded: 1 - 0.9999F is off by 1e-4 of itself, and so would be the second moment.
  adam.rate = static_cast<Real>(step.rate / (1 - std::pow(static_cast<double>(adam.beta1), t)));
  adam.inv_sqrt_correction = static_cast<Real>(1 / std::sqrt(1 - std::pow(static_cast<double>(adam.beta2), t)));
  adam.epsilon = static_cast<Real>(step.epsilon);
  adam.decay = static_cast<Real>(decoupled_decay_ ? 0 : step.weight_decay);
  adam.shrink = static_cast<Real>(decoupled_decay_ ? 1 - step.rate * step.weight_decay : 1);
  // First moments of what gets no gradient any more, such as the weights of a dead unit, decay until they are
  // subnormal, and then take ten times as long. Beside a smaller epsilon subnormal squares bound a step.
  std::optional<FlushSubnormals> flush;
  if (step.epsilon >= 1e-15) flush.emplace();
  kernels::adam(parameter.gradient.sum.data(), static_cast<Real>(step.gradient_scale), adam, parameter.value.data(),
                slot(first_moment_, parameter), slot(second_moment_, parameter), parameter.value.size());
}

}  // namespace surd
