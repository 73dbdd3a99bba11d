#include "layers/linear.hpp"

namespace surd {

Linear::Linear(const Scope& scope, const LinearOptions& options)
    : Module(scope),
      weight_(scope.parameter("weight", {options.out, options.in}, options.init.initializer(options.init_factor))),
      bias_(options.bias ? &scope.parameter("bias", {options.out}, constant(0)) : nullptr),
      activation_(options.activation) {}

Variable Linear::operator()(Variable x) const {
  Tape& tape = x.tape();
  const auto region = enter(tape);
  return linear(x, tape.parameter(weight_), bias_ == nullptr ? Variable{} : tape.parameter(*bias_), activation_);
}

}  // namespace surd
