#include "layers/transformer.hpp"

#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

namespace surd {
namespace {

using test::Bench;
using test::Example;
using test::message_of;
using test::Model;
using test::relative_difference;
using test::rounding;
using test::small_options;
using test::state;
using test::varied_options;

TEST_CASE("the number of parameters is that of the same model in PyTorch") {
  // V = 64, d = 32, 4 heads, width 128, 2 + 2 layers, all embeddings tied, pre-norm
  TransformerOptions options;
  options.d_model = 32;
  options.feed_forward = test::feed_forward({128});
  options.embedding.tie = Tie::all;
  const std::size_t norm = 2 * 32, attention = 4 * (32 * 32 + 32), feed_forward = 2 * 32 * 128 + 128 + 32;
  const std::size_t encoder = 2 * (attention + feed_forward + 2 * norm) + norm;
  const std::size_t decoder = 2 * (2 * attention + feed_forward + 3 * norm) + norm;
  Bench bench;
  const Transformer model(bench.scope, options, 64, 64);
  CHECK(bench.parameters.element_count() == 64 * 32 + encoder + decoder);
  CHECK(bench.parameters.element_count() == 61568);  // counted by PyTorch

  options.embedding.tie = Tie::none;
  options.norm.placement = NormPlacement::post;
  Bench other;
  const Transformer untied(other.scope, options, 50, 64);
  CHECK(other.parameters.element_count() == 50 * 32 + 2 * 64 * 32 + encoder + decoder - 2 * norm);
}

TEST_CASE("parameters are named by their paths") {
  TransformerOptions options = small_options();
  options.embedding.tie = Tie::none;
  const Model model(options);
  for (const char* name :
       {"source_embedding.weight", "target_embedding.weight", "output.weight", "encoder.0.self_attention.query.weight",
        "encoder.0.self_attention_residual.norm.bias", "encoder.0.feed_forward.inner.weight", "encoder.norm.weight",
        "decoder.0.cross_attention.output.bias", "decoder.0.cross_attention_residual.norm.weight"})
    CHECK(model.has(name));
  options.embedding.tie = Tie::all;
  const Model tied(options);
  CHECK_FALSE(tied.has("source_embedding.weight"));
  CHECK_FALSE(tied.has("output.weight"));
  // The matrix that is always there has one name and so one draw, whatever is tied to it: arms of a study stay paired.
  CHECK(tied.has("target_embedding.weight"));
  CHECK(tied.parameters.size() == model.parameters.size() - 2);
}

TEST_CASE("padding a batch further changes no hidden state") {
  for (const TransformerOptions& options : varied_options()) {
    Model model(options);
    test::perturb(model.parameters);
    const Example example;
    Example longer = example;
    longer.source_length = 6;
    longer.target_length = 6;
    const auto pad = [](std::vector<std::int32_t>& ids, std::size_t from, std::size_t to) {
      std::vector<std::int32_t> padded;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        padded.push_back(ids[i]);
        if (i % from == from - 1) padded.resize(padded.size() + to - from, 0);
      }
      ids = padded;
    };
    pad(longer.source, 5, 6);
    pad(longer.target_input, 4, 6);
    pad(longer.target_output, 4, 6);
    Tape tape, longer_tape;
    const Variable hidden = example.hidden(model.transformer, tape);
    const Variable longer_hidden = longer.hidden(model.transformer, longer_tape);
    for (std::size_t b = 0; b < example.size; ++b)
      for (std::size_t t = 0; t < example.target_lengths[b]; ++t)
        CHECK(relative_difference(state(longer_hidden.value(), b, t), state(hidden.value(), b, t)) < rounding);
    const Variable loss = model.transformer.loss(hidden, example.target_output, example.loss_options());
    const Variable longer_loss = model.transformer.loss(longer_hidden, longer.target_output, example.loss_options());
    CHECK(relative_difference(longer_loss.value(), loss.value()) < rounding);
  }
}

TEST_CASE("no hidden state depends on padding, on later targets or on another row") {
  Model model(small_options());
  const Example example;
  Tape tape;
  const Tensor before = example.hidden(model.transformer, tape).value();
  Example changed = example;
  changed.source[8] = 7;        // row 1: padding of the source
  changed.source[14] = 5;       // row 2: the same
  changed.target_input[2] = 8;  // row 0, position 2
  Tape changed_tape;
  const Tensor after = changed.hidden(model.transformer, changed_tape).value();
  for (std::size_t b = 0; b < 3; ++b) {
    for (std::size_t t = 0; t < 4; ++t) {
      const double difference = relative_difference(state(after, b, t), state(before, b, t));
      if (b == 0 && t >= 2)
        CHECK(difference > 1e-3);
      else
        CHECK(difference < rounding);
    }
  }
}

TEST_CASE("dropout and gradients are those of the whole batch, however it is cut into replicas") {
  TransformerOptions options = small_options();
  options.dropout = 0.3;
  options.attention = test::attention({Scale::Rule::inv_sqrt_dim, false, false, true, 0.3});
  options.feed_forward = test::feed_forward({12, Activation::relu, 0.3});
  Model model(options);
  const Example example;
  TapeOptions tape_options;
  tape_options.seed = 7;
  tape_options.step = 3;
  Tape whole(tape_options);
  const Variable hidden = example.hidden(model.transformer, whole);
  const Tensor all = hidden.value();
  whole.backward(model.transformer.loss(hidden, example.target_output, example.loss_options()));
  std::vector<GradientSum> parts = model.parameters.make_gradients();
  for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{0, 1}, {1, 3}}) {
    const Example slice = example.rows(begin, end);
    tape_options.first_row = begin;
    tape_options.gradients = &parts;
    Tape tape(tape_options);
    const Variable part = slice.hidden(model.transformer, tape);
    for (std::size_t b = begin; b < end; ++b)
      for (std::size_t t = 0; t < 4; ++t)
        CHECK(relative_difference(state(part.value(), b - begin, t), state(all, b, t)) < rounding);
    tape.backward(model.transformer.loss(part, slice.target_output, slice.loss_options()));
  }
  for (const Parameter& parameter : model.parameters) {
    CAPTURE(parameter.name);
    if (parameter.name.find("key.bias") != std::string::npos) continue;  // nothing but rounding: softmax ignores it
    CHECK(relative_difference(parts[parameter.index].sum, parameter.gradient.sum) < 10 * rounding);
  }

  const auto states = [&](std::uint64_t seed, std::uint64_t step, bool training) {
    TapeOptions other;
    other.seed = seed;
    other.step = step;
    other.training = training;
    Tape tape(other);
    return Tensor(example.hidden(model.transformer, tape).value());
  };
  CHECK(test::largest_difference(states(7, 3, true), all) == 0);
  CHECK(relative_difference(states(7, 4, true), all) > 0.01);
  CHECK(relative_difference(states(8, 3, true), all) > 0.01);
  CHECK(relative_difference(states(7, 3, false), all) > 0.01);
  CHECK(test::largest_difference(states(7, 3, false), states(8, 4, false)) == 0);
}

