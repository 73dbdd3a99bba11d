#pragma once

#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

// A factor that is declared and never read, or read twice, is the mistake this project must not make: for each one,
// changing its rule changes what it multiplies by exactly the ratio of the two values. The dimensions are 16 (d_model)
// and 4 (d_k), so all ratios are powers of two and "exactly" means to the last bit.
namespace surd::test {

struct FactorCase {
  Scale scale;
  double over_d_model, over_d_k;  ///< its values
};
inline const std::vector<FactorCase> factor_cases = {{Scale::Rule::one, 1, 1},
                                                     {Scale::Rule::sqrt_dim, 4, 2},
                                                     {Scale::Rule::inv_sqrt_dim, 0.25, 0.5},
                                                     {Scale::Rule::inv_dim, 0.0625, 0.25},
                                                     {Scale::constant(0.5), 0.5, 0.5},
                                                     {Scale(Scale::Rule::inv_dim, 8), 0.5, 2},
                                                     {Scale::constant(-2), -2, -2}};

inline Scale learned(const Scale& scale) {
  Scale result;
  CHECK(result.parse("learned " + scale.text()));
  return result;
}

/// Whether a = factor b, to the last bit; scores of keys that are not visible are NaN in both.
inline bool is_multiple(const Tensor& a, const Tensor& b, double factor) {
  if (a.shape() != b.shape()) return false;
  bool tested = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Real actual = a.data()[i], expected = static_cast<Real>(factor) * b.data()[i];
    if (actual != expected && !(std::isnan(actual) && std::isnan(expected))) return false;
    tested = tested || expected > 0 || expected < 0;
  }
  return tested;
}

/// The attention layers of small_options().
inline const std::vector<std::string> attention_paths = {"encoder.0.self_attention", "decoder.0.self_attention",
                                                         "decoder.0.cross_attention"};

}  // namespace surd::test
