#include "layers/norm.hpp"

#include <cmath>

namespace surd {

LayerNorm::LayerNorm(const Scope& scope, std::size_t dimension, const Options& options)
    : Norm(scope),
      weight_(options.gain ? &scope.parameter("weight", {dimension}, constant(1)) : nullptr),
      bias_(options.bias ? &scope.parameter("bias", {dimension}, constant(0)) : nullptr),
      epsilon_(static_cast<Real>(options.epsilon)) {}

Variable LayerNorm::forward(Variable x) const {
  return layer_norm(x, x.tape().parameter(weight_), x.tape().parameter(bias_), epsilon_);
}

RMSNorm::RMSNorm(const Scope& scope, std::size_t dimension, const Options& options)
    : Norm(scope),
      weight_(scope.parameter("weight", {dimension}, constant(1))),
      epsilon_(static_cast<Real>(options.epsilon)) {}

Variable RMSNorm::forward(Variable x) const { return rms_norm(x, x.tape().parameter(weight_), epsilon_); }

ScaleNorm::ScaleNorm(const Scope& scope, std::size_t dimension, const Options& options)
    : Norm(scope),
      scale_(scope.parameter("scale", {1}, constant(std::sqrt(static_cast<double>(dimension))))),
      inv_sqrt_dimension_(static_cast<Real>(1 / std::sqrt(static_cast<double>(dimension)))),
      epsilon_(static_cast<Real>(options.epsilon)) {}

Variable ScaleNorm::forward(Variable x) const {
  const Variable factor = scale(x.tape().parameter(scale_), inv_sqrt_dimension_);
  return scale_by(rms_norm(x, {}, epsilon_), factor);
}

NormRegistry& norms() {
  static NormRegistry table = [] {
    NormRegistry built_in("norm");
    built_in.add<LayerNorm>("layer_norm", "mean removed, variance one, then a learned gain and bias");
    built_in.add<RMSNorm>("rms_norm", "mean square one, learned gain");
    built_in.add<ScaleNorm>("scale_norm", "fixed norm with one learned scale");
    return built_in;
  }();
  return table;
}

}  // namespace surd
