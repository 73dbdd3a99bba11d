#pragma once

#include "autograd/base/registry.hpp"
#include "layers/linear.hpp"

namespace surd {

/// The part of a block that works on each position alone.
class FeedForward : public Module {
 public:
  using Module::Module;
  /// [..., d_model] -> [..., d_model]
  Variable operator()(Variable x) const {
    const auto region = enter(x.tape());
    return forward(x);
  }

 protected:
  virtual Variable forward(Variable x) const = 0;
};

struct PositionWiseOptions {
  std::size_t width = 256;
  Activation activation = Activation::relu;
  double dropout = 0;
  InitOptions init = {};
  bool bias = true;
  double inner_gain = 1;
  FixedScale outer_gain = FixedScale::constant(1);
  FixedScale bias_std = FixedScale::constant(0);

  void fields(Fields& f) {
    f("width", width, "width of the hidden layer", between(1, 1'000'000));
    f("activation", activation, "after the first map; gelu is x Phi(x), gelu_tanh its approximation by tanh");
    f("dropout", dropout, "rate on the hidden layer", fraction());
    f("bias", bias, "whether the two maps have a bias");
    f("init", init, "initial weights of both maps");
    f("inner_gain", inner_gain, "factor on the initial weights of the first map alone", above(0));
    output_gain_field(
        f, "outer_gain", outer_gain,
        "factor on those of the last map alone, over the sub-layers of the stack: GPT-2 has inv_sqrt_dim, "
        "1/sqrt(2 layers); above 0");
    bias_std_field(f, "bias_std", bias_std, "standard deviation of the initial biases, uniform, over the fan-in",
                   When{bias, "bias is true"});
  }
};

/// W2 dropout(activation(W1 x + b1)) + b2. Vaswani et al., section 3.3.
class PositionWiseFeedForward : public FeedForward {
 public:
  using Options = PositionWiseOptions;
  PositionWiseFeedForward(const Scope& scope, std::size_t d_model, const Options& options);

 protected:
  Variable forward(Variable x) const override;

 private:
  Linear inner_;
  Dropout dropout_;
  Linear outer_;
};

/// The feed-forward layers a config can name: made from (scope, d_model, options).
using FeedForwardRegistry = Registry<FeedForward(const Scope&, std::size_t)>;
using FeedForwardChoice = Choice<FeedForward(const Scope&, std::size_t)>;
FeedForwardRegistry& feed_forwards();

}  // namespace surd
