#include "layers/relative_bias.hpp"
#include "layers/transformer.hpp"

#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

namespace surd {
namespace {

using test::Bench;
using test::contains;
using test::Example;
using test::message_of;
using test::Model;
using test::small_options;

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
  const auto relative = [](const std::function<void(RelativeBiasOptions&)>& change) {
    RelativeBiasOptions options;
    change(options);
    return [options](TransformerOptions& o) { o.attention.set<RelativeBiasAttention>("relative_bias", options); };
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
  const InitOptions other_init = InitOptions::normal(FixedScale::constant(0.3));
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
      {"layer_norm gain",
       [](O& o) {
         o.norm.kind.set<LayerNorm>("layer_norm", {{1e-5}, false});
       }},
      {"layer_norm bias",
       [](O& o) {
         o.norm.kind.set<LayerNorm>("layer_norm", {{1e-5}, true, false});
       }},
      {"rms_norm epsilon", [](O& o) { o.norm.kind.set<RMSNorm>("rms_norm", {0.1}); }},
      {"scale_norm epsilon", [](O& o) { o.norm.kind.set<ScaleNorm>("scale_norm", {0.1}); }},
      {"embedding.tie none", [](O& o) { o.embedding.tie = Tie::none; }},
      {"embedding.tie all", [](O& o) { o.embedding.tie = Tie::all; }},
      {"embedding.init", [&](O& o) { o.embedding.init = other_init; }},
      {"embedding.zero_padding", [](O& o) { o.embedding.zero_padding = true; }},
      {"embedding.scale", [](O& o) { o.embedding.scale = Scale::Rule::one; }},
      {"embedding.logit_scale", [](O& o) { o.embedding.logit_scale = Scale::Rule::inv_sqrt_dim; }},
      {"embedding.norm", [](O& o) { o.embedding.norm = true; }},
      {"embedding.norm_epsilon", [](O& o) { o.embedding.norm = true, o.embedding.norm_epsilon = 0.1; }},
      {"embedding.output_bias", [](O& o) { o.embedding.output_bias = true; }},
      {"embedding.output_bias_std",
       [](O& o) { o.embedding.output_bias = true, o.embedding.output_bias_std = Scale::Rule::inv_sqrt_dim; }},
      {"positions none", [](O& o) { o.positions.select("none"); }},
      {"positions learned", learned({})},
      {"positions learned, one a side",
       learned({512, Scale::Rule::one, InitOptions::normal(Scale::Rule::inv_sqrt_dim), false})},
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
      {"query_key_norm", attention([](MultiHeadOptions& o) { o.query_key_norm = QueryKeyNorm::rms_norm; })},
      {"query_key_norm l2", attention([](MultiHeadOptions& o) { o.query_key_norm = QueryKeyNorm::l2; })},
      {"query_key_norm_epsilon", attention([](MultiHeadOptions& o) {
         o.query_key_norm = QueryKeyNorm::rms_norm;
         o.query_key_norm_epsilon = 0.1;
       })},
      {"attention.dropout", attention([](MultiHeadOptions& o) { o.dropout = 0.3; })},
      {"attention.bias", attention([](MultiHeadOptions& o) { o.bias = false; })},
      {"attention.bias of some", attention([](MultiHeadOptions& o) { o.bias.output = false; })},
      {"attention.bias_std", attention([](MultiHeadOptions& o) { o.bias_std = Scale::Rule::inv_sqrt_dim; })},
      {"attention.output_bias_std",
       attention([](MultiHeadOptions& o) { o.output_bias_std = Scale::Rule::inv_sqrt_dim; })},
      {"relative_bias", [](O& o) { o.attention.select("relative_bias"); }},
      {"relative_bias buckets", relative([](RelativeBiasOptions& o) { o.buckets = 4; })},
      {"relative_bias max_distance", relative([](RelativeBiasOptions& o) { o.buckets = 4, o.max_distance = 3; })},
      {"relative_bias bucket_std", relative([](RelativeBiasOptions& o) { o.bucket_std = Scale::Rule::one; })},
      {"attention.init", attention([&](MultiHeadOptions& o) { o.init = other_init; })},
      {"attention.init.gain", attention([](MultiHeadOptions& o) { o.init.gain = 0.7; })},
      {"attention.init_fused", attention([](MultiHeadOptions& o) { o.init_fused = true; })},
      {"attention.output_gain", attention([](MultiHeadOptions& o) { o.output_gain = FixedScale::constant(0.7); })},
      {"attention.output_gain of depth",
       attention([](MultiHeadOptions& o) { o.output_gain = Scale::Rule::inv_sqrt_dim; })},
      {"feed_forward.width", feed_forward([](PositionWiseOptions& o) { o.width = 13; })},
      {"feed_forward.activation", feed_forward([](PositionWiseOptions& o) { o.activation = Activation::gelu; })},
      {"feed_forward.activation gelu_tanh",
       feed_forward([](PositionWiseOptions& o) { o.activation = Activation::gelu_tanh; })},
      {"feed_forward.outer_gain",
       feed_forward([](PositionWiseOptions& o) { o.outer_gain = Scale::Rule::inv_sqrt_dim; })},
      {"feed_forward.dropout", feed_forward([](PositionWiseOptions& o) { o.dropout = 0.3; })},
      {"feed_forward.bias", feed_forward([](PositionWiseOptions& o) { o.bias = false; })},
      {"feed_forward.bias_std", feed_forward([](PositionWiseOptions& o) { o.bias_std = Scale::Rule::inv_sqrt_dim; })},
      {"feed_forward.inner_gain", feed_forward([](PositionWiseOptions& o) { o.inner_gain = 2; })},
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
  CHECK(contains(message([](TransformerOptions& o) { o.decoder_layers = 0; }),
                 "model: decoder_layers must be above 0, or nothing reads what the encoder writes; "));
  CHECK(message([](TransformerOptions& o) { o.encoder_layers = o.decoder_layers = 0; }).empty());
  CHECK(message([](TransformerOptions& o) { o.heads = 3; }) == "model: heads must divide d_model = 16; it is 3");
  CHECK(message([](TransformerOptions& o) { o.heads = 0; }) == "model: heads must be at least 1; got 0");
  CHECK(message([](TransformerOptions& o) { o.dropout = 1; }) == "model: dropout must be in [0, 1); got 1");
  CHECK(message([](TransformerOptions& o) {
          o.d_model = 9;
          o.heads = 3;
        }) == "model.d_model: must be even and at least 2 for sinusoidal positions; got 9");
  CHECK(
      message([](TransformerOptions& o) {
        o.heads = 16;
        o.attention.select("rotary");
      }) ==
      "model.heads: must divide model.d_model = 16 into heads of an even width, of which rotary attention turns pairs; "
      "got 16 of width 1");
  const Scale learned(Scale::Rule::inv_sqrt_dim, 1, true);
  CHECK(message([&](TransformerOptions& o) {
          o.attention = test::attention({learned, true});
        }) == "model.attention: absorb_scale cannot go with a learned scale; set it to false");
  CHECK(message([](TransformerOptions& o) {
          o.attention = test::attention({Scale::Rule::inv_sqrt_dim, true, QueryKeyNorm::l2});
        }) ==
        "model.attention: absorb_scale cannot go with query_key_norm, which would undo it; set one of them to "
        "false");
  CHECK(message([](TransformerOptions& o) { o.embedding.init.std = FixedScale::constant(-1); }) ==
        "model.embedding.init: std must not be negative");
  CHECK(message([&](TransformerOptions& o) {
          o.positions = test::learned_positions({8, learned});
        }) == "model.positions: scale of a learned table cannot be learned as well; remove the word 'learned'");
  CHECK(message([](TransformerOptions& o) { o.feed_forward = test::feed_forward({0}); }) ==
        "model.feed_forward: width must be in [1, 1_000_000]; got 0");
  CHECK(message([](TransformerOptions& o) { o.norm.kind.set<LayerNorm>("layer_norm", {0}); }) ==
        "model.norm: epsilon must be greater than 0; got 0");
}

}  // namespace
}  // namespace surd
