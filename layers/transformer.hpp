#pragma once

#include "layers/decoder.hpp"
#include "layers/embedding.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace surd {

struct TransformerOptions {
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
    f("d_model", d_model, "width of the embeddings and of every block's input and output", between(1, 65'536));
    f("heads", heads, "attention heads; each has d_k = d_model / heads", at_least(1));
    f("encoder_layers", encoder_layers, "blocks of the encoder", between(0, 1000));
    f("decoder_layers", decoder_layers, "blocks of the decoder", between(0, 1000));
    f("dropout", dropout, "rate on the embeddings and on each sub-layer's output; Vaswani et al., section 5.4",
      fraction());
    f("norm", norm, "normalisation around the sub-layers");
    f("embedding", embedding, "token embeddings and the output projection");
    f.choice("positions", "kind", positions, "positional encoding");
    f.choice("attention", "name", attention, "attention layer, the same in every block");
    f.choice("feed_forward", "name", feed_forward, "feed-forward layer, the same in every block");
    f.rule(heads == 0 || d_model % heads == 0, "heads", fmt::format("must divide d_model = {}", d_model));
  }
};

/// Encoder and decoder of Vaswani et al. 2017 with every factor explicit.
class Transformer : public Module {
 public:
  /// Throws Error for options that contradict each other, e.g. tie = all over two vocabularies of different size.
  Transformer(const Scope& scope, const TransformerOptions& options, std::size_t source_vocabulary,
              std::size_t target_vocabulary);

  /// source [B, S] with `source_lengths` positions before the padding -> [B, S, d_model]
  Variable encode(Tape& tape, const Tokens& source, const std::vector<std::size_t>& source_lengths) const;

  /// The last hidden states: target [B, T] (beginning with bos), encoded [B, S, d_model] -> [B, T, d_model]
  Variable decode(const Tokens& target, Variable encoded, const std::vector<std::size_t>& source_lengths) const;

  /// Longest source or target, in positions.
  std::size_t max_length() const { return positions_->max_length(); }

  Variable logits(Variable hidden) const;  ///< [..., d_model] -> [..., V]
  /// Cross-entropy of those logits: hidden [..., d_model], one target a row -> [1]
  Variable loss(Variable hidden, const std::vector<std::int32_t>& targets,
                const CrossEntropyArguments& arguments) const;

  /// Decoding step by step: start() after encode(), then step() with the last token of each row [B] -> the hidden state
  /// decode() would give there [B, 1, d_model].
  DecoderCache start(Variable encoded, const std::vector<std::size_t>& source_lengths) const;
  Variable step(Tape& tape, const std::vector<std::int32_t>& last_tokens, DecoderCache& cache) const;

 private:
  Variable embed_source(Tape& tape, const Tokens& source) const;
  Variable embed_target(Tape& tape, const Tokens& target, std::size_t first_position) const;
  const TokenEmbedding& source_embedding() const { return source_embedding_ ? *source_embedding_ : *target_embedding_; }

  std::unique_ptr<TokenEmbedding> target_embedding_;
  std::unique_ptr<TokenEmbedding> source_embedding_;  // null where it is the target's
  std::unique_ptr<Positions> positions_;
  std::optional<LayerNorm> source_norm_, target_norm_;  // of the embeddings
  Dropout source_dropout_, target_dropout_;
  Encoder encoder_;
  Decoder decoder_;
  OutputProjection output_;
};

}  // namespace surd
