#include "layers/decoder.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace surd {
namespace {

Tensor rows_of(const Tensor& tensor, const std::vector<std::size_t>& rows) {
  Shape shape = tensor.shape();
  const std::size_t count = shape[0], row = count == 0 ? 0 : tensor.size() / count;
  shape[0] = rows.size();
  Tensor selected(shape);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    expect(rows[i] < count, "DecoderCache", "cannot select row {} of {}", rows[i], count);
    std::copy_n(tensor.data() + rows[i] * row, row, selected.data() + i * row);
  }
  return selected;
}

std::vector<std::size_t> rows_of(const std::vector<std::size_t>& of_rows, const std::vector<std::size_t>& rows) {
  std::vector<std::size_t> selected;
  for (const std::size_t row : rows) {
    expect(row < of_rows.size(), "DecoderCache", "cannot select row {} of {}", row, of_rows.size());
    selected.push_back(of_rows[row]);
  }
  return selected;
}

/// Elements of one position in [B, T, ...].
std::size_t position_size(const Tensor& tensor) {
  std::size_t size = 1;
  for (std::size_t axis = 2; axis < tensor.dimension(); ++axis) size *= tensor.shape()[axis];
  return size;
}

/// The first `count` positions of [B, T, ...], then zeros up to `room` positions.
Tensor first_positions(const Tensor& tensor, std::size_t count, std::size_t room) {
  Shape shape = tensor.shape();
  shape[1] = room;
  Tensor result = zeros(shape);
  const std::size_t size = position_size(tensor);
  for (std::size_t b = 0; b < shape[0]; ++b)
    std::copy_n(tensor.data() + b * tensor.shape()[1] * size, count * size, result.data() + b * room * size);
  return result;
}

/// Writes positions [B, T, ...] behind the first `length` of the cache. Its room doubles, so that a step copies no past
/// position on average more than once.
void append(Tensor& cache, std::size_t length, const Tensor& positions) {
  const std::size_t count = positions.shape()[1], room = std::max<std::size_t>(2 * (length + count), 16);
  if (length == 0)
    cache = first_positions(positions, 0, room);
  else if (length + count > cache.shape()[1])
    cache = first_positions(cache, length, room);
  const std::size_t size = position_size(cache), row = cache.shape()[1] * size;
  for (std::size_t b = 0; b < cache.shape()[0]; ++b)
    std::copy_n(positions.data() + b * count * size, count * size, cache.data() + b * row + length * size);
}

}  // namespace

void DecoderCache::select(const std::vector<std::size_t>& rows) {
  const auto select_of = [&](Tensor& tensor) {
    if (tensor.dimension() > 0) tensor = rows_of(tensor, rows);
  };
  for (BlockCache& block : blocks)
    for (Tensor* tensor : {&block.self_keys, &block.self_values}) select_of(*tensor);
  if (sources.empty()) return;
  std::vector<std::size_t> selected = rows_of(sources, rows);
  if (selected == sources) return;  // as in most steps of a beam search: what is kept of the sources stays where it is
  for (BlockCache& block : blocks)
    for (Tensor* tensor : {&block.source_keys, &block.source_values}) select_of(*tensor);
  if (!source_lengths.empty()) source_lengths = rows_of(source_lengths, rows);  // else all of the source counts
  sources = std::move(selected);
}

DecoderBlock::DecoderBlock(const Scope& scope, const Scope& stack, const BlockArguments& arguments)
    : Module(scope),
      self_attention_(arguments.make_attention(scope / "self_attention", stack, AttentionRole::decoder_self)),
      self_attention_residual_(scope / "self_attention_residual", arguments.d_model, arguments.norm, arguments.dropout),
      cross_attention_(arguments.attend_to_source
                           ? arguments.make_attention(scope / "cross_attention", stack, AttentionRole::cross)
                           : nullptr),
      cross_attention_residual_(arguments.attend_to_source
                                    ? std::make_unique<Residual>(scope / "cross_attention_residual", arguments.d_model,
                                                                 arguments.norm, arguments.dropout)
                                    : nullptr),
      feed_forward_(arguments.feed_forward.make(scope / "feed_forward", arguments.d_model)),
      feed_forward_residual_(scope / "feed_forward_residual", arguments.d_model, arguments.norm, arguments.dropout) {}

