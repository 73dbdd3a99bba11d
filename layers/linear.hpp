#pragma once

#include "layers/module.hpp"

namespace surd {

struct LinearArguments {
  std::size_t in;
  std::size_t out;
  bool bias = true;
  Activation activation = Activation::none;
  InitOptions init = {};
  double init_factor = 1;  ///< on the initial weight
};

/// y = activation(x W^T + b), W [out, in]; the bias starts at zero.
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
