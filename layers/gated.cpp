#include "layers/gated.hpp"

namespace surd {

GatedFeedForward::GatedFeedForward(const Scope& scope, std::size_t d_model, const Options& options)
    : FeedForward(scope),
      gate_(scope / "gate",
            {d_model, options.width, options.bias, options.activation, options.init, 1, options.bias_std}),
      inner_(scope / "inner",
             {d_model, options.width, options.bias, Activation::none, options.init, 1, options.bias_std}),
      dropout_(scope / "dropout", options.dropout),
      outer_(scope / "outer", {options.width, d_model, options.bias, Activation::none, options.init,
                               options.outer_gain.value(scope.sub_layers()), options.bias_std}) {}

Variable GatedFeedForward::forward(Variable x) const { return outer_(dropout_(multiply(gate_(x), inner_(x)))); }

}  // namespace surd
