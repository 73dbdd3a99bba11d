#pragma once

#include "autograd/product_rules.hpp"
#include "experiments/commands/bench/bench_products.hpp"

#include <string>
#include <vector>

namespace surd {

/// A product, and the seconds that the library and the kernel take for one.
struct TimedProduct {
  StepProduct product;
  double library, kernel;
};

/// The products of a training step, or of decoding; each counts as often as it is computed.
struct TimedWork {
  std::string name;
  std::vector<TimedProduct> products;

  double seconds_by_library() const;
  double seconds_by_kernel() const;
  double seconds_by_faster() const;  ///< each product by the faster of the two
  double seconds_by(const blas::ProductRules& rules) const;
};

/// The rules by which the works, each in units of its seconds_by_faster(), take the least time together. Of rules that
/// differ by less than half a per cent of a kind's time, which may be noise, the simplest.
blas::ProductRules fitted_rules(const blas::ProcessorKind& processor, const std::vector<TimedWork>& works);

/// The text of product_table.inc with the rules' line in the place of that of their processor, or behind the others.
/// Throws Error, at `path`, where the text is of no such table.
std::string with_rules(const std::string& path, const std::string& table, const blas::ProductRules& rules);

}  // namespace surd
