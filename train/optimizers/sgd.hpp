#pragma once

#include "train/optimizers/optimizer.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace surd {

struct SgdOptions : OptimizerOptions {
  double momentum = 0;
  bool nesterov = false;
  void fields(Fields& f) {
    OptimizerOptions::fields(f);
    f("momentum", momentum, "share of the last step that is kept", fraction());
    f("nesterov", nesterov, "look ahead along the momentum (Sutskever et al., ICML 2013)");
    f.rule(!nesterov || momentum > 0, "nesterov", "needs a momentum above 0; set momentum: 0.9, or remove nesterov");
    const auto has_epsilon = [](const ParameterGroupOptions& group) { return group.epsilon.has_value(); };
    f.rule(std::none_of(groups.begin(), groups.end(), has_epsilon), "groups",
           "must not set epsilon: sgd has none; remove it there");
  }
};

/// Stochastic gradient descent.
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
