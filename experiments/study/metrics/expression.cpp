#include "experiments/study/metrics/expression.hpp"

#include "experiments/study/statistics/formula.hpp"

#include <cmath>

namespace surd {

std::optional<MetricValue> Expression::of_run(const RunView& view) const {
  bool known = true, censored = false;
  const double value = evaluate_formula(options_.formula, [&](const std::string& name) {
    const auto part = view.number(name);
    known = known && part.has_value();
    censored = censored || (part && !part->known());
    return part ? part->nearest() : std::nan("");
  });
  if (!known) return std::nullopt;
  return censored ? MetricValue() : value;
}

}  // namespace surd
