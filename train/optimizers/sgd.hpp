#pragma once

#include "train/optimizers/optimizer.hpp"

#include <cstddef>
#include <optional>

namespace surd {

struct SgdOptions : OptimizerOptions {
  double momentum = 0;
  bool nesterov = false;
  void fields(Fields& f) {
    OptimizerOptions::fields(f);
    f("momentum", momentum,
      "share of the velocity v that is kept: v = momentum * v + g, x loses rate * v; PyTorch's form without dampening, "
      "where the classical one has the rate inside v",
      fraction());
    f("nesterov", nesterov, "x loses rate * (g + momentum * v) instead, with the new v (Sutskever et al., ICML 2013)");
    f.rule(!nesterov || momentum > 0, "nesterov", "needs a momentum above 0; set momentum: 0.9, or remove nesterov");
    refuse_epsilon(f, "sgd");
  }
};

/// Stochastic gradient descent, with g the clipped gradient + weight_decay x (L2):
///
///     v = momentum v + g;  x -= rate v;  with Nesterov's momentum x -= rate (g + momentum v)
///
/// This is PyTorch's form, without dampening. The classical one (Sutskever et al., ICML 2013, section 2) keeps
/// v = momentum v - rate g: the same while the rate stays, but a change of the rate reaches the velocity bit by bit.
/// Without momentum x -= rate g, and there is no slot.
class Sgd : public Optimizer {
 public:
  using Options = SgdOptions;
  Sgd(ParameterSet& parameters, const Options& options);

 protected:
  void update(Parameter& parameter, const Step& step) override;

 private:
  Options options_;
  std::optional<std::size_t> velocity_;
};

}  // namespace surd
