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
    f("beta1", beta1, "share of the mean of gradients that is kept: m = beta1 * m + (1 - beta1) * g", fraction());
    f("beta2", beta2, "share of the mean of squares that is kept: v = beta2 * v + (1 - beta2) * g^2", fraction());
    f("epsilon", epsilon,
      "x loses rate * m' / (sqrt(v') + epsilon): outside the root, after bias correction, m' = m / (1 - beta1^u) and "
      "v' = v / (1 - beta2^u) at update u, as in PyTorch",
      above(0));
  }
};

/// Kingma & Ba, arXiv 1412.6980, algorithm 1, in update t with g the clipped gradient + weight_decay x (L2):
///
///     m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
///     x -= rate m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon)
///
/// The paper's faster form (end of section 2), where epsilon is added to the root before its correction, is not used.
/// The defaults of beta2 and epsilon are those of Vaswani et al., section 5.3.
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

/// Adam with decoupled weight decay: g is the clipped gradient alone, and x, as it was before the update, loses
/// rate weight_decay x as well. Loshchilov & Hutter, arXiv 1711.05101, algorithm 2, whose decay has the schedule's
/// factor but not the learning rate; here, as in PyTorch, it has both.
class AdamW : public Adam {
 public:
  AdamW(ParameterSet& parameters, const Options& options) : Adam(parameters, options, true) {}
};

}  // namespace surd
