#include "experiments/interop/marian_export.hpp"

#include "data/sentence_piece.hpp"
#include "experiments/interop/marian_config.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace surd::marian {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t positions_where_none = 1024;  ///< MarianConfig's default

/// Our id of the token that has an id there. The two special tokens that change places are each other's.
std::size_t our_row(std::size_t row) {
  if (row == static_cast<std::size_t>(unk)) return Vocabulary::unk;
  if (row == static_cast<std::size_t>(pad)) return Vocabulary::pad;
  return row;
}

/// The rows [V, d] of a vocabulary in the order of the folder's ids, times a factor, then zeros up to `rows`.
Tensor in_their_order(const Tensor& table, double factor, std::size_t rows) {
  Tensor result = zeros({rows, row_length(table)});
  for (std::size_t row = 0; row < row_count(table); ++row)
    for (std::size_t j = 0; j < row_length(table); ++j)
      result(row, j) = static_cast<Real>(static_cast<double>(table(our_row(row), j)) * factor);
  return result;
}

class Export {
 public:
  explicit Export(const OpenRun& run) : run_(run), model_(run.config.model), weights_(run) {}

  std::map<std::string, std::string> files() {
    add_modules();
    add_embeddings();
    if (!has_own_positions(model_))
      for (const auto& [side, name] :
           {std::pair(ModelSide::source, "encoder"), std::pair(ModelSide::target, "decoder")})
        tensors_[fmt::format("model.{}.embed_positions.weight", name)] = weights_.positions(side, max_length());
    std::map<std::string, std::string> files = tokenizer_files();
    files["model.safetensors"] = encode_tensors(tensors_);
    files["config.json"] = config().dump(2) + "\n";
    files["generation_config.json"] = generation_config().dump(2) + "\n";
    return files;
  }

 private:
  const Tensor& parameter(const std::string& name) const { return weights_.parameter(name); }
  std::size_t source_size() const { return run_.codec.source_vocabulary().size(); }
  std::size_t target_size() const { return run_.codec.target_vocabulary().size(); }
  /// Both tables have as many rows: MarianModel makes one out of the other.
  std::size_t rows() const { return std::max(source_size(), target_size()); }
  bool shared() const { return model_.embedding.tie == Tie::all; }
  bool separate_vocabularies() const { return run_.codec.source_vocabulary() != run_.codec.target_vocabulary(); }

  void add_modules() {
    const MultiHeadOptions& attention = *plain_attention(model_);
    const std::size_t width = model_.d_model / model_.heads;
    const auto ends_in = [](const std::string& path, const std::string& end) {
      return path.size() > end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
    };
    for (const auto& [ours, theirs] : modules(model_.encoder_layers, model_.decoder_layers)) {
      Tensor weight = parameter(ours + ".weight");
      Tensor bias = weights_.bias(ours, weight.shape()[0]);
      if (ends_in(ours, "_attention.query")) {
        const double more = weights_.query_factor(ours.substr(0, ours.rfind('.')), attention);
        weight = scaled(std::move(weight), more);
        bias = scaled(std::move(bias), more);
      }
      if (ends_in(ours, "_attention.key") || ends_in(ours, "_attention.value")) {
        const std::size_t share = model_.d_model / weight.shape()[0];
        weight = repeated_heads(weight, width, share);
        bias = repeated_heads(bias, width, share);
      }
      tensors_[theirs + ".weight"] = std::move(weight);
      tensors_[theirs + ".bias"] = std::move(bias);
    }
  }

  void add_embeddings() {
    const EmbeddingOptions& options = model_.embedding;
    const double root = std::sqrt(static_cast<double>(model_.d_model));
    scale_embedding_ = !options.scale.learned() && options.scale.value(model_.d_model) == root;
    const auto in_table = [&](const char* path) {
      return scale_embedding_ ? 1 : weights_.factor(path, options.scale, model_.d_model);
    };
    const double on_target = in_table("target_embedding");
    const double on_logits = weights_.factor("output", options.logit_scale, model_.d_model);
    if (options.tie != Tie::none) expect_undone(run_, on_target);
    const Tensor target = in_their_order(parameter("target_embedding.weight"), on_target, rows());
    if (shared()) {
      tensors_["model.shared.weight"] = target;
    } else {
      tensors_["model.encoder.embed_tokens.weight"] =
          in_their_order(parameter("source_embedding.weight"), in_table("source_embedding"), rows());
      tensors_["model.decoder.embed_tokens.weight"] = target;
    }
    if (options.tie == Tie::none) {
      tensors_["lm_head.weight"] = in_their_order(parameter("output.weight"), on_logits, rows());
    } else {
      if (!shared()) tensors_["lm_head.weight"] = target;
      // Nothing but the logits reads what this norm gives.
      const std::string norm = fmt::format("model.decoder.layers.{}.final_layer_norm.", model_.decoder_layers - 1);
      if (on_logits != on_target)
        for (const char* name : {"weight", "bias"})
          tensors_[norm + name] = scaled(std::move(tensors_[norm + name]), on_logits / on_target);
    }
    Tensor bias = zeros({1, rows()});
    for (std::size_t row = 0; row < rows(); ++row) {
      if (row >= target_size())
        bias(0, row) = never;
      else if (options.output_bias)
        bias(0, row) = parameter("output.bias")(our_row(row));
    }
    tensors_["final_logits_bias"] = std::move(bias);
  }

