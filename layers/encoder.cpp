#include "layers/encoder.hpp"

#include <algorithm>

namespace surd {

EncoderBlock::EncoderBlock(const Scope& scope, const Scope& stack, const BlockArguments& arguments)
    : Module(scope),
      self_attention_(arguments.make_attention(scope / "self_attention", stack, AttentionRole::encoder_self)),
      self_attention_residual_(scope / "self_attention_residual", arguments.d_model, arguments.norm, arguments.dropout),
      feed_forward_(arguments.feed_forward.make(scope / "feed_forward", arguments.d_model)),
      feed_forward_residual_(scope / "feed_forward_residual", arguments.d_model, arguments.norm, arguments.dropout) {}

Variable EncoderBlock::operator()(Variable x, const AttentionMask& mask) const {
  x = self_attention_residual_(x, [&](Variable y) { return (*self_attention_)(y, y, mask); });
  return feed_forward_residual_(x, [&](Variable y) { return (*feed_forward_)(y); });
}

Encoder::Encoder(const Scope& scope, std::size_t blocks, const BlockArguments& arguments) : Module(scope) {
  const Scope stack = scope.among_sub_layers(2 * blocks);
  for (std::size_t i = 0; i < blocks; ++i)
    blocks_.push_back(std::make_unique<EncoderBlock>(stack / i, stack, arguments));
  if (arguments.norm.placement == NormPlacement::pre)
    norm_ = arguments.norm.kind.make(scope / "norm", arguments.d_model);
}

Variable Encoder::operator()(Variable x, const AttentionMask& mask) const {
  const std::size_t begin = x.tape().size();
  for (const auto& block : blocks_) {
    x = (*block)(x, mask);
    x.tape().forget(begin, x);
  }
  return norm_ ? (*norm_)(x) : x;
}

bool Encoder::takes_ragged_rows() const {
  return std::all_of(blocks_.begin(), blocks_.end(), [](const auto& block) { return block->takes_ragged_rows(); });
}

}  // namespace surd
