#include "train/optimizers/lion.hpp"

#include "autograd/base/subnormals.hpp"

namespace surd {

Lion::Lion(ParameterSet& parameters, const Options& options) : Optimizer(parameters, options, 0), options_(options) {
  check_options("lion", options);
  momentum_ = add_slot("momentum");
}

// c = beta1 m + (1 - beta1) g;  x -= rate (sign(c) + decay x);  m = beta2 m + (1 - beta2) g
void Lion::update(Parameter& parameter, const Step& step) {
  const auto beta1 = static_cast<Real>(options_.beta1), beta2 = static_cast<Real>(options_.beta2);
  const auto rate = static_cast<Real>(step.rate), scale = static_cast<Real>(step.gradient_scale);
  const auto keep = static_cast<Real>(1 - step.rate * step.weight_decay);
  const FlushSubnormals flush;  // without gradients a momentum decays to 0, and its parameter stays
  Real* x = parameter.value.data();
  Real* m = slot(momentum_, parameter);
  for (std::size_t i = 0; i < parameter.value.size(); ++i) {
    const Real g = scale * parameter.gradient.sum.data()[i];
    const Real direction = beta1 * m[i] + (1 - beta1) * g;
    const auto sign = static_cast<Real>((direction > 0) - (direction < 0));
    x[i] = keep * x[i] - rate * sign;
    m[i] = beta2 * m[i] + (1 - beta2) * g;
  }
}

}  // namespace surd
