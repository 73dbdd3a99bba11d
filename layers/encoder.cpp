#include "layers/encoder.hpp"

namespace surd {

std::vector<std::string> names_of(NormPlacement) { return {"pre", "post"}; }

EncoderBlock::EncoderBlock(const Scope& scope, const BlockOptions& options)
    : Module(scope),
      self_attention_(options.attention.make(scope / "self_attention", options.d_model, options.heads)),
      self_attention_residual_(scope / "self_attention_residual", options.d_model, options.norm, options.dropout),
      feed_forward_(options.feed_forward.make(scope / "feed_forward", options.d_model)),
      feed_forward_residual_(scope / "feed_forward_residual", options.d_model, options.norm, options.dropout) {}

Variable EncoderBlock::operator()(Variable x, const AttentionMask& mask) const {
  x = self_attention_residual_(x, [&](Variable y) { return (*self_attention_)(y, y, mask); });
  return feed_forward_residual_(x, [&](Variable y) { return (*feed_forward_)(y); });
}

Encoder::Encoder(const Scope& scope, std::size_t blocks, const BlockOptions& options) : Module(scope) {
  for (std::size_t i = 0; i < blocks; ++i) blocks_.push_back(std::make_unique<EncoderBlock>(scope / i, options));
  if (options.norm.placement == NormPlacement::pre) norm_ = options.norm.kind.make(scope / "norm", options.d_model);
}

Variable Encoder::operator()(Variable x, const AttentionMask& mask) const {
  for (const auto& block : blocks_) x = (*block)(x, mask);
  return norm_ ? (*norm_)(x) : x;
}

}  // namespace surd
