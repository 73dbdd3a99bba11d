#pragma once

#include "layers/attention.hpp"
#include "layers/feed_forward.hpp"
#include "layers/residual.hpp"

#include <memory>
#include <vector>

namespace surd {

/// What the blocks of a stack have in common.
struct BlockArguments {
  std::size_t d_model;
  std::size_t heads;
  double dropout;
  const NormPlacementOptions& norm;
  const AttentionChoice& attention;
  const FeedForwardChoice& feed_forward;
  bool attend_to_source = true;  ///< whether a decoder's blocks do

  std::unique_ptr<Attention> make_attention(const Scope& scope, const Scope& stack, AttentionRole role) const {
    return attention.make(scope, AttentionPlace{d_model, heads, role, stack});
  }
};

/// Self-attention and feed-forward, each around a shortcut. Vaswani et al., section 3.1.
class EncoderBlock : public Module {
 public:
  /// `stack` is the scope of all blocks together.
  EncoderBlock(const Scope& scope, const Scope& stack, const BlockArguments& arguments);
  Variable operator()(Variable x, const AttentionMask& mask) const;  ///< [B, S, d_model] -> [B, S, d_model]
  bool takes_ragged_rows() const { return self_attention_->takes_ragged_rows(); }

 private:
  std::unique_ptr<Attention> self_attention_;
  Residual self_attention_residual_;
  std::unique_ptr<FeedForward> feed_forward_;
  Residual feed_forward_residual_;
};

/// A stack of blocks, and a last norm where the blocks normalise before their sub-layers. On a tape that does not
/// record, what a block computed but its result is gone once it has run, see Tape::forget.
class Encoder : public Module {
 public:
  Encoder(const Scope& scope, std::size_t blocks, const BlockArguments& arguments);
  Variable operator()(Variable x, const AttentionMask& mask) const;  ///< [B, S, d_model] -> [B, S, d_model]
  bool takes_ragged_rows() const;                                    ///< whether all of its attention does

 private:
  std::vector<std::unique_ptr<EncoderBlock>> blocks_;
  std::unique_ptr<Norm> norm_;  // null with NormPlacement::post
};

}  // namespace surd
