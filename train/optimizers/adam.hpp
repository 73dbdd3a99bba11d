#pragma once

#include "train/optimizers/optimizer.hpp"

#include <cstddef>

namespace surd {

struct AdamOptions : OptimizerOptions {
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
  void fields(Fields& f) {
    OptimizerOptions::fields(f);
    f("beta1", beta1, "decay of the mean of gradients", fraction());
    f("beta2", beta2, "decay of the mean of squared gradients", fraction());
    f("epsilon", epsilon, "added to the root of the mean of squares", above(0));
  }
};

/// Kingma & Ba, arXiv 1412.6980; the defaults of beta2 and epsilon are those of Vaswani et al., section 5.3. Weight
/// decay is L2: added to the gradient.
class Adam : public Optimizer {
 public:
  using Options = AdamOptions;
  Adam(ParameterSet& parameters, const Options& options) : Adam(parameters, options, false) {}

 protected:
  Adam(ParameterSet& parameters, const Options& options, bool decoupled_decay);
  void update(Parameter& parameter, const Step& step) override;

 private:
  Options options_;
  bool decoupled_decay_;
  std::size_t first_moment_, second_moment_;
};

/// Adam with decoupled weight decay: x loses rate times weight_decay of itself. Loshchilov & Hutter, arXiv 1711.05101.
class AdamW : public Adam {
 public:
  AdamW(ParameterSet& parameters, const Options& options) : Adam(parameters, options, true) {}
};

}  // namespace surd
