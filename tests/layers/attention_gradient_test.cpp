#include "tests/gradient_checks.hpp"
#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

// Inputs and parameters of MultiHeadAttention against central differences, with every option.

namespace surd {
namespace {

using test::Bench;
using test::random_tensor;
using V = const std::vector<Variable>&;

constexpr std::size_t d = 6, heads = 2;

/// Causal self-attention and padded cross-attention, for three inputs and cotangents each.
void check(const std::string& name, const MultiHeadOptions& options) {
  Bench bench;
  const MultiHeadAttention layer(bench.scope / "attention", bench.place(d, heads), options);
  test::perturb(bench.parameters);
  AttentionMask causal, padded;
  causal.causal = true;
  padded.key_lengths = {4, 2};
  test::check_gradients(
      name + ", causal self-attention", [&](Tape&, V v) { return layer(v[0], v[0], causal); },
      [](std::uint64_t seed) {
        return std::vector<Tensor>{random_tensor({2, 3, d}, seed)};
      },
      &bench.parameters);
  test::check_gradients(
      name + ", padded cross-attention", [&](Tape&, V v) { return layer(v[0], v[1], padded); },
      [](std::uint64_t seed) {
        return std::vector<Tensor>{random_tensor({2, 3, d}, seed), random_tensor({2, 4, d}, 100 + seed)};
      },
      &bench.parameters);
}

TEST_CASE("gradients of attention with each scale rule") {
  for (const char* text : {"one", "sqrt_dim", "inv_sqrt_dim", "inv_dim", "8 * inv_dim", "0.3", "0", "-1", "learned",
                           "learned inv_sqrt_dim", "learned 0.3"}) {
    MultiHeadOptions options;
    CHECK(options.scale.parse(text));
    check(fmt::format("scale {}", text), options);
  }
}

TEST_CASE("gradients of attention with each of its options") {
  MultiHeadOptions options;
  options.absorb_scale = true;
  check("absorbed", options);

  options = {};
  options.query_key_norm = QueryKeyNorm::rms_norm;
  check("QK-norm", options);
  options.scale = Scale(Scale::Rule::inv_sqrt_dim, 1, true);
  check("QK-norm with a learned scale", options);

  options = {};
  options.subtract_max = false;
  check("without the maximum", options);

  options = {};
  options.dropout = 0.3;
  check("dropout", options);

  options = {};
  options.bias = false;
  check("no bias", options);
  options.query_key_norm = QueryKeyNorm::rms_norm;
  options.dropout = 0.3;
  options.subtract_max = false;
  check("everything at once", options);
}

}  // namespace
}  // namespace surd
