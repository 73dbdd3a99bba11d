#include "layers/residual.hpp"

namespace surd {

std::vector<std::string> names_of(NormPlacement) { return {"pre", "post"}; }

Residual::Residual(const Scope& scope, std::size_t d_model, const NormPlacementOptions& options, double dropout)
    : Module(scope),
      placement_(options.placement),
      norm_(options.kind.make(scope / "norm", d_model)),
      dropout_(scope / "dropout", dropout) {}

Variable Residual::add(Variable skip, Variable branch) const {
  const Variable sum = dropout_.add_to(skip, branch);
  const Tape& tape = sum.tape();
  tape.observe("skip", skip.value());
  tape.observe("branch", branch.value());
  tape.observe("sum", sum.value());
  return sum;
}

}  // namespace surd
