#pragma once

#include "layers/encoder.hpp"

#include <memory>
#include <vector>

namespace surd {

/// What one decoder block keeps between decoding steps: its keys and values of past positions and of the source,
/// each [B, T, ...]; empty before the first position, and where there is no source.
struct BlockCache {
  Tensor self_keys, self_values;  ///< the first `DecoderCache::length` positions; zeros, room for more, behind them
  Tensor source_keys, source_values;
};

/// What a decoder keeps between steps, outside of any tape.
struct DecoderCache {
  std::vector<BlockCache> blocks;
  std::vector<std::size_t> source_lengths;
  std::vector<std::size_t> sources;  ///< which source a row goes on with; empty where there is none
  std::size_t length = 0;            ///< positions seen so far

  /// Keeps these rows, in this order; a row may be repeated (beam search). There must be such rows.
  void select(const std::vector<std::size_t>& rows);
};

/// Self-attention, attention to the source if there is one, feed-forward, each around a shortcut.
class DecoderBlock : public Module {
 public:
  /// `stack` is the scope of all blocks together.
  DecoderBlock(const Scope& scope, const Scope& stack, const BlockArguments& arguments);

  /// x [B, T, d_model], source [B, S, d_model] or absent -> [B, T, d_model]. `mask` is of the self-attention.
  Variable operator()(Variable x, const AttentionMask& mask, Variable source, const AttentionMask& source_mask) const;

  bool takes_ragged_rows() const {
    return self_attention_->takes_ragged_rows() && (!cross_attention_ || cross_attention_->takes_ragged_rows());
  }

  /// The source's part of the cache.
  BlockCache start(Variable source) const;
  /// The next positions, x [B, T, d_model] -> [B, T, d_model]; extends the cache. A tape that does not record is lent
  /// the cache, which must outlive the pass; on one that records, what is in the cache is constant.
  Variable step(Variable x, BlockCache& cache, std::size_t position, const AttentionMask& source_mask) const;

 private:
  template <class SelfAttention, class CrossAttention>
  Variable forward(Variable x, const SelfAttention& self_attention, const CrossAttention& cross_attention) const;

  std::unique_ptr<Attention> self_attention_;
  Residual self_attention_residual_;
  std::unique_ptr<Attention> cross_attention_;  // null where there is no source
  std::unique_ptr<Residual> cross_attention_residual_;
  std::unique_ptr<FeedForward> feed_forward_;
  Residual feed_forward_residual_;
};

/// As Encoder.
class Decoder : public Module {
 public:
  Decoder(const Scope& scope, std::size_t blocks, const BlockArguments& arguments);

  /// x [B, T, d_model], source [B, S, d_model] or absent -> [B, T, d_model]. `mask` is of the self-attention, which is
  /// causal whatever it says.
  Variable operator()(Variable x, AttentionMask mask, Variable source, const AttentionMask& source_mask) const;

  bool takes_ragged_rows() const;  ///< whether all of its attention does

  /// A cache for decoding step by step from an encoded source [B, S, d_model], or from none.
  DecoderCache start(Variable source, const std::vector<std::size_t>& source_lengths) const;
  /// The next positions, x [B, T, d_model] -> [B, T, d_model]: what operator() would give there. The cache must outlive
  /// the pass.
  Variable step(Variable x, DecoderCache& cache) const;

 private:
  std::vector<std::unique_ptr<DecoderBlock>> blocks_;
  std::unique_ptr<Norm> norm_;  // null with NormPlacement::post
};

}  // namespace surd
