#pragma once

#include "autograd/base/fields.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace surd {

/// A factor as a rule over a dimension d: gain times 1, sqrt(d), 1/sqrt(d) or 1/d. Which d is meant (d_model, d_k, a
/// layer's fan-in) is said where the factor is used.
///
/// Written `one`, `sqrt_dim`, `inv_sqrt_dim`, `inv_dim`, a number, a gain and a rule (`8 * inv_dim`), or any of these
/// after `learned`, which makes the factor a parameter that starts at this value.
class Scale : public Word {
 public:
  enum class Rule { one, sqrt_dim, inv_sqrt_dim, inv_dim };

  Scale() = default;
  Scale(Rule rule, double gain = 1, bool learned = false)  // NOLINT: implicit, so that options read naturally
      : rule_(rule), gain_(gain), learned_(learned) {}
  static Scale constant(double value) { return {Rule::one, value}; }

  double value(std::size_t dimension) const;
  bool learned() const { return learned_; }

  /// "x8 = sqrt(64)", "x0.25 = 1/sqrt(16)", "x0.02", "x8 = sqrt(64), learned".
  std::string describe(std::size_t dimension) const;

  std::string text() const override;
  bool parse(std::string_view text) override;
  std::vector<std::string> choices() const override;
  std::string allowed() const override;
  std::optional<std::string> pattern() const override;

 private:
  Rule rule_ = Rule::one;
  double gain_ = 1;
  bool learned_ = false;
};

std::vector<std::string> names_of(Scale::Rule);

/// Such a rule for what is fixed when a model is made, a standard deviation of initial values or a gain on one: neither
/// negative nor learned.
class FixedScale : public Scale {
 public:
  FixedScale() = default;
  FixedScale(Rule rule, double gain = 1) : Scale(rule, gain) {}  // NOLINT: implicit, as in Scale
  static FixedScale constant(double value) { return {Rule::one, value}; }

  bool parse(std::string_view text) override;
  std::vector<std::string> choices() const override { return names_of(Rule{}); }
  std::string allowed() const override;
  std::optional<std::string> pattern() const override;
};

}  // namespace surd
