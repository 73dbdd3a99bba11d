#include "tests/gradient_checks.hpp"
#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

// Inputs and parameters of every layer against central differences; attention has a file of its own.

namespace surd {
namespace {

using test::Bench;
using test::random_tensor;
using V = const std::vector<Variable>&;

/// Checks a layer that maps one value of `shape`, for three inputs and cotangents.
template <class Layer>
void check(const std::string& name, Bench& bench, const Layer& layer, const Shape& shape) {
  test::perturb(bench.parameters);
  test::check_gradients(
      fmt::format("{} {}", name, shape), [&](Tape&, V v) { return layer(v[0]); },
      [&](std::uint64_t seed) { return std::vector<Tensor>{random_tensor(shape, seed)}; }, &bench.parameters);
}

TEST_CASE("gradients of Linear") {
  for (const Activation activation : test::activations()) {
    for (const bool bias : {true, false}) {
      Bench bench;
      const Linear linear(bench.scope / "linear", {5, 7, bias, activation});
      CHECK(bench.parameters.size() == (bias ? 2 : 1));
      check("Linear " + name_of(activation), bench, linear, {2, 3, 5});
    }
  }
}

TEST_CASE("gradients of the norms") {
  for (const std::string& kind : norms().names()) {
    for (const Shape& shape : {Shape{2, 3, 6}, Shape{4, 1}, Shape{1, 2, 17}}) {
      Bench bench;
      const auto norm = NormChoice(norms(), kind).make(bench.scope / "norm", shape.back());
      check(kind, bench, *norm, shape);
    }
  }
}

TEST_CASE("gradients of PositionWiseFeedForward") {
  for (const Activation activation : test::activations()) {
    Bench bench;
    const PositionWiseFeedForward layer(bench.scope / "feed_forward", 6, {11, activation});
    check("feed-forward " + name_of(activation), bench, layer, {2, 3, 6});
  }
  Bench bench;
  const PositionWiseFeedForward layer(bench.scope / "feed_forward", 6, {11, Activation::gelu, 0.3});
  check("feed-forward with dropout", bench, layer, {2, 3, 6});
}

TEST_CASE("gradients of Residual") {
  for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post}) {
    for (const std::string& kind : norms().names()) {
      Bench bench;
      NormPlacementOptions options;
      options.placement = placement;
      options.kind.select(kind);
      const Residual residual(bench.scope / "residual", 6, options, 0.2);
      const Linear sub_layer(bench.scope / "linear", {6, 6, true, Activation::tanh});
      check(fmt::format("Residual {} {}", name_of(placement), kind), bench,
            [&](Variable x) { return residual(x, sub_layer); }, {2, 3, 6});
    }
  }
}

/// An embedding of Example's target together with its positions.
void check_embedding(const std::string& name, const EmbeddingOptions& options, const PositionsChoice& choice,
                     std::size_t first_position = 0) {
  Bench bench;
  const auto positions = choice.make(bench.scope / "positions", 6);
  const TokenEmbedding embedding(bench.scope / "embedding", test::Example::vocabulary, 6, options);
  test::perturb(bench.parameters);
  const test::Example example;
  test::check_gradients(
      name, [&](Tape& tape, V) { return embedding(tape, example.target_tokens(), *positions, first_position); },
      std::vector<Tensor>{}, &bench.parameters);
}

TEST_CASE("gradients of embeddings and positions") {
  const PositionsChoice none(positions(), "none"), plain(positions(), "sinusoidal"), trained(positions(), "learned");
  EmbeddingOptions options;
  check_embedding("embedding", options, none);
  check_embedding("embedding with sinusoids", options, plain);
  check_embedding("embedding with learned positions", options, test::learned_positions({6}));
  check_embedding("embedding with learned positions further on", options, test::learned_positions({6}), 2);
  check_embedding("embedding with learned positions of a factor", options,
                  test::learned_positions({6, Scale(Scale::Rule::sqrt_dim, 3)}), 1);
  SinusoidalOptions sinusoidal;
  sinusoidal.scale = Scale(Scale::Rule::inv_sqrt_dim, 1, true);
  check_embedding("embedding with a learned position factor", options, test::sinusoidal(sinusoidal));
  check_embedding("embedding with a learned position factor further on", options, test::sinusoidal(sinusoidal), 3);

  options.scale = Scale(Scale::Rule::sqrt_dim, 1, true);
  check_embedding("embedding with a learned factor for both", options, test::sinusoidal(sinusoidal));
  check_embedding("embedding with a learned factor", options, plain);
}

TEST_CASE("gradients of the output projection") {
  const test::Example example;
  const std::vector<Scale> scales = {Scale::Rule::one, Scale::Rule::inv_sqrt_dim,
                                     Scale(Scale::Rule::inv_sqrt_dim, 1, true)};
  for (const Scale& scale : scales) {
    for (const bool tied : {false, true}) {
      EmbeddingOptions options;
      options.logit_scale = scale;
      options.output_bias = !tied;
      Bench bench;
      const TokenEmbedding embedding(bench.scope / "embedding", 7, 6, options);
      const OutputProjection output(bench.scope / "output", tied ? &embedding : nullptr, 7, 6, options);
      const std::string name = fmt::format("output projection {}{}", scale.text(), tied ? ", tied" : "");
      check(name, bench, output, {3, 4, 6});
      std::vector<std::int32_t> targets = example.target_output;
      for (std::int32_t& target : targets) target %= 7;
      check(name + ", loss", bench, [&](Variable x) { return output.loss(x, targets, example.loss_arguments()); },
            {3, 4, 6});
    }
  }
}

}  // namespace
}  // namespace surd
