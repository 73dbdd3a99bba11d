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
    f("relative", relative,
      "multiply the rate of the step by the parameter's root mean square; not that of weight_decay, which fairseq and "
      "transformers multiply as well");
    f("smallest_scale", smallest_scale, "least such root mean square, so that zeros can move (epsilon_2)", above(0),
      When{relative, "relative is true"});
    f("decay_exponent", decay_exponent, "the mean of squares at update t keeps 1 - t^-this of its past", between(0, 1));
    f("clip_rms", clip_rms, "largest root mean square of a parameter's step, before the rate", above(0));
    f("epsilon", epsilon, "added to every squared gradient before their means are taken (epsilon_1)", above(0));
  }
};

/// Adam's division by the root mean square of past gradients, but of a matrix [n, m] only the means of rows and of
/// columns are kept: n + m numbers instead of n m. In update t, with g the clipped gradient:
///
///     s = g^2 + epsilon;  keep = 1 - t^-decay_exponent
///     row = keep row + (1 - keep) mean of s over the row, column alike;  v = row column / mean(row)
///     u = g / sqrt(v);  u /= max(1, rms(u) / clip_rms)
///     x -= rate max(smallest_scale, rms(x)) u + rate weight_decay x      (without `relative`: rate u)
///
/// What is no matrix keeps the decayed means of s itself as v. Shazeer & Stern, arXiv 1804.04235, algorithms 4 and 5
/// with the numbers of algorithm 6, whose rate is min(0.01, 1 / sqrt(t)). No momentum; the weight decay is
/// not the paper's, and does not depend on the parameter's scale.
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
