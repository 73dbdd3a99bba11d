#pragma once

#include "layers/module.hpp"
#include "layers/scale.hpp"

namespace surd {

struct LinearArguments {
  std::size_t in;
  std::size_t out;
  bool bias = true;
  Activation activation = Activation::none;
  InitOptions init = {};
  double init_factor = 1;                         ///< on the initial weight
  FixedScale bias_std = FixedScale::constant(0);  ///< of the initial bias, over `in`
};

/// Lists a field for LinearArguments::bias_std. PyTorch's linear maps have 0.5773502691896258 * inv_sqrt_dim.
template <class... Attributes>
void bias_std_field(Fields& f, const char* name, FixedScale& std, const char* help, const Attributes&... attributes) {
  f(name, std, help, attributes...);
  f.rule(std.value(1) >= 0, name, "must not be negative");
}

/// Lists a field for the factor on the initial weights of the map that ends a sub-layer, over Scope::sub_layers().
/// Radford et al. 2019 ("Language Models are Unsupervised Multitask Learners"), section 2.3, have 1/sqrt of them.
inline void output_gain_field(Fields& f, const char* name, FixedScale& gain, const char* help) {
  f(name, gain, help);
  f.rule(gain.value(1) > 0, name, "must be greater than 0");
}

/// y = activation(x W^T + b), W [out, in]; the bias starts uniform with a standard deviation of bias_std, usually 0.
class Linear : public Module {
 public:
  Linear(const Scope& scope, const LinearArguments& arguments);
  Variable operator()(Variable x) const;  ///< [..., in] -> [..., out]

 private:
  Parameter& weight_;
  Parameter* bias_;  // null: none
  Activation activation_;
};

}  // namespace surd
