#pragma once

#include "layers/feed_forward.hpp"

namespace surd {

struct GatedOptions {
  std::size_t width = 256;
  Activation activation = Activation::sigmoid;
  double dropout = 0;
  bool bias = false;
  InitOptions init = {};
  FixedScale outer_gain = FixedScale::constant(1);
  FixedScale bias_std = FixedScale::constant(0);

  void fields(Fields& f) {
    f("width", width, "width of the hidden layer; there are three maps, so 2/3 of position_wise's has as many weights",
      between(1, 1'000'000));
    f("activation", activation,
      "of the gate: sigmoid is GLU, silu SwiGLU, gelu GEGLU (x Phi(x); gelu_tanh: its approximation by tanh), relu "
      "ReGLU");
    f("dropout", dropout, "rate on the hidden layer", fraction());
    f("bias", bias, "whether the three maps have a bias; the paper has none");
    f("init", init, "initial weights of the three maps");
    output_gain_field(f, "outer_gain", outer_gain,
                      "factor on those of the last map alone, over the sub-layers of the stack; above 0");
    bias_std_field(f, "bias_std", bias_std, "standard deviation of the initial biases, uniform, over the fan-in",
                   When{bias, "bias is true"});
  }
};

/// W2 dropout(activation(W x) * V x). Shazeer, arXiv 2002.05202, section 2.
class GatedFeedForward : public FeedForward {
 public:
  using Options = GatedOptions;
  GatedFeedForward(const Scope& scope, std::size_t d_model, const Options& options);

 protected:
  Variable forward(Variable x) const override;

 private:
  Linear gate_;
  Linear inner_;
  Dropout dropout_;
  Linear outer_;
};

}  // namespace surd
