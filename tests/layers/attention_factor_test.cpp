#include "tests/layers/factors.hpp"

#include <doctest/doctest.h>

// Factors on attention scores and projections; tests/layers/factors.hpp says how they are tested.

namespace surd {
namespace {

using test::attention_paths;
using test::Bench;
using test::Example;
using test::factor_cases;
using test::FactorCase;
using test::is_multiple;
using test::largest_difference;
using test::learned;
using test::Model;
using test::Recorder;
using test::small_options;

constexpr std::size_t d = 16;
using Rule = Scale::Rule;

/// The scores of every attention layer of a small Transformer. Its blocks' attention sees what the factor changed
/// upstream, so the scores to compare are those of one layer on given input: `layer_scores`.
Tensor layer_scores(const MultiHeadOptions& options) {
  Bench bench;
  const MultiHeadAttention layer(bench.scope / "attention", bench.place(d, 4), options);
  Recorder recorder;
  TapeArguments tape_options;
  tape_options.observer = &recorder;
  Tape tape(tape_options);
  layer(tape.input(test::random_tensor({2, 3, d}, 1)), tape.input(test::random_tensor({2, 5, d}, 2)), {});
  return recorder.only("attention: scores");
}

TEST_CASE("attention.scale multiplies the scores, whether fixed, learned or absorbed into W_q") {
  for (const QueryKeyNorm norm : {QueryKeyNorm::none, QueryKeyNorm::rms_norm, QueryKeyNorm::l2}) {
    MultiHeadOptions options;
    options.query_key_norm = norm;
    options.scale = Rule::one;
    const Tensor plain = layer_scores(options);
    CHECK(plain.shape() == Shape{2, 4, 3, 5});
    for (const FactorCase& c : factor_cases) {
      CAPTURE(c.scale.text());
      options.scale = c.scale;
      CHECK(is_multiple(layer_scores(options), plain, c.over_d_k));
      options.scale = learned(c.scale);
      CHECK(is_multiple(layer_scores(options), plain, c.over_d_k));
      if (norm != QueryKeyNorm::none) continue;  // it would undo what W_q absorbed, and is refused
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
    const MultiHeadAttention layer(absorbed.scope / "attention", absorbed.place(d, 4), options);
    options.absorb_scale = false;
    const MultiHeadAttention other(plain.scope / "attention", plain.place(d, 4), options);
    for (const char* name : {"query", "key", "value", "output"}) {
      const std::string weight = fmt::format("attention.{}.weight", name);
      CHECK(is_multiple(absorbed.parameters.find(weight).value, plain.parameters.find(weight).value,
                        name == std::string("query") ? 0.5 : 1));
    }
    Recorder with, without;
    for (const auto& [module, recorder] : {std::pair{&layer, &with}, std::pair{&other, &without}}) {
      TapeArguments tape_options;
      tape_options.observer = recorder;
      Tape tape(tape_options);
      const Variable x = tape.input(test::random_tensor({2, 3, d}, 1));
      (*module)(x, x, {});
    }
    CHECK(largest_difference(with.only("attention: scores"), without.only("attention: scores")) == 0);
    CHECK(largest_difference(with.only("attention: attention"), without.only("attention: attention")) == 0);
  }
}

TEST_CASE("init_fused counts the rows of all projections of the same input") {
  const auto deviation = [](AttentionRole role, bool fused, const std::string& name) {
    MultiHeadOptions options;
    options.init_fused = fused;
    Bench bench;
    const MultiHeadAttention layer(bench.scope / "attention", bench.place(d, 4, role), options);
    double squares = 0;
    for (const Real value : bench.parameters.find("attention." + name + ".weight").value)
      squares += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(squares);
  };
  const auto ratio = [&](AttentionRole role, const std::string& name) {
    return deviation(role, true, name) / deviation(role, false, name);
  };
  for (const char* name : {"query", "key", "value"})
    CHECK(ratio(AttentionRole::decoder_self, name) == doctest::Approx(std::sqrt(0.5)));
  CHECK(ratio(AttentionRole::cross, "query") == 1);
  CHECK(ratio(AttentionRole::cross, "key") == doctest::Approx(std::sqrt(2.0 / 3)));
  CHECK(ratio(AttentionRole::cross, "value") == doctest::Approx(std::sqrt(2.0 / 3)));
  CHECK(ratio(AttentionRole::encoder_self, "output") == 1);
}

TEST_CASE("output_gain multiplies the initial output projection and no other") {
  MultiHeadOptions options;
  Bench plain, larger;
  const MultiHeadAttention layer(plain.scope / "attention", plain.place(d, 4), options);
  options.output_gain = FixedScale::constant(2);
  const MultiHeadAttention other(larger.scope / "attention", larger.place(d, 4), options);
  for (const char* name : {"query", "key", "value", "output"}) {
    const std::string weight = fmt::format("attention.{}.weight", name);
    CHECK(is_multiple(larger.parameters.find(weight).value, plain.parameters.find(weight).value,
                      name == std::string("output") ? 2 : 1));
  }
}

TEST_CASE("a gain over the sub-layers is that of the stack's depth, whose last maps alone it multiplies") {
  const auto models = [](const TransformerOptions& options, double expected) {
    TransformerOptions scaled = options;
    MultiHeadOptions attention;
    attention.output_gain = Scale::Rule::inv_sqrt_dim;
    scaled.attention = test::attention(attention);
    PositionWiseOptions feed_forward{12};
    feed_forward.outer_gain = Scale::Rule::inv_sqrt_dim;
    scaled.feed_forward = test::feed_forward(feed_forward);
    Model plain(options), deep(scaled);
    for (const Parameter& parameter : plain.parameters) {
      CAPTURE(parameter.name);
      const auto ends_in = [&](const std::string& end) {
        return parameter.name.size() > end.size() &&
               parameter.name.compare(parameter.name.size() - end.size(), end.size(), end) == 0;
      };
      const bool last = ends_in("attention.output.weight") || ends_in("feed_forward.outer.weight");
      const Tensor& value = deep.parameters.find(parameter.name).value;
      double here = 0, there = 0;
      for (std::size_t i = 0; i < value.size(); ++i) {
        here += std::fabs(static_cast<double>(value.data()[i]));
        there += std::fabs(static_cast<double>(parameter.value.data()[i]));
      }
      CHECK(here == doctest::Approx(there * (last ? expected : 1)).epsilon(1e-6));
    }
  };
  TransformerOptions options = test::decoder_only(small_options());
  options.decoder_layers = 8;
  models(options, 0.25);  // 1/sqrt(2 8)
  options = small_options();
  options.encoder_layers = 3;
  options.decoder_layers = 2;
  models(options, 1 / std::sqrt(6.0));  // 2 3 and 3 2
}

TEST_CASE("the options of a Transformer reach every attention layer") {
  const auto first_scores = [](const MultiHeadOptions& attention, const std::string& path) {
    TransformerOptions options = small_options();
    options.attention = test::attention(attention);
    // Nothing upstream of a layer may depend on the factor: values and inner layers add nothing.
    Model model(options);
    for (const std::string& layer : attention_paths) model.parameters.find(layer + ".output.weight").value.fill(0);
    Recorder recorder;
    TapeArguments tape_options;
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

}  // namespace
}  // namespace surd
