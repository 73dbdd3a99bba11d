#include "experiments/interop/marian_config.hpp"

#include "layers/multi_query.hpp"

#include <algorithm>
#include <cmath>

namespace surd::marian {
namespace {

/// The names of ACT2FN in transformers' activations.py.
const std::pair<Activation, const char*> activations[] = {
    {Activation::none, "linear"}, {Activation::relu, "relu"}, {Activation::gelu, "gelu"},
    {Activation::tanh, "tanh"},   {Activation::silu, "silu"}, {Activation::sigmoid, "sigmoid"}};

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
  std::vector<std::string> found;
  const auto require = [&](bool holds, const std::string& key, const std::string& value, const char* there) {
    if (!holds) found.push_back(fmt::format("model.{}: {} ({})", key, value, there));
  };
  require(model.norm.placement == NormPlacement::post, "norm.placement", name_of(model.norm.placement),
          "there it is post");
  require(model.kind == ModelKind::encoder_decoder, "kind", name_of(model.kind), "there it is encoder_decoder");
  const auto* norm = model.norm.kind.options_of<LayerNorm>();
  require(norm != nullptr, "norm.kind", model.norm.kind.name(), "there it is layer_norm");
  if (norm != nullptr)
    require(norm->epsilon == norm_epsilon, "norm.epsilon", fmt::format("{}", norm->epsilon), "there it is 1e-5");
  require(!model.embedding.norm, "embedding.norm", "true", "there is none");
  const MultiHeadOptions* attention = attention_options(model);
  require(attention != nullptr, "attention.name", model.attention.name(), "there it is multi_head");
  if (attention != nullptr)
    require(attention->query_key_norm == QueryKeyNorm::none, "attention.query_key_norm",
            name_of(attention->query_key_norm), "there is none");
  const auto* feed_forward = model.feed_forward.options_of<PositionWiseFeedForward>();
  require(feed_forward != nullptr, "feed_forward.name", model.feed_forward.name(), "there it is position_wise");
  const Scale& on_logits = model.embedding.logit_scale;
  const Scale& on_embedding = model.embedding.scale;
  const double root = std::sqrt(static_cast<double>(model.d_model));
  const bool has_own =
      !on_embedding.learned() && (on_embedding.value(model.d_model) == 1 || on_embedding.value(model.d_model) == root);
  const bool factors = on_logits.learned() || on_logits.value(model.d_model) != 1 || !has_own;
  require(model.decoder_layers > 0 || model.embedding.tie == Tie::none || !factors, "decoder_layers", "0",
          "a factor on tied embeddings or logits is folded into the decoder's last norm");
  return found;
}

const MultiHeadOptions* attention_options(const TransformerOptions& model) {
  if (const auto* own = model.attention.options_of<MultiHeadAttention>()) return own;
  return model.attention.options_of<MultiQueryAttention>();
}

bool has_own_positions(const TransformerOptions& model) {
  const auto* positions = model.positions.options_of<SinusoidalPositions>();
  return positions != nullptr && positions->layout == SinusoidLayout::sin_then_cos &&
         positions->denominator == SinusoidDenominator::half_dim && positions->offset == 0 && !positions->centred &&
         !positions->scale.learned() && positions->scale.value(model.d_model) == 1;
}

std::string activation_name(Activation activation) {
  return std::find_if(std::begin(activations), std::end(activations),
                      [&](const auto& entry) { return entry.first == activation; })
      ->second;
}

Activation activation_of(const std::string& name, const std::string& where) {
  const std::string known = name == "swish" ? "silu" : name;
  const auto* found = std::find_if(std::begin(activations), std::end(activations),
                                   [&](const auto& entry) { return entry.second == known; });
  std::vector<std::string> names;
  for (const auto& entry : activations) names.emplace_back(entry.second);
  expect(found != std::end(activations), where, "'activation_function' is {}; surd has {}", name,
         fmt::join(names, ", "));
  return found->first;
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
