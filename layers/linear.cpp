#include "layers/linear.hpp"

namespace surd {

Linear::Linear(const Scope& scope, const LinearArguments& arguments)
    : Module(scope),
      weight_(
          scope.parameter("weight", {arguments.out, arguments.in}, arguments.init.initializer(arguments.init_factor))),
      bias_(arguments.bias ? &scope.parameter("bias", {arguments.out}, uniform(arguments.bias_std.value(arguments.in)))
                           : nullptr),
      activation_(arguments.activation) {}

Variable Linear::operator()(Variable x) const {
  Tape& tape = x.tape();
  const auto region = enter(tape);
  return linear(x, tape.parameter(weight_), tape.parameter(bias_), activation_);
}

}  // namespace surd
