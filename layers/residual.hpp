#pragma once

#include "layers/norm.hpp"

#include <memory>

namespace surd {

/// Where a sub-layer's norm stands: before it, inside the branch (Xiong et al., arXiv 2002.04745), or after the sum, as
/// in Vaswani et al.
enum class NormPlacement { pre, post };
std::vector<std::string> names_of(NormPlacement);

struct NormPlacementOptions {
  NormPlacement placement = NormPlacement::pre;
  NormChoice kind = {norms(), "layer_norm"};

  void fields(Fields& f) {
    f("placement", placement, "pre: x + f(norm(x)), with a last norm after the stack; post: norm(x + f(x))");
    f.choice("", "kind", kind, "which norm");
  }
};

/// A sub-layer f around a shortcut: x + dropout(f(norm(x))) or norm(x + dropout(f(x))). An observer is shown the two
/// terms before dropout as "skip" and "branch", and their "sum".
class Residual : public Module {
 public:
  Residual(const Scope& scope, std::size_t d_model, const NormPlacementOptions& options, double dropout);

  template <class SubLayer>
  Variable operator()(Variable x, const SubLayer& f) const {
    const auto region = enter(x.tape());
    if (placement_ == NormPlacement::pre) return add(x, f((*norm_)(x)));
    return (*norm_)(add(x, f(x)));
  }

 private:
  Variable add(Variable skip, Variable branch) const;

  NormPlacement placement_;
  std::unique_ptr<Norm> norm_;
  Dropout dropout_;
};

}  // namespace surd
