#pragma once

#include "train/optimizers/optimizer.hpp"

namespace surd {

struct LionOptions : OptimizerOptions {
  double beta1 = 0.9;
  double beta2 = 0.99;

  void fields(Fields& f) {
    OptimizerOptions::fields(f);
    f("beta1", beta1, "share of the momentum in the direction of a step; the rest is the gradient", fraction());
    f("beta2", beta2, "decay of the momentum, a mean of gradients", fraction());
  }
};

/// Steps by the sign of a momentum: every element moves by the learning rate, so that rate should be 3 to 10 times
/// smaller than Adam's, and weight_decay, which is decoupled, as much larger. Chen et al., arXiv 2302.06675,
/// algorithm 2.
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