template <class SelfAttention, class CrossAttention>
Variable DecoderBlock::forward(Variable x, const SelfAttention& self_attention,
                               const CrossAttention& cross_attention) const {
  x = self_attention_residual_(x, self_attention);
  if (cross_attention_) x = (*cross_attention_residual_)(x, cross_attention);
  return feed_forward_residual_(x, [&](Variable y) { return (*feed_forward_)(y); });
}

Variable DecoderBlock::operator()(Variable x, const AttentionMask& mask, Variable source,
                                  const AttentionMask& source_mask) const {
  return forward(
      x, [&](Variable y) { return (*self_attention_)(y, y, mask); },
      [&](Variable y) { return (*cross_attention_)(y, source, source_mask); });
}

BlockCache DecoderBlock::start(Variable source) const {
  BlockCache cache;
  if (!cross_attention_) return cache;
  const Memory memory = cross_attention_->remember(source, 0);
  cache.source_keys = memory.keys.value();
  cache.source_values = memory.values.value();
  return cache;
}

Variable DecoderBlock::step(Variable x, BlockCache& cache, std::size_t position,
                            const AttentionMask& source_mask) const {
  Tape& tape = x.tape();
  const auto self_attention = [&](Variable y) {
    const Memory last = self_attention_->remember(y, position);
    Memory all = last;
    if (tape.options().record && position > 0) {
      // The last positions have a gradient, and a backward pass must find what was read even if the cache moves on.
      all.keys = concat({tape.input(first_positions(cache.self_keys, position, position)), last.keys}, 1);
      all.values = concat({tape.input(first_positions(cache.self_values, position, position)), last.values}, 1);
    }
    append(cache.self_keys, position, last.keys.value());
    append(cache.self_values, position, last.values.value());
    if (!tape.options().record)
      all = {tape.constant(cache.self_keys), tape.constant(cache.self_values), position + y.shape()[1]};
    AttentionMask mask;
    mask.causal = y.shape()[1] > 1;
    return self_attention_->attend(y, all, mask, position);
  };
  return forward(x, self_attention, [&](Variable y) {
    const Memory source{tape.constant(cache.source_keys), tape.constant(cache.source_values)};
    return cross_attention_->attend(y, source, source_mask, position);
  });
}

Decoder::Decoder(const Scope& scope, std::size_t blocks, const BlockArguments& arguments) : Module(scope) {
  const Scope stack = scope.among_sub_layers(blocks * (arguments.attend_to_source ? 3 : 2));
  for (std::size_t i = 0; i < blocks; ++i)
    blocks_.push_back(std::make_unique<DecoderBlock>(stack / i, stack, arguments));
  if (arguments.norm.placement == NormPlacement::pre)
    norm_ = arguments.norm.kind.make(scope / "norm", arguments.d_model);
}

Variable Decoder::operator()(Variable x, AttentionMask mask, Variable source, const AttentionMask& source_mask) const {
  mask.causal = true;
  const std::size_t begin = x.tape().size();
  for (const auto& block : blocks_) {
    x = (*block)(x, mask, source, source_mask);
    x.tape().forget(begin, x);
  }
  return norm_ ? (*norm_)(x) : x;
}

bool Decoder::takes_ragged_rows() const {
  return std::all_of(blocks_.begin(), blocks_.end(), [](const auto& block) { return block->takes_ragged_rows(); });
}

DecoderCache Decoder::start(Variable source, const std::vector<std::size_t>& source_lengths) const {
  DecoderCache cache;
  for (const auto& block : blocks_) cache.blocks.push_back(block->start(source));
  cache.source_lengths = source_lengths;
  if (source) cache.sources.resize(source.shape()[0]);
  std::iota(cache.sources.begin(), cache.sources.end(), std::size_t{0});
  return cache;
}

Variable Decoder::step(Variable x, DecoderCache& cache) const {
  AttentionMask source_mask;
  source_mask.key_lengths = cache.source_lengths;
  const std::size_t count = x.shape()[1];
  const std::size_t begin = x.tape().size();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    x = blocks_[i]->step(x, cache.blocks[i], cache.length, source_mask);
    x.tape().forget(begin, x);
  }
  cache.length += count;
  return norm_ ? (*norm_)(x) : x;
}

}  // namespace surd