TEST_CASE("every option changes the loss: none is declared and never read") {
  const auto loss_of = [](const std::function<void(TransformerOptions&)>& change) {
    TransformerOptions options = small_options();
    change(options);
    Model model(options);
    test::perturb(model.parameters);  // so that biases count
    Tape tape;
    return static_cast<double>(Example().loss(model.transformer, tape).value().data()[0]);
  };
  const auto attention = [](const std::function<void(MultiHeadOptions&)>& change) {
    MultiHeadOptions options;
    change(options);
    return [options](TransformerOptions& o) { o.attention = test::attention(options); };
  };
  const auto feed_forward = [](const std::function<void(PositionWiseOptions&)>& change) {
    PositionWiseOptions options = {12};
    change(options);
    return [options](TransformerOptions& o) { o.feed_forward = test::feed_forward(options); };
  };
  const auto sinusoidal = [](const std::function<void(SinusoidalOptions&)>& change) {
    SinusoidalOptions options;
    change(options);
    return [options](TransformerOptions& o) { o.positions = test::sinusoidal(options); };
  };
  const auto learned = [](const LearnedPositionsOptions& options) {
    return [options](TransformerOptions& o) { o.positions = test::learned_positions(options); };
  };
  const InitOptions other_init = InitOptions::normal(Scale::constant(0.3));
  using O = TransformerOptions;
  const std::vector<std::pair<std::string, std::function<void(O&)>>> changes = {
      {"default", [](O&) {}},
      {"d_model", [](O& o) { o.d_model = 32; }},
      {"heads", [](O& o) { o.heads = 2; }},
      {"encoder_layers", [](O& o) { o.encoder_layers = 2; }},
      {"decoder_layers", [](O& o) { o.decoder_layers = 2; }},
      {"dropout", [](O& o) { o.dropout = 0.3; }},
      {"norm.placement", [](O& o) { o.norm.placement = NormPlacement::post; }},
      {"norm.kind rms_norm", [](O& o) { o.norm.kind.select("rms_norm"); }},
      {"norm.kind scale_norm", [](O& o) { o.norm.kind.select("scale_norm"); }},
      {"layer_norm epsilon", [](O& o) { o.norm.kind.set<LayerNorm>("layer_norm", {0.1}); }},
      {"rms_norm epsilon", [](O& o) { o.norm.kind.set<RMSNorm>("rms_norm", {0.1}); }},
      {"scale_norm epsilon", [](O& o) { o.norm.kind.set<ScaleNorm>("scale_norm", {0.1}); }},
      {"embedding.tie none", [](O& o) { o.embedding.tie = Tie::none; }},
      {"embedding.tie all", [](O& o) { o.embedding.tie = Tie::all; }},
      {"embedding.init", [&](O& o) { o.embedding.init = other_init; }},
      {"embedding.zero_padding", [](O& o) { o.embedding.zero_padding = true; }},
      {"embedding.scale", [](O& o) { o.embedding.scale = Scale::Rule::one; }},
      {"embedding.logit_scale", [](O& o) { o.embedding.logit_scale = Scale::Rule::inv_sqrt_dim; }},
      {"embedding.norm", [](O& o) { o.embedding.norm = true; }},
      {"positions none", [](O& o) { o.positions.select("none"); }},
      {"positions learned", learned({})},
      {"positions learned, scale", learned({512, Scale::Rule::sqrt_dim})},
      {"positions learned, init", learned({512, Scale::Rule::one, other_init})},
      {"layout", sinusoidal([](SinusoidalOptions& o) { o.layout = SinusoidLayout::sin_then_cos; })},
      {"denominator",
       sinusoidal([](SinusoidalOptions& o) { o.denominator = SinusoidDenominator::half_dim_minus_one; })},
      {"offset", sinusoidal([](SinusoidalOptions& o) { o.offset = 1; })},
      {"positions.scale", sinusoidal([](SinusoidalOptions& o) { o.scale = Scale::Rule::inv_sqrt_dim; })},
      {"centred", sinusoidal([](SinusoidalOptions& o) { o.centred = true; })},
      {"centred_length", sinusoidal([](SinusoidalOptions& o) {
         o.centred = true;
         o.centred_length = 20;
       })},
      {"attention.scale", attention([](MultiHeadOptions& o) { o.scale = Scale::Rule::one; })},
      {"absorb_scale", attention([](MultiHeadOptions& o) { o.absorb_scale = true; })},  // the noise is not absorbed
      {"query_key_norm", attention([](MultiHeadOptions& o) { o.query_key_norm = true; })},
      {"attention.dropout", attention([](MultiHeadOptions& o) { o.dropout = 0.3; })},
      {"attention.bias", attention([](MultiHeadOptions& o) { o.bias = false; })},
      {"attention.init", attention([&](MultiHeadOptions& o) { o.init = other_init; })},
      {"attention.init.gain", attention([](MultiHeadOptions& o) { o.init.gain = 0.7; })},
      {"attention.output_gain", attention([](MultiHeadOptions& o) { o.output_gain = 0.7; })},
      {"feed_forward.width", feed_forward([](PositionWiseOptions& o) { o.width = 13; })},
      {"feed_forward.activation", feed_forward([](PositionWiseOptions& o) { o.activation = Activation::gelu; })},
      {"feed_forward.dropout", feed_forward([](PositionWiseOptions& o) { o.dropout = 0.3; })},
      {"feed_forward.init", feed_forward([&](PositionWiseOptions& o) { o.init = other_init; })},
  };
  std::map<double, std::string> losses;
  for (const auto& [name, change] : changes) {
    CAPTURE(name);
    const double loss = loss_of(change);
    CHECK(std::isfinite(loss));
    const auto [found, is_new] = losses.emplace(loss, name);
    CHECK_MESSAGE(is_new, "the same loss as with ", found->second);
  }
}

