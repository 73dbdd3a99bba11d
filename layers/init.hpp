#pragma once

#include "autograd/base/random.hpp"
#include "autograd/tensor.hpp"
#include "layers/scale.hpp"

#include <functional>
#include <string>
#include <vector>

namespace surd {

/// Fills a new parameter. Element i is a function of draw i of the stream alone (with unit_rows: of the draws of its
/// row), and the draws are scaled last, so that two rules that differ by a factor give values that differ by that
/// factor, but for their rounding.
using Initializer = std::function<void(Tensor&, const random::Stream&)>;

Initializer constant(double value);
/// Around zero, with this standard deviation.
Initializer uniform(double deviation);
Initializer normal(double deviation);

enum class Distribution { normal, uniform, xavier_normal, xavier_uniform, unit_rows };
std::vector<std::string> names_of(Distribution);

/// How a matrix [rows, columns] starts.
struct InitOptions {
  Distribution distribution = Distribution::xavier_uniform;
  FixedScale std = Scale::Rule::inv_sqrt_dim;
  double gain = 1;

  bool xavier() const {
    return distribution == Distribution::xavier_normal || distribution == Distribution::xavier_uniform;
  }
  static InitOptions normal(const FixedScale& std) { return {Distribution::normal, std, 1}; }

  void fields(Fields& f) {
    const bool free = distribution == Distribution::normal || distribution == Distribution::uniform;
    f("distribution", distribution,
      "normal and uniform have the standard deviation `std`; xavier_* gain sqrt(2 / (rows + columns)); unit_rows draws "
      "uniformly and scales each row to norm 1");
    f("std", std, "standard deviation; a rule is over the number of columns: d_model for embeddings, else the fan-in",
      When{free, "distribution is normal or uniform"});
    f("gain", gain, "factor on Xavier's standard deviation", above(0),
      When{xavier(), "distribution is xavier_normal or xavier_uniform"});
    f.rule(std.value(1) >= 0, "std", "must not be negative");
  }

  /// The initialiser of a matrix, its values multiplied by `factor`.
  Initializer initializer(double factor = 1) const;
  /// The standard deviation it gives.
  double deviation(std::size_t rows, std::size_t columns) const;
};

}  // namespace surd
