#include "layers/feed_forward.hpp"

#include "layers/gated.hpp"

namespace surd {

PositionWiseFeedForward::PositionWiseFeedForward(const Scope& scope, std::size_t d_model, const Options& options)
    : FeedForward(scope),
      inner_(scope / "inner", {d_model, options.width, options.bias, options.activation, options.init,
                               options.inner_gain, options.bias_std}),
      dropout_(scope / "dropout", options.dropout),
      outer_(scope / "outer", {options.width, d_model, options.bias, Activation::none, options.init,
                               options.outer_gain.value(scope.sub_layers()), options.bias_std}) {}

Variable PositionWiseFeedForward::forward(Variable x) const { return outer_(dropout_(inner_(x))); }

FeedForwardRegistry& feed_forwards() {
  static FeedForwardRegistry table = [] {
    FeedForwardRegistry built_in("feed-forward layer");
    built_in.add<PositionWiseFeedForward>("position_wise", "two linear maps with an activation between them");
    built_in.add<GatedFeedForward>("gated", "one linear map gates another: GLU, SwiGLU, GEGLU, ReGLU");
    return built_in;
  }();
  return table;
}

}  // namespace surd