  std::size_t max_length() const { return weights_.max_length(positions_where_none); }

  Json config() const {
    const auto& feed_forward = *model_.feed_forward.options_of<PositionWiseFeedForward>();
    Json json{{"architectures", {"MarianMTModel"}},
              {"model_type", "marian"},
              {"is_encoder_decoder", true},
              {"vocab_size", rows()},
              {"decoder_vocab_size", rows()},
              {"d_model", model_.d_model},
              {"encoder_layers", model_.encoder_layers},
              {"decoder_layers", model_.decoder_layers},
              {"num_hidden_layers", model_.encoder_layers}};
    for (const char* stack : {"encoder", "decoder"}) {
      json[fmt::format("{}_attention_heads", stack)] = model_.heads;
      json[fmt::format("{}_ffn_dim", stack)] = feed_forward.width;
      json[fmt::format("{}_layerdrop", stack)] = 0.0;
    }
    json.update(Json{{"activation_function", activation_name(feed_forward.activation)},
                     {"dropout", model_.dropout},
                     {"attention_dropout", plain_attention(model_)->dropout},
                     {"activation_dropout", feed_forward.dropout},
                     {"scale_embedding", scale_embedding_},
                     {"static_position_embeddings", true},
                     {"max_position_embeddings", max_length()},
                     {"share_encoder_decoder_embeddings", shared()},
                     {"tie_word_embeddings", model_.embedding.tie != Tie::none},
                     {"pad_token_id", pad},
                     {"bos_token_id", bos},
                     {"eos_token_id", eos},
                     {"decoder_start_token_id", bos},
                     {"forced_eos_token_id", eos},
                     {"torch_dtype", real_name()},
                     {"surd", origin_of(run_)}});
    return json;
  }

  Json generation_config() const {
    return {{"bos_token_id", bos},        {"decoder_start_token_id", bos}, {"eos_token_id", eos},
            {"forced_eos_token_id", eos}, {"pad_token_id", pad},           {"bad_words_ids", {{bos}, {pad}}},
            {"max_length", max_length()}};
  }

  static std::string vocabulary_json(const Vocabulary& vocabulary) {
    Json ids = Json::object();
    for (std::size_t row = 0; row < vocabulary.size(); ++row)
      ids[vocabulary.token(static_cast<TokenId>(our_row(row)))] = row;
    return ids.dump(1) + "\n";
  }

  std::map<std::string, std::string> tokenizer_files() const {
    std::map<std::string, std::string> files{{"vocab.json", vocabulary_json(run_.codec.source_vocabulary())}};
    if (separate_vocabularies()) files["target_vocab.json"] = vocabulary_json(run_.codec.target_vocabulary());
    const auto tokenizer = run_.config.task.make()->format().subwords.make();
    if (dynamic_cast<const SentencePieces*>(tokenizer.get()) == nullptr) return files;
    const auto learned = run_.codec.files();
    files["source.spm"] = learned.at("source.model");
    files["target.spm"] = learned.at("target.model");
    files["tokenizer_config.json"] = Json{{"tokenizer_class", "MarianTokenizer"},
                                          {"separate_vocabs", separate_vocabularies()},
                                          {"model_max_length", max_length()},
                                          {"unk_token", "<unk>"},
                                          {"bos_token", "<s>"},
                                          {"eos_token", "</s>"},
                                          {"pad_token", "<pad>"}}
                                         .dump(2) +
                                     "\n";
    return files;
  }

  const OpenRun& run_;
  const TransformerOptions& model_;
  RunWeights weights_;
  std::map<std::string, Tensor> tensors_;  // as they are there
  bool scale_embedding_ = false;
};

}  // namespace

std::map<std::string, std::string> export_model(const OpenRun& run) {
  expect_alike(run, "Marian", differences(run.config.model));
  return Export(run).files();
}

}  // namespace surd::marian
