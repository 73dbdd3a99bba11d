#pragma once

#include "layers/module.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace surd {

/// A factor of a layer: its Scale over one dimension, as a fixed number or, where the scale is `learned`, as a
/// parameter [1] named "scale" that starts at that number.
///
/// It is the product number() * parameter(), of which one is always 1, so that an op that multiplies by a number anyway
/// need not be told which.
class Factor {
 public:
  /// Declares itself by `name` for a run's first lines, with `remark` behind its value; see Scope::declare_factor.
  Factor(const Scope& scope, std::string_view name, const Scale& scale, std::size_t dimension,
         std::string_view remark = "");

  /// 1 where it is learned.
  Real number() const { return number_; }
  /// [1]; absent where it is fixed.
  Variable parameter(Tape& tape) const { return tape.parameter(parameter_); }

  /// x times parameter(); x itself where it is fixed. [...] -> [...]
  Variable times_parameter(Variable x) const {
    return parameter_ == nullptr ? x : scale_by(x, x.tape().parameter(*parameter_));
  }
  /// x times the factor. [...] -> [...]
  Variable operator()(Variable x) const { return number_ == 1 ? times_parameter(x) : scale(x, number_); }

 private:
  Real number_;
  Parameter* parameter_;  // null where it is fixed
};

/// ", capped at 50": the remark on a factor whose products go through soft_cap; "" where they do not.
inline std::string capped(const std::optional<double>& cap) { return cap ? fmt::format(", capped at {:g}", *cap) : ""; }

}  // namespace surd
