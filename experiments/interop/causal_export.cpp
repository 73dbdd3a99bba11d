#include "experiments/interop/causal_export.hpp"

#include "experiments/interop/transformers_folder.hpp"
#include "layers/gated.hpp"
#include "layers/rotary.hpp"

#include <algorithm>
#include <utility>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

Tensor transposed(const Tensor& matrix) {
  Tensor result(Shape{matrix.shape()[1], matrix.shape()[0]});
  for (std::size_t i = 0; i < matrix.shape()[0]; ++i)
    for (std::size_t j = 0; j < matrix.shape()[1]; ++j) result(j, i) = matrix(i, j);
  return result;
}

/// Matrices with as many columns, or vectors, below each other.
Tensor stacked(const std::vector<Tensor>& parts) {
  Shape shape = parts.front().shape();
  shape[0] = 0;
  for (const Tensor& part : parts) shape[0] += part.shape()[0];
  Tensor result(shape);
  Real* to = result.data();
  for (const Tensor& part : parts) to = std::copy_n(part.data(), part.size(), to);
  return result;
}

/// Surd turns neighbouring columns 2i and 2i + 1 of a head together, Llama i and i + d_k / 2: the rows [count d_k, ...]
/// of a projection in that order.
Tensor in_halves(const Tensor& rows, std::size_t d_k) {
  Tensor result(rows.shape());
  const std::size_t count = rows.shape()[0], row = rows.size() / count;
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t head = r / d_k * d_k, column = r % d_k;
    const std::size_t there = head + column / 2 + (column % 2) * (d_k / 2);
    std::copy_n(rows.data() + r * row, row, result.data() + there * row);
  }
  return result;
}

/// What both architectures share.
class CausalExport {
 public:
  explicit CausalExport(const OpenRun& run) : run_(run), model_(run.config.model), weights_(run) {}
  virtual ~CausalExport() = default;
  CausalExport(const CausalExport&) = delete;
  CausalExport& operator=(const CausalExport&) = delete;

  std::map<std::string, std::string> files() {
    expect_alike(run_, architecture(), differences());
    add_embeddings();
    for (std::size_t i = 0; i < model_.decoder_layers; ++i) add_block(i);
    Json config = this->config();
    config.update(Json{{"vocab_size", vocabulary_size()},
                       {"tie_word_embeddings", tied()},
                       {"pad_token_id", Vocabulary::pad},
                       {"bos_token_id", Vocabulary::bos},
                       {"eos_token_id", Vocabulary::eos},
                       {"torch_dtype", real_name()},
                       {"surd", origin_of(run_)}});
    return {{"model.safetensors", encode_tensors(tensors_)},
            {"config.json", config.dump(2) + "\n"},
            {"generation_config.json", generation_config().dump(2) + "\n"},
            {"vocab.json", vocabulary_json()}};
  }

 protected:
  virtual std::string architecture() const = 0;
  virtual void require(Differences& found) const = 0;
  virtual Json config() const = 0;
  virtual void add_block(std::size_t i) = 0;
  /// The names there of the table of tokens, the table of positions ("": there is none), and the last norm.
  virtual std::string table_name() const = 0;
  virtual std::string positions_name() const { return ""; }
  virtual std::string last_norm_name() const = 0;
  virtual std::size_t max_length() const = 0;

  bool tied() const { return model_.embedding.tie != Tie::none; }
  std::size_t vocabulary_size() const { return run_.codec.target_vocabulary().size(); }
  std::size_t head_width() const { return model_.d_model / model_.heads; }
  const Tensor& weight(const std::string& module) const { return weights_.parameter(module + ".weight"); }

  const OpenRun& run_;
  const TransformerOptions& model_;
  RunWeights weights_;
  std::map<std::string, Tensor> tensors_;  // as they are there

 private:
  std::vector<std::string> differences() const {
    Differences found;
    found.require(model_.kind == ModelKind::decoder_only, "kind", name_of(model_.kind), "there it is decoder_only");
    found.require(model_.norm.placement == NormPlacement::pre, "norm.placement", name_of(model_.norm.placement),
                  "there it is pre");
    found.require(!model_.embedding.norm, "embedding.norm", "true", "there is none");
    found.require(!model_.embedding.output_bias, "embedding.output_bias", "true", "there is none");
    require_plain_logits(found, model_.embedding);
    require(found);
    return found.lines();
  }

