#pragma once

#include "train/optimizers/optimizer.hpp"

namespace surd {

struct LionOptions : OptimizerOptions {
  double beta1 = 0.9;
  double beta2 = 0.99;

  void fields(Fields& f) {
    OptimizerOptions::fields(f);
    f("beta1", beta1,
      "share of the momentum in the direction of a step: x loses rate * sign(beta1 * m + (1 - beta1) * g)", fraction());
    f("beta2", beta2, "share of the momentum that is kept, after the step: m = beta2 * m + (1 - beta2) * g",
      fraction());
    refuse_epsilon(f, "lion");
  }
};

/// Steps by the sign of a momentum. Chen et al., arXiv 2302.06675, algorithm 2, with g the clipped gradient:
///
///     x -= rate (sign(beta1 m + (1 - beta1) g) + weight_decay x);  m = beta2 m + (1 - beta2) g
///
/// Every element moves by the rate, so it should be 3 to 10 times smaller than Adam's, and weight_decay as much larger.
class Lion : public Optimizer {
 public:
  using Options = LionOptions;
  Lion(ParameterSet& parameters, const Options& options);

 protected:
  void update(Parameter& parameter, const Step& step) override;

 private:
  Options options_;
  std::size_t momentum_;
};

}  // namespace surd