TEST_CASE("options that contradict each other are refused") {
  const auto message = [](const std::function<void(TransformerOptions&)>& change, std::size_t source = 9,
                          std::size_t target = 9) {
    return message_of([&] {
      TransformerOptions options = small_options();
      change(options);
      Bench bench;
      Transformer(bench.scope, options, source, target);
    });
  };
  CHECK(message([](TransformerOptions&) {}).empty());
  CHECK(message([](TransformerOptions& o) { o.embedding.tie = Tie::all; }, 9, 8) ==
        "model: embedding.tie: all needs one vocabulary for both sides; got 9 and 8 tokens");
  CHECK(message([](TransformerOptions& o) { o.heads = 3; }) == "model: heads must divide d_model = 16");
  CHECK(message([](TransformerOptions& o) { o.heads = 0; }) == "model: heads must be at least 1; got 0");
  CHECK(message([](TransformerOptions& o) { o.dropout = 1; }) == "model: dropout must be in [0, 1); got 1");
  CHECK(message([](TransformerOptions& o) {
          o.d_model = 9;
          o.heads = 3;
        }) == "model: d_model must be even for sinusoidal positions");
  const Scale learned(Scale::Rule::inv_sqrt_dim, 1, true);
  CHECK(message([&](TransformerOptions& o) {
          o.attention = test::attention({learned, true});
        }) == "model.attention: absorb_scale cannot go with a learned scale");
  CHECK(message([](TransformerOptions& o) {
          o.attention = test::attention({Scale::Rule::inv_sqrt_dim, true, true});
        }) == "model.attention: absorb_scale cannot go with query_key_norm, which would undo it");
  CHECK(message([&](TransformerOptions& o) { o.embedding.init.std = learned; }) ==
        "model.embedding.init: std cannot be learned");
  CHECK(message([&](TransformerOptions& o) {
          o.positions = test::learned_positions({8, learned});
        }) == "model.positions: scale of a learned table cannot be learned as well");
  CHECK(message([](TransformerOptions& o) { o.feed_forward = test::feed_forward({0}); }) ==
        "model.feed_forward: width must be at least 1; got 0");
  CHECK(message([](TransformerOptions& o) { o.norm.kind.set<LayerNorm>("layer_norm", {0}); }) ==
        "model.norm: epsilon must be greater than 0; got 0");
}

TEST_CASE("input that does not fit is refused") {
  TransformerOptions options = small_options();
  options.positions = test::learned_positions({4});
  const Model model(options);
  const Example example;
  Tape tape;
  CHECK(message_of([&] { example.encoded(model.transformer, tape); }) ==
        "positions: a sequence of 5 positions exceeds positions.max_length = 4");
  const std::vector<std::int32_t> ids = {3, 9};
  CHECK(message_of([&] {
          model.transformer.encode(tape, {ids, 1, 2}, {2});
        }) == "embedding_with_positions: id 9 is not in [0, 9)");
  const std::vector<std::int32_t> fine = {3, 8};
  CHECK(message_of([&] {
          model.transformer.encode(tape, {fine, 1, 2}, {3});
        }) == "attention: key length 3 exceeds the 2 keys");
  CHECK(message_of([&] {
          model.transformer.encode(tape, {fine, 1, 2}, {2, 2});
        }) == "attention: 2 key lengths for a batch of 1");
}

}  // namespace
}  // namespace surd