  void add_embeddings() {
    const EmbeddingOptions& options = model_.embedding;
    const double on_tokens = weights_.factor("target_embedding", options.scale, model_.d_model);
    const double on_logits = weights_.factor("output", options.logit_scale, model_.d_model);
    if (tied()) expect_undone(run_, on_tokens);
    tensors_[table_name()] = scaled(weight("target_embedding"), on_tokens);
    if (!tied()) tensors_["lm_head.weight"] = scaled(weight("output"), on_logits);
    // Nothing but the logits reads what this norm gives.
    const double on_last_norm = tied() ? on_logits / on_tokens : 1;
    for (const char* name : {"weight", "bias"})
      if (const Tensor* own = weights_.find(std::string("decoder.norm.") + name))
        tensors_[last_norm_name() + "." + name] = scaled(*own, on_last_norm);
    if (!positions_name().empty()) tensors_[positions_name()] = weights_.positions(ModelSide::joined, max_length());
  }

  Json generation_config() const {
    return {{"bos_token_id", Vocabulary::bos},
            {"eos_token_id", Vocabulary::eos},
            {"pad_token_id", Vocabulary::pad},
            {"suppress_tokens", {Vocabulary::pad, Vocabulary::bos, Vocabulary::unk}},
            {"max_length", max_length()}};
  }

  std::string vocabulary_json() const {
    Json ids = Json::object();
    for (std::size_t id = 0; id < vocabulary_size(); ++id)
      ids[run_.codec.target_vocabulary().token(static_cast<TokenId>(id))] = id;
    return ids.dump(1) + "\n";
  }
};

class Gpt2Export : public CausalExport {
 public:
  using CausalExport::CausalExport;

 private:
  std::string architecture() const override { return "GPT-2"; }
  std::string table_name() const override { return "transformer.wte.weight"; }
  std::string positions_name() const override { return "transformer.wpe.weight"; }
  std::string last_norm_name() const override { return "transformer.ln_f"; }
  std::size_t max_length() const override { return weights_.max_length(1024); }  // GPT2Config's default

  const LayerNormOptions* norm() const { return model_.norm.kind.options_of<LayerNorm>(); }
  const PositionWiseOptions* feed_forward() const { return model_.feed_forward.options_of<PositionWiseFeedForward>(); }

  void require(Differences& found) const override { require_plain_layers(found, model_); }

  Json config() const override {
    return {{"architectures", {"GPT2LMHeadModel"}},
            {"model_type", "gpt2"},
            {"n_embd", model_.d_model},
            {"n_head", model_.heads},
            {"n_layer", model_.decoder_layers},
            {"n_inner", feed_forward()->width},
            {"n_positions", max_length()},
            {"activation_function", activation_name(feed_forward()->activation)},
            {"layer_norm_epsilon", norm()->epsilon},
            {"embd_pdrop", model_.dropout},
            {"resid_pdrop", model_.dropout},
            {"attn_pdrop", plain_attention(model_)->dropout}};
  }

  /// There a map's matrix is [in, out].
  void add_map(const std::string& name, const Tensor& weight, Tensor bias) {
    tensors_[name + ".weight"] = transposed(weight);
    tensors_[name + ".bias"] = std::move(bias);
  }
  void add_map(const std::string& name, const std::string& module) {
    add_map(name, weight(module), weights_.bias(module, weight(module).shape()[0]));
  }

  void add_block(std::size_t i) override {
    const std::string ours = fmt::format("decoder.{}", i), theirs = fmt::format("transformer.h.{}", i);
    const std::string attention = ours + ".self_attention";
    std::vector<Tensor> matrices, biases;
    for (const char* name : {"query", "key", "value"}) {
      const std::string module = fmt::format("{}.{}", attention, name);
      const Tensor& own = weight(module);
      const std::size_t share = model_.d_model / own.shape()[0];
      const double more = name == std::string("query") ? weights_.query_factor(attention, *plain_attention(model_)) : 1;
      matrices.push_back(repeated_heads(scaled(own, more), head_width(), share));
      biases.push_back(repeated_heads(scaled(weights_.bias(module, own.shape()[0]), more), head_width(), share));
    }
    add_map(theirs + ".attn.c_attn", stacked(matrices), stacked(biases));
    add_map(theirs + ".attn.c_proj", attention + ".output");
    add_map(theirs + ".mlp.c_fc", ours + ".feed_forward.inner");
    add_map(theirs + ".mlp.c_proj", ours + ".feed_forward.outer");
    for (const auto& [residual, name] : {std::pair("self_attention", "ln_1"), std::pair("feed_forward", "ln_2")})
      for (const char* part : {"weight", "bias"})
        tensors_[fmt::format("{}.{}.{}", theirs, name, part)] =
            weights_.parameter(fmt::format("{}.{}_residual.norm.{}", ours, residual, part));
  }
};

