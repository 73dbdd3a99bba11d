#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <cmath>

// A factor that is declared and never read, or read twice, is the mistake this project must not make: for each one,
// changing its rule changes what it multiplies by exactly the ratio of the two values. The dimensions are 16 (d_model)
// and 4 (d_k), so all ratios are powers of two and "exactly" means to the last bit.

namespace surd {
namespace {

using test::Bench;
using test::Example;
using test::largest_difference;
using test::Model;
using test::Recorder;
using test::small_options;

constexpr std::size_t d = 16;
using Rule = Scale::Rule;

struct Case {
  Scale scale;
  double over_d_model, over_d_k;  ///< its values
};
const std::vector<Case> cases = {{Rule::one, 1, 1},
                                 {Rule::sqrt_dim, 4, 2},
                                 {Rule::inv_sqrt_dim, 0.25, 0.5},
                                 {Rule::inv_dim, 0.0625, 0.25},
                                 {Scale::constant(0.5), 0.5, 0.5},
                                 {Scale(Rule::inv_dim, 8), 0.5, 2},
                                 {Scale::constant(-2), -2, -2}};

Scale learned(const Scale& scale) {
  Scale result;
  CHECK(result.parse("learned " + scale.text()));
  return result;
}

/// Whether a = factor b, to the last bit; scores of keys that are not visible are NaN in both.
bool is_multiple(const Tensor& a, const Tensor& b, double factor) {
  if (a.shape() != b.shape()) return false;
  bool tested = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Real actual = a.data()[i], expected = static_cast<Real>(factor) * b.data()[i];
    if (actual != expected && !(std::isnan(actual) && std::isnan(expected))) return false;
    tested = tested || expected > 0 || expected < 0;
  }
  return tested;
}

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
  for (const Case& c : cases) {
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
  for (const Case& c : cases) {
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
    const Tensor loss = model.transformer.loss(hidden, example.target_output, example.loss_options()).value();
    const Tensor expected = cross_entropy(logits, example.target_output, example.loss_options()).value();
    CHECK(test::relative_difference(loss, expected) < 1e-6);
    return logits.value();
  };
  for (const Tie tie : {Tie::none, Tie::decoder, Tie::all}) {
    const Tensor plain = run(tie, Rule::one);
    for (const Case& c : cases) {
      CAPTURE(c.scale.text());
      CHECK(is_multiple(run(tie, c.scale), plain, c.over_d_model));
      CHECK(is_multiple(run(tie, learned(c.scale)), plain, c.over_d_model));
    }
  }
}

const std::vector<std::string> attention_paths = {"encoder.0.self_attention", "decoder.0.self_attention",
                                                  "decoder.0.cross_attention"};

/// The scores of every attention layer of a small Transformer. Its blocks' attention sees what the factor changed
/// upstream, so the scores to compare are those of one layer on given input: `layer_scores`.
Tensor layer_scores(const MultiHeadOptions& options) {
  Bench bench;
  const MultiHeadAttention layer(bench.scope / "attention", d, 4, options);
  Recorder recorder;
  TapeOptions tape_options;
  tape_options.observer = &recorder;
  Tape tape(tape_options);
  layer(tape.input(test::random_tensor({2, 3, d}, 1)), tape.input(test::random_tensor({2, 5, d}, 2)), {});
  return recorder.only("attention: scores");
}

TEST_CASE("attention.scale multiplies the scores, whether fixed, learned or absorbed into W_q") {
  for (const bool normalize : {false, true}) {
    MultiHeadOptions options;
    options.query_key_norm = normalize;
    options.scale = Rule::one;
    const Tensor plain = layer_scores(options);
    CHECK(plain.shape() == Shape{2, 4, 3, 5});
    for (const Case& c : cases) {
      CAPTURE(c.scale.text());
      options.scale = c.scale;
      CHECK(is_multiple(layer_scores(options), plain, c.over_d_k));
      options.scale = learned(c.scale);
      CHECK(is_multiple(layer_scores(options), plain, c.over_d_k));
      if (normalize) continue;  // it would undo what W_q absorbed, and is refused
      options.scale = c.scale;
      options.absorb_scale = true;
      CHECK(is_multiple(layer_scores(options), plain, c.over_d_k));
      options.absorb_scale = false;
    }
  }
}

TEST_CASE("an absorbed factor is in W_q at the start, for every distribution, and nowhere later") {
  for (const Distribution distribution : {Distribution::normal, Distribution::uniform, Distribution::xavier_normal,
                                          Distribution::xavier_uniform, Distribution::unit_rows}) {
    MultiHeadOptions options;
    options.init.distribution = distribution;
    options.absorb_scale = true;
    Bench absorbed, plain;
    const MultiHeadAttention layer(absorbed.scope / "attention", d, 4, options);
    options.absorb_scale = false;
    const MultiHeadAttention other(plain.scope / "attention", d, 4, options);
    for (const char* name : {"query", "key", "value", "output"}) {
      const std::string weight = fmt::format("attention.{}.weight", name);
      CHECK(is_multiple(absorbed.parameters.find(weight).value, plain.parameters.find(weight).value,
                        name == std::string("query") ? 0.5 : 1));
    }
    Recorder with, without;
    for (const auto& [module, recorder] : {std::pair{&layer, &with}, std::pair{&other, &without}}) {
      TapeOptions tape_options;
      tape_options.observer = recorder;
      Tape tape(tape_options);
      const Variable x = tape.input(test::random_tensor({2, 3, d}, 1));
      (*module)(x, x, {});
    }
    CHECK(largest_difference(with.only("attention: scores"), without.only("attention: scores")) == 0);
    CHECK(largest_difference(with.only("attention: attention"), without.only("attention: attention")) == 0);
  }
}

TEST_CASE("output_gain multiplies the initial output projection and no other") {
  MultiHeadOptions options;
  Bench plain, larger;
  const MultiHeadAttention layer(plain.scope / "attention", d, 4, options);
  options.output_gain = 2;
  const MultiHeadAttention other(larger.scope / "attention", d, 4, options);
  for (const char* name : {"query", "key", "value", "output"}) {
    const std::string weight = fmt::format("attention.{}.weight", name);
    CHECK(is_multiple(larger.parameters.find(weight).value, plain.parameters.find(weight).value,
                      name == std::string("output") ? 2 : 1));
  }
}

TEST_CASE("the options of a Transformer reach every attention layer") {
  const auto first_scores = [](const MultiHeadOptions& attention, const std::string& path) {
    TransformerOptions options = small_options();
    options.attention = test::attention(attention);
    // Nothing upstream of a layer may depend on the factor: values and inner layers add nothing.
    Model model(options);
    for (const std::string& layer : attention_paths) model.parameters.find(layer + ".output.weight").value.fill(0);
    Recorder recorder;
    TapeOptions tape_options;
    tape_options.observer = &recorder;
    Tape tape(tape_options);
    Example().hidden(model.transformer, tape);
    return recorder.only(path + ": scores");
  };
  MultiHeadOptions plain, root, absorbed, trained;
  plain.scale = Rule::one;
  root.scale = absorbed.scale = Rule::inv_sqrt_dim;
  absorbed.absorb_scale = true;
  trained.scale = learned(Rule::inv_sqrt_dim);
  for (const std::string& path : attention_paths) {
    CAPTURE(path);
    const Tensor scores = first_scores(plain, path);
    for (const MultiHeadOptions& options : {root, absorbed, trained})
      CHECK(is_multiple(first_scores(options, path), scores, 0.5));
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
  options.embedding.output_init = InitOptions::normal(Scale::constant(0.25));
  const Model model(options);
  options.embedding.zero_padding = false;
  options.embedding.output_init = InitOptions::normal(Scale::constant(0.5));
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
