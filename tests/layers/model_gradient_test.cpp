#include "tests/gradient_checks.hpp"
#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

// The loss of a whole Transformer against central differences, all parameters of it.

namespace surd {
namespace {

using test::Example;
using test::Model;
using V = const std::vector<Variable>&;

/// Not narrower: a norm of four elements is so curved that central differences miss 1e-6 by their own error.
TransformerOptions tiny_options() {
  TransformerOptions options = test::small_options();
  options.d_model = 8;
  options.heads = 2;
  options.feed_forward = test::feed_forward({5, Activation::gelu});
  return options;
}

void check(const std::string& name, const TransformerOptions& options, std::uint64_t seeds = 1) {
  Model model(options);
  test::perturb(model.parameters);
  const Example example;
  test::check_gradients(
      name, [&](Tape& tape, V) { return example.loss(model.transformer, tape); }, std::vector<Tensor>{},
      &model.parameters, seeds);
}

TEST_CASE("gradients of the Transformer for each placement, tie and norm") {
  for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post}) {
    for (const Tie tie : {Tie::none, Tie::decoder, Tie::all}) {
      for (const std::string& kind : norms().names()) {
        TransformerOptions options = tiny_options();
        options.norm.placement = placement;
        options.norm.kind.select(kind);
        options.embedding.tie = tie;
        check(fmt::format("Transformer {} {} {}", name_of(placement), name_of(tie), kind), options, 3);
      }
    }
  }
}

TEST_CASE("gradients of the Transformer with options that differ from the paper's") {
  TransformerOptions options = tiny_options();
  options.dropout = 0.2;
  MultiHeadOptions dropping;
  dropping.dropout = 0.2;
  options.attention = test::attention(dropping);
  options.feed_forward = test::feed_forward({5, Activation::gelu, 0.2});
  check("Transformer with dropout", options);

  options = tiny_options();
  options.embedding.tie = Tie::all;
  options.embedding.norm = true;
  options.embedding.scale = Scale(Scale::Rule::sqrt_dim, 1, true);
  options.embedding.logit_scale = Scale(Scale::Rule::inv_sqrt_dim, 1, true);
  options.attention = test::attention({Scale(Scale::Rule::inv_sqrt_dim, 1, true), false, QueryKeyNorm::rms_norm});
  options.positions = test::learned_positions({8});
  check("Transformer with everything learned", options);

  options = tiny_options();
  options.feed_forward = test::feed_forward({5, Activation::relu});
  options.encoder_layers = options.decoder_layers = 2;
  check("Transformer of two layers with ReLU", options);

  options = tiny_options();
  options.encoder_layers = options.decoder_layers = 0;
  check("Transformer without layers", options);
}

TEST_CASE("gradients of a decoder alone") {
  for (const Tie tie : {Tie::none, Tie::all}) {
    for (const std::string attention : {"multi_head", "rotary", "relative_bias"}) {
      TransformerOptions options = test::decoder_only(tiny_options());
      options.decoder_layers = 2;
      options.embedding.tie = tie;
      options.attention.select(attention);
      check(fmt::format("decoder alone {} {}", name_of(tie), attention), options);
    }
  }
}

TEST_CASE("gradients of models whose scores and logits are capped") {
  TransformerOptions options = tiny_options();
  MultiHeadOptions capped;
  capped.score_cap = 0.5;
  options.attention = test::attention(capped);
  options.embedding.logit_cap = 0.7;
  check("Transformer with caps", options);
  options = test::decoder_only(options);
  options.decoder_layers = 2;
  check("decoder alone with caps", options);
}

TEST_CASE("gradients of a decoder alone on targets without a source") {
  for (const std::string attention : {"multi_head", "rotary"}) {
    TransformerOptions options = test::decoder_only(tiny_options());
    options.attention.select(attention);
    Model model(options);
    test::perturb(model.parameters);
    const Example example;
    test::check_gradients(
        "decoder alone without a source, " + attention,
        [&](Tape& tape, V) {
          const std::vector<std::size_t> none(example.size, 0);
          const Variable hidden = model.transformer.hidden(tape, {{}, example.size, 0}, none, example.target_tokens());
          return model.transformer.loss(hidden, example.target_output, example.loss_arguments());
        },
        std::vector<Tensor>{}, &model.parameters, 1);
  }
}

TEST_CASE("gradients of the logits of the Transformer") {
  for (const Tie tie : {Tie::none, Tie::decoder, Tie::all}) {
    TransformerOptions options = tiny_options();
    options.embedding.tie = tie;
    options.embedding.logit_scale = Scale::Rule::inv_sqrt_dim;
    Model model(options);
    test::perturb(model.parameters);
    const Example example;
    test::check_gradients(
        "logits " + name_of(tie),
        [&](Tape& tape, V) { return model.transformer.logits(example.hidden(model.transformer, tape)); },
        std::vector<Tensor>{}, &model.parameters, 1);
  }
}

TEST_CASE("gradients of a decoding step, what is in the cache being constant") {
  Model model(tiny_options());
  test::perturb(model.parameters);
  const Example example;
  Tape first;
  DecoderCache cache = example.start(model.transformer, first);
  model.transformer.step(first, {1, 1, 1}, cache);
  DecoderCache copy;  // outlives each pass, as it does in a search
  test::check_gradients(
      "decoding step",
      [&](Tape& tape, V) {
        copy = cache;
        return model.transformer.step(tape, {5, 6, 0}, copy);
      },
      std::vector<Tensor>{}, &model.parameters);
}

}  // namespace
}  // namespace surd
