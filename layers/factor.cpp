#include "layers/factor.hpp"

namespace surd {

Factor::Factor(const Scope& scope, std::string_view name, const Scale& scale, std::size_t dimension,
               std::string_view remark)
    : number_(scale.learned() ? Real(1) : static_cast<Real>(scale.value(dimension))),
      parameter_(scale.learned() ? &scope.parameter("scale", {1}, constant(scale.value(dimension))) : nullptr) {
  scope.declare_factor(name, scale.describe(dimension).append(remark));
}

}  // namespace surd
