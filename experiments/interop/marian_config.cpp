#include "experiments/interop/marian_config.hpp"

#include <cmath>

namespace surd::marian {
namespace {

using Names = std::vector<std::pair<std::string, std::string>>;

void add_attention(Names& names, const std::string& ours, const std::string& theirs) {
  for (const auto& [projection, name] : {std::pair("query", "q_proj"), std::pair("key", "k_proj"),
                                         std::pair("value", "v_proj"), std::pair("output", "out_proj")})
    names.emplace_back(ours + "." + projection, theirs + "." + name);
  names.emplace_back(ours + "_residual.norm", theirs + "_layer_norm");
}

void add_feed_forward(Names& names, const std::string& ours, const std::string& theirs) {
  names.emplace_back(ours + ".feed_forward.inner", theirs + ".fc1");
  names.emplace_back(ours + ".feed_forward.outer", theirs + ".fc2");
  names.emplace_back(ours + ".feed_forward_residual.norm", theirs + ".final_layer_norm");
}

}  // namespace

std::vector<std::string> differences(const TransformerOptions& model) {
  Differences found;
  found.require(model.norm.placement == NormPlacement::post, "norm.placement", name_of(model.norm.placement),
                "there it is post");
  found.require(model.kind == ModelKind::encoder_decoder, "kind", name_of(model.kind), "there it is encoder_decoder");
  require_plain_layers(found, model);
  if (const auto* norm = model.norm.kind.options_of<LayerNorm>())
    found.require(norm->epsilon == norm_epsilon, "norm.epsilon", fmt::format("{}", norm->epsilon), "there it is 1e-5");
  found.require(!model.embedding.norm, "embedding.norm", "true", "there is none");
  require_plain_logits(found, model.embedding);
  const Scale& on_logits = model.embedding.logit_scale;
  const Scale& on_embedding = model.embedding.scale;
  const double root = std::sqrt(static_cast<double>(model.d_model));
  const bool has_own =
      !on_embedding.learned() && (on_embedding.value(model.d_model) == 1 || on_embedding.value(model.d_model) == root);
  const bool factors = on_logits.learned() || on_logits.value(model.d_model) != 1 || !has_own;
  found.require(model.decoder_layers > 0 || model.embedding.tie == Tie::none || !factors, "decoder_layers", "0",
                "a factor on tied embeddings or logits is folded into the decoder's last norm");
  return found.lines();
}

bool has_own_positions(const TransformerOptions& model) {
  const auto* positions = model.positions.options_of<SinusoidalPositions>();
  return positions != nullptr && positions->layout == SinusoidLayout::sin_then_cos &&
         positions->denominator == SinusoidDenominator::half_dim && positions->offset == 0 && !positions->centred &&
         !positions->scale.learned() && positions->scale.value(model.d_model) == 1;
}

Names modules(std::size_t encoder_layers, std::size_t decoder_layers) {
  Names names;
  for (std::size_t i = 0; i < encoder_layers; ++i) {
    const std::string ours = fmt::format("encoder.{}", i), theirs = fmt::format("model.encoder.layers.{}", i);
    add_attention(names, ours + ".self_attention", theirs + ".self_attn");
    add_feed_forward(names, ours, theirs);
  }
  for (std::size_t i = 0; i < decoder_layers; ++i) {
    const std::string ours = fmt::format("decoder.{}", i), theirs = fmt::format("model.decoder.layers.{}", i);
    add_attention(names, ours + ".self_attention", theirs + ".self_attn");
    add_attention(names, ours + ".cross_attention", theirs + ".encoder_attn");
    add_feed_forward(names, ours, theirs);
  }
  return names;
}

}  // namespace surd::marian