class LlamaExport : public CausalExport {
 public:
  using CausalExport::CausalExport;

 private:
  std::string architecture() const override { return "Llama"; }
  std::string table_name() const override { return "model.embed_tokens.weight"; }
  std::string last_norm_name() const override { return "model.norm"; }
  std::size_t max_length() const override { return weights_.max_length(2048); }  // LlamaConfig's default

  const NormOptions* norm() const { return model_.norm.kind.options_of<RMSNorm>(); }
  const RotaryOptions* attention() const { return model_.attention.options_of<RotaryAttention>(); }
  const GatedOptions* feed_forward() const { return model_.feed_forward.options_of<GatedFeedForward>(); }
  bool attention_bias() const { return attention()->bias.any(); }

  void require(Differences& found) const override {
    found.require(norm() != nullptr, "norm.kind", model_.norm.kind.name(), "there it is rms_norm");
    found.require(model_.positions.name() == "none", "positions.kind", model_.positions.name(), "there it is none");
    found.require(attention() != nullptr, "attention.name", model_.attention.name(), "there it is rotary");
    if (attention() != nullptr) require_plain_scores(found, *attention());
    found.require(feed_forward() != nullptr, "feed_forward.name", model_.feed_forward.name(), "there it is gated");
  }

  Json config() const override {
    return {{"architectures", {"LlamaForCausalLM"}},
            {"model_type", "llama"},
            {"hidden_size", model_.d_model},
            {"intermediate_size", feed_forward()->width},
            {"num_hidden_layers", model_.decoder_layers},
            {"num_attention_heads", model_.heads},
            {"num_key_value_heads", attention()->key_value_heads.value_or(model_.heads)},
            {"hidden_act", activation_name(feed_forward()->activation)},
            {"max_position_embeddings", max_length()},
            {"rms_norm_eps", norm()->epsilon},
            {"rope_theta", attention()->base},
            {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", attention()->base}}},
            {"attention_bias", attention_bias()},
            {"attention_dropout", attention()->dropout},
            {"mlp_bias", feed_forward()->bias}};
  }

  void add_map(const std::string& name, const std::string& module, bool bias) {
    tensors_[name + ".weight"] = weight(module);
    if (bias) tensors_[name + ".bias"] = weights_.bias(module, weight(module).shape()[0]);
  }

  void add_block(std::size_t i) override {
    const std::string ours = fmt::format("decoder.{}", i), theirs = fmt::format("model.layers.{}", i);
    const std::string own = ours + ".self_attention.", other = theirs + ".self_attn.";
    for (const auto& [name, projection] : {std::pair("query", "q_proj"), std::pair("key", "k_proj"),
                                           std::pair("value", "v_proj"), std::pair("output", "o_proj")})
      add_map(other + projection, own + name, attention_bias());
    const double more = weights_.query_factor(ours + ".self_attention", *attention());
    for (const char* part : {"weight", "bias"}) {
      if (tensors_.count(other + "q_proj." + part) == 0) continue;
      Tensor& queries = tensors_[other + "q_proj." + part];
      Tensor& keys = tensors_[other + "k_proj." + part];
      queries = in_halves(scaled(queries, more), head_width());
      keys = in_halves(keys, head_width());
    }
    for (const auto& [name, projection] :
         {std::pair("gate", "gate_proj"), std::pair("inner", "up_proj"), std::pair("outer", "down_proj")})
      add_map(fmt::format("{}.mlp.{}", theirs, projection), fmt::format("{}.feed_forward.{}", ours, name),
              feed_forward()->bias);
    tensors_[theirs + ".input_layernorm.weight"] = weight(ours + ".self_attention_residual.norm");
    tensors_[theirs + ".post_attention_layernorm.weight"] = weight(ours + ".feed_forward_residual.norm");
  }
};

}  // namespace

std::map<std::string, std::string> export_gpt2(const OpenRun& run) { return Gpt2Export(run).files(); }
std::map<std::string, std::string> export_llama(const OpenRun& run) { return LlamaExport(run).files(); }

}  // namespace surd
