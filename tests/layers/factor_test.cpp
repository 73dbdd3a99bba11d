#include "tests/layers/factors.hpp"

#include <doctest/doctest.h>

#include <cmath>

// Factors on embeddings, positions and logits; tests/layers/factors.hpp says how they are tested.

namespace surd {
namespace {

using test::attention_paths;
using test::Bench;
using test::Example;
using test::factor_cases;
using test::FactorCase;
using test::is_multiple;
using test::learned;
using test::Model;
using test::small_options;

constexpr std::size_t d = 16;
using Rule = Scale::Rule;

Tensor embedded(const EmbeddingOptions& options, const PositionsChoice& choice, Bench&& bench = Bench()) {
  const auto positions = choice.make(bench.scope / "positions", d);
  const TokenEmbedding embedding(bench.scope / "embedding", Example::vocabulary, d, options);
  Tape tape;
  return embedding(tape, Example().target_tokens(), *positions, 0).value();
}

TEST_CASE("embedding.scale multiplies the looked-up rows") {
  const PositionsChoice none(positions(), "none");
  EmbeddingOptions plain;
  plain.scale = Rule::one;
  const Tensor rows = embedded(plain, none);
  for (const FactorCase& c : factor_cases) {
    CAPTURE(c.scale.text());
    EmbeddingOptions options;
    options.scale = c.scale;
    CHECK(is_multiple(embedded(options, none), rows, c.over_d_model));
    options.scale = learned(c.scale);
    CHECK(is_multiple(embedded(options, none), rows, c.over_d_model));
  }
}

TEST_CASE("embedding.scale leaves the positions alone, and positions.scale the embeddings") {
  EmbeddingOptions nothing, plain;
  nothing.scale = Scale::constant(0);
  plain.scale = Rule::one;
  for (const char* kind : {"sinusoidal", "learned"}) {
    const PositionsChoice choice(positions(), kind);
    const Tensor positions_alone = embedded(nothing, choice);
    const Tensor rows = embedded(plain, PositionsChoice(positions(), "none"));
    EmbeddingOptions options;  // sqrt(16) = 4
    const Tensor both = embedded(options, choice);
    for (std::size_t i = 0; i < both.size(); ++i)
      CHECK(std::fabs(both.data()[i] - (4 * rows.data()[i] + positions_alone.data()[i])) < 1e-6);
  }
}

TEST_CASE("positions.scale multiplies the encoding") {
  EmbeddingOptions nothing;
  nothing.scale = Scale::constant(0);
  SinusoidalOptions sinusoidal;
  const Tensor fixed = embedded(nothing, test::sinusoidal(sinusoidal));
  const Tensor trained = embedded(nothing, test::learned_positions({}));
  for (const FactorCase& c : factor_cases) {
    CAPTURE(c.scale.text());
    sinusoidal.scale = c.scale;
    CHECK(is_multiple(embedded(nothing, test::sinusoidal(sinusoidal)), fixed, c.over_d_model));
    CHECK(is_multiple(embedded(nothing, test::learned_positions({512, c.scale})), trained, c.over_d_model));
    sinusoidal.scale = learned(c.scale);
    CHECK(is_multiple(embedded(nothing, test::sinusoidal(sinusoidal)), fixed, c.over_d_model));
  }
  // The factor comes after the centring.
  sinusoidal = {};
  sinusoidal.centred = true;
  const Tensor centred = embedded(nothing, test::sinusoidal(sinusoidal));
  sinusoidal.scale = Rule::sqrt_dim;
  CHECK(is_multiple(embedded(nothing, test::sinusoidal(sinusoidal)), centred, 4));
}

TEST_CASE("embedding.logit_scale multiplies the logits, and the loss is of these logits") {
  const Example example;
  const auto run = [&](Tie tie, const Scale& scale) {
    TransformerOptions options = small_options();
    options.embedding.tie = tie;
    options.embedding.logit_scale = scale;
    const Model model(options);
    Tape tape;
    const Variable hidden = example.hidden(model.transformer, tape);
    const Variable logits = model.transformer.logits(hidden);
    const Tensor loss = model.transformer.loss(hidden, example.target_output, example.loss_arguments()).value();
    const Tensor expected = cross_entropy(logits, example.target_output, example.loss_arguments()).value();
    CHECK(test::relative_difference(loss, expected) < 1e-6);
    return logits.value();
  };
  for (const Tie tie : {Tie::none, Tie::decoder, Tie::all}) {
    const Tensor plain = run(tie, Rule::one);
    for (const FactorCase& c : factor_cases) {
      CAPTURE(c.scale.text());
      CHECK(is_multiple(run(tie, c.scale), plain, c.over_d_model));
      CHECK(is_multiple(run(tie, learned(c.scale)), plain, c.over_d_model));
    }
  }
}
TEST_CASE("a learned factor is a parameter that starts at the rule's value and gets a gradient") {
  TransformerOptions options = small_options();
  options.embedding.scale = learned(Rule::sqrt_dim);
  options.embedding.logit_scale = learned(Rule::inv_sqrt_dim);
  SinusoidalOptions sinusoidal;
  sinusoidal.scale = learned(Scale(Rule::inv_dim, 8));
  options.positions = test::sinusoidal(sinusoidal);
  MultiHeadOptions attention;
  attention.scale = learned(Rule::inv_sqrt_dim);
  options.attention = test::attention(attention);
  Model model(options);
  const Example example;
  Tape tape;
  tape.backward(example.loss(model.transformer, tape));
  std::vector<std::pair<std::string, double>> expected = {
      {"source_embedding.scale", 4}, {"target_embedding.scale", 4}, {"output.scale", 0.25}, {"positions.scale", 0.5}};
  for (const std::string& path : attention_paths) expected.emplace_back(path + ".scale", 0.5);
  for (const auto& [name, value] : expected) {
    CAPTURE(name);
    const Parameter& parameter = model.parameters.find(name);
    CHECK(parameter.value.shape() == Shape{1});
    CHECK(parameter.value.data()[0] == static_cast<Real>(value));
    CHECK_FALSE(parameter.gradient.empty);
    CHECK(parameter.gradient.sum.data()[0] != 0);
  }
  const auto fixed = Model(small_options()).parameters.size();
  CHECK(model.parameters.size() == fixed + expected.size());
}

TEST_CASE("the other options of embeddings do what they say") {
  TransformerOptions options = small_options();
  options.embedding.tie = Tie::none;
  options.embedding.zero_padding = true;
  options.embedding.learning_rate_multiplier = 3;
  options.embedding.output_init = InitOptions::normal(FixedScale::constant(0.25));
  const Model model(options);
  options.embedding.zero_padding = false;
  options.embedding.output_init = InitOptions::normal(FixedScale::constant(0.5));
  const Model plain(options);
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    const Parameter &changed = model.parameters[p], &before = plain.parameters[p];
    CAPTURE(changed.name);
    const bool embedding = changed.name.find("_embedding.weight") != std::string::npos;
    const bool output = changed.name == "output.weight";
    CHECK(changed.learning_rate_multiplier == (embedding || output ? 3 : 1));
    if (output) CHECK(is_multiple(before.value, changed.value, 2));
    for (std::size_t i = 0; i < changed.value.size() && !output; ++i)
      CHECK(changed.value.data()[i] == (embedding && i < d ? 0 : before.value.data()[i]));
  }
}

TEST_CASE("a model declares every factor once, with its resolved value") {
  const auto factors = [](const TransformerOptions& options) {
    const Model model(options);
    return model.scope.factors();
  };
  using Factors = Scope::Factors;
  TransformerOptions options = small_options();
  options.encoder_layers = 3;
  CHECK(factors(options) ==
        Factors{{"embedding", "x4 = sqrt(16)"}, {"positions", "x1"}, {"scores", "x0.5 = 1/sqrt(4)"}, {"logits", "x1"}});
  MultiHeadOptions attention;
  attention.absorb_scale = true;
  options.attention = test::attention(attention);
  options.positions.select("none");
  options.embedding.scale = learned(Scale::constant(0.5));
  options.embedding.logit_scale = Rule::inv_sqrt_dim;
  CHECK(factors(options) == Factors{{"embedding", "x0.5, learned"},
                                    {"scores", "x0.5 = 1/sqrt(4), absorbed into W_q"},
                                    {"logits", "x0.25 = 1/sqrt(16)"}});
}

}  // namespace
}  // namespace surd
