#include "layers/alibi.hpp"
#include "layers/gated.hpp"
#include "layers/multi_query.hpp"
#include "layers/relative_bias.hpp"
#include "layers/rotary.hpp"
#include "tests/gradient_checks.hpp"
#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

// The layers beyond Vaswani et al., and the ops they need, against central differences.

namespace surd {
namespace {

using test::Bench;
using test::random_tensor;
using V = const std::vector<Variable>&;

std::function<std::vector<Tensor>(std::uint64_t)> inputs(const std::vector<Shape>& shapes) {
  return [shapes](std::uint64_t seed) {
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < shapes.size(); ++i) tensors.push_back(random_tensor(shapes[i], 100 * i + seed));
    return tensors;
  };
}

TEST_CASE("gradients of silu") {
  test::check_gradients(
      "silu", [](Tape&, V v) { return silu(scale(v[0], 3)); }, inputs({{3, 7}}));
  test::check_gradients(
      "linear silu", [](Tape&, V v) { return linear(v[0], v[1], v[2], Activation::silu); },
      inputs({{2, 3, 5}, {7, 5}, {7}}));
}

TEST_CASE("gradients of rotary") {
  for (const std::size_t heads : {1, 2, 3})
    for (const std::size_t first : {0, 1, 40})
      test::check_gradients(
          fmt::format("rotary, {} heads from {}", heads, first),
          [&](Tape&, V v) { return rotary(v[0], heads, first, 100); }, inputs({{2, 3, heads * 4}}));
}

TEST_CASE("gradients of attention whose heads share keys and values, with slopes or without") {
  for (const std::size_t shared : {1, 2, 4})
    for (const bool slopes : {false, true}) {
      AttentionArguments options{4, Real(0.7)};
      options.key_value_heads = shared;
      options.causal = shared == 2;
      options.key_lengths = {5, 3};
      if (slopes) options.distance_slopes = {0.5, 0.25, 1, 0};
      options.first_position = 2;
      options.dropout = shared == 4 ? 0.3 : 0;
      test::check_gradients(
          fmt::format("attention, {} heads of keys, slopes {}", shared, slopes),
          [&](Tape&, V v) { return attention(v[0], v[1], v[2], options); },
          inputs({{2, 3, 4 * 3}, {2, 5, shared * 3}, {2, 5, shared * 2}}));
    }
}

TEST_CASE("gradients of attention with a bias a bucket of distances") {
  for (const bool causal : {false, true})
    for (const std::size_t queries : {1, 3, 4}) {
      AttentionArguments options{2, Real(0.7)};
      options.causal = causal;
      options.key_lengths = {4, 2};
      options.key_value_heads = 1;
      options.dropout = causal ? 0.3 : 0;
      options.keys = 4;
      for (std::size_t i = 0; i < queries + 3; ++i) options.buckets.push_back(i * i % 3);
      test::check_gradients(
          fmt::format("attention with a bias, {} queries, causal {}", queries, causal),
          [&](Tape&, V v) {
            options.distance_bias = v[3];
            return attention(v[0], v[1], v[2], options);
          },
          inputs({{2, queries, 2 * 3}, {2, 5, 3}, {2, 5, 2}, {3, 2}}));
    }
}

TEST_CASE("gradients of GatedFeedForward") {
  for (const Activation gate : test::activations())
    for (const bool bias : {false, true}) {
      Bench bench;
      const GatedFeedForward layer(bench.scope / "feed_forward", 6, {11, gate, bias ? 0.3 : 0, bias});
      CHECK(bench.parameters.size() == (bias ? 6 : 3));
      test::perturb(bench.parameters);
      test::check_gradients(
          "gated " + name_of(gate), [&](Tape&, V v) { return layer(v[0]); }, inputs({{2, 3, 6}}), &bench.parameters);
    }
}

/// Causal self-attention and padded cross-attention, plain and with every option of MultiHeadOptions that fits.
template <class Layer>
void check_attention(const std::string& name, typename Layer::Options options) {
  constexpr std::size_t d = 8, heads = 4;
  for (const bool rich : {false, true}) {
    options.query_key_norm = rich ? QueryKeyNorm::rms_norm : QueryKeyNorm::none;
    if (rich) options.scale = Scale(Scale::Rule::inv_sqrt_dim, 1, true);
    Bench bench;
    const Layer layer(bench.scope / "attention", bench.place(d, heads), options);
    test::perturb(bench.parameters);
    AttentionMask causal, padded;
    causal.causal = true;
    padded.key_lengths = {4, 2};
    test::check_gradients(
        name + ", causal", [&](Tape&, V v) { return layer(v[0], v[0], causal); }, inputs({{2, 3, d}}),
        &bench.parameters);
    test::check_gradients(
        name + ", padded", [&](Tape&, V v) { return layer(v[0], v[1], padded); }, inputs({{2, 3, d}, {2, 4, d}}),
        &bench.parameters);
  }
}

TEST_CASE("gradients of the attention layers") {
  check_attention<MultiQueryAttention>("multi_query", {});
  MultiQueryOptions grouped;
  grouped.key_value_heads = 2;
  check_attention<MultiQueryAttention>("multi_query in groups", grouped);
  check_attention<RotaryAttention>("rotary", {});
  RotaryOptions turned;
  turned.key_value_heads = 2;
  check_attention<RotaryAttention>("rotary in groups", turned);
  check_attention<AlibiAttention>("alibi", {});
  RelativeBiasOptions few;
  few.buckets = 4, few.max_distance = 3;
  check_attention<RelativeBiasAttention>("relative_bias", few);
  MultiHeadOptions unit;
  unit.query_key_norm = QueryKeyNorm::l2;
  unit.bias = ProjectionBiases(false);
  Bench bench;
  const MultiHeadAttention layer(bench.scope / "attention", bench.place(8, 4), unit);
  test::perturb(bench.parameters);
  test::check_gradients(
      "queries and keys of norm 1", [&](Tape&, V v) { return layer(v[0], v[0], {}); }, inputs({{2, 3, 8}}),
      &bench.parameters);
}

}  // namespace
}  // namespace surd
