#include "layers/residual.hpp"

namespace surd {

std::vector<std::string> names_of(NormPlacement) { return {"pre", "post"}; }

Residual::Residual(const Scope& scope, std::size_t d_model, const NormPlacementOptions& options, double dropout)
    : Module(scope),
      placement_(options.placement),
      norm_(options.kind.make(scope / "norm", d_model)),
      dropout_(scope / "dropout", dropout) {}

}  // namespace surd
