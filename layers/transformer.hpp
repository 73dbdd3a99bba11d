#pragma once

#include "layers/decoder.hpp"
#include "layers/embedding.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace surd {

/// encoder_decoder: the target attends to the encoded source, as in Vaswani et al. decoder_only: source and target are
/// one sequence, the target behind the source, as in Radford et al. 2018 ("Improving Language Understanding by
/// Generative Pre-Training"); the loss is that of the target alone.
enum class ModelKind { encoder_decoder, decoder_only };
std::vector<std::string> names_of(ModelKind);

struct TransformerOptions {
  ModelKind kind = ModelKind::encoder_decoder;
  std::size_t d_model = 64;
  std::size_t heads = 4;
  std::size_t encoder_layers = 2;
  std::size_t decoder_layers = 2;
  double dropout = 0;
  NormPlacementOptions norm;
  EmbeddingOptions embedding;
  PositionsChoice positions = {surd::positions(), "sinusoidal"};
  AttentionChoice attention = {attentions(), "multi_head"};
  FeedForwardChoice feed_forward = {feed_forwards(), "position_wise"};

  void fields(Fields& f) {
    f("kind", kind,
      "encoder_decoder: the target attends to the encoded source; decoder_only: source and target are one sequence, "
      "with one vocabulary, and the loss is the target's");
    f("d_model", d_model, "width of the embeddings and of every block's input and output", between(1, 65'536));
    f("heads", heads, "attention heads; each has d_k = d_model / heads", at_least(1));
    f("encoder_layers", encoder_layers, "blocks of the encoder", between(0, 1000),
      When{kind == ModelKind::encoder_decoder, "kind is encoder_decoder"});
    f("decoder_layers", decoder_layers, "blocks of the decoder", between(0, 1000));
    f("dropout", dropout, "rate on the embeddings and on each sub-layer's output; Vaswani et al., section 5.4",
      fraction());
    f("norm", norm, "normalisation around the sub-layers");
    f("embedding", embedding, "token embeddings and the output projection");
    f.choice("positions", "kind", positions, "positional encoding");
    f.choice("attention", "name", attention, "attention layer, the same in every block");
    f.choice("feed_forward", "name", feed_forward, "feed-forward layer, the same in every block");
    f.rule(heads == 0 || d_model % heads == 0, "heads", fmt::format("must divide d_model = {}", d_model));
    f.rule(kind == ModelKind::decoder_only || decoder_layers > 0 || encoder_layers == 0, "decoder_layers",
           "must be above 0, or nothing reads what the encoder writes; without both, set encoder_layers: 0 too");
  }
};

/// Encoder and decoder of Vaswani et al. 2017, or a decoder alone, with every factor explicit.
class Transformer : public Module {
 public:
  /// Throws Error for options that contradict each other, e.g. tie = all over two vocabularies of different size.
  Transformer(const Scope& scope, const TransformerOptions& options, std::size_t source_vocabulary,
              std::size_t target_vocabulary);

  bool has_encoder() const { return encoder_.has_value(); }

  /// The last hidden states of targets behind their sources, which a decoder alone need not have (S = 0): source [B, S]
  /// with `source_lengths` positions before the padding (empty: all are), target [B, T] (beginning with bos)
  /// -> [B, T, d_model]. Without sources and without an encoder, a row of targets may hold several documents. Throws
  /// Error for a sequence longer than max_length(), shapes that do not go together, or documents beside a source.
  Variable hidden(Tape& tape, const Tokens& source, const std::vector<std::size_t>& source_lengths,
                  const Tokens& target) const;

  /// The same at the target's positions before its padding, one behind another; nothing is computed for padding. Both
  /// sides have lengths [B], a source 0 where there is none -> [1, N, d_model], N the sum of the target's. Throws Error
  /// unless takes_ragged_rows().
  Variable ragged_hidden(Tape& tape, const Tokens& source, const std::vector<std::size_t>& source_lengths,
                         const Tokens& target, const std::vector<std::size_t>& target_lengths) const;
  /// Whether all of its attention does.
  bool takes_ragged_rows() const {
    return decoder_.takes_ragged_rows() && (!encoder_ || encoder_->takes_ragged_rows());
  }

  /// Its two halves where there is an encoder; they throw Error where there is none, and encode() where S = 0.
  /// source [B, S] -> [B, S, d_model]
  Variable encode(Tape& tape, const Tokens& source, const std::vector<std::size_t>& source_lengths) const;
  /// target [B, T], encoded [B, S, d_model] -> [B, T, d_model]
  Variable decode(const Tokens& target, Variable encoded, const std::vector<std::size_t>& source_lengths) const;

  /// Longest sequence, in positions.
  std::size_t max_length() const { return positions_->max_length(); }
  /// How long a sequence a pair takes: the longer of source and target, each with its bos or eos, or, without an
  /// encoder, both together.
  std::size_t sequence_length(std::size_t source, std::size_t target) const {
    return encoder_ ? std::max(source, target) : source + target;
  }
  /// Longest source, its eos included, that leaves place for a target.
  std::size_t max_source_length() const { return encoder_ ? max_length() : max_length() - 1; }

  Variable logits(Variable hidden) const;  ///< [..., d_model] -> [..., V]
  /// Cross-entropy of those logits: hidden [..., d_model], one target a row -> [1]
  Variable loss(Variable hidden, const std::vector<std::int32_t>& targets,
                const CrossEntropyArguments& arguments) const;

  /// Decoding step by step: start(), then step() with the last token of each row [B] -> the hidden state that hidden()
  /// gives there [B, 1, d_model]. Throws Error, without an encoder, for sources of different lengths, and for a step
  /// beyond max_length().
  DecoderCache start(Tape& tape, const Tokens& source, const std::vector<std::size_t>& source_lengths) const;
  Variable step(Tape& tape, const std::vector<std::int32_t>& last_tokens, DecoderCache& cache) const;

 private:
  Variable embed_source(Tape& tape, const Tokens& source) const;
  Variable embed_target(Tape& tape, const Tokens& target, std::size_t first_position) const;
  const Encoder& encoder() const;
  const TokenEmbedding& source_embedding() const { return source_embedding_ ? *source_embedding_ : *target_embedding_; }

  std::unique_ptr<TokenEmbedding> target_embedding_;
  std::unique_ptr<TokenEmbedding> source_embedding_;  // null where it is the target's, or there is no encoder
  std::unique_ptr<Positions> positions_;
  std::optional<LayerNorm> source_norm_, target_norm_;  // of the embeddings
  Dropout source_dropout_, target_dropout_;
  std::optional<Encoder> encoder_;
  Decoder decoder_;
  OutputProjection output_;
};

}  // namespace surd
