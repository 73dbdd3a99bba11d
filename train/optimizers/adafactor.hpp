#pragma once

#include "train/optimizers/optimizer.hpp"

namespace surd {

struct AdafactorOptions : OptimizerOptions {
  bool relative = true;
  double smallest_scale = 1e-3;
  double decay_exponent = 0.8;
  double clip_rms = 1;
  double epsilon = 1e-30;

  void fields(Fields& f) {
    OptimizerOptions::fields(f);
    f("relative", relative, "multiply the learning rate by the parameter's root mean square");
    f("smallest_scale", smallest_scale, "least such root mean square, so that zeros can move", above(0),
      When{relative, "relative is true"});
    f("decay_exponent", decay_exponent, "the mean of squares at update t keeps 1 - t^-this of its past", between(0, 1));
    f("clip_rms", clip_rms, "largest root mean square of a parameter's step, before the learning rate", above(0));
    f("epsilon", epsilon, "added to the squared gradients", above(0));
  }
};

/// Adam's division by the root mean square of past gradients, but of a matrix [n, m] only the means of rows and of
/// columns are kept: n + m numbers instead of n m. No momentum; weight decay is decoupled. The paper's rate is
/// `relative` with min(0.01, 1 / sqrt(t)). Shazeer & Stern, arXiv 1804.04235, algorithms 4 to 6.
class Adafactor : public Optimizer {
 public:
  using Options = AdafactorOptions;
  Adafactor(ParameterSet& parameters, const Options& options);

 protected:
  void update(Parameter& parameter, const Step& step) override;

 private:
  Options options_;
  std::size_t rows_;     ///< mean of squares of each row of a matrix, [n]; of each element of anything else
  std::size_t columns_;  ///< of each column, [m]; of anything else [1], not used
};

}  // namespace surd
