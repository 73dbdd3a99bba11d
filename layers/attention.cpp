#include "layers/attention.hpp"

#include "layers/alibi.hpp"
#include "layers/multi_query.hpp"
#include "layers/rotary.hpp"

namespace surd {
namespace {

std::size_t head_width(const Scope& scope, std::size_t d_model, std::size_t heads) {
  expect(heads > 0 && d_model % heads == 0, scope.path(), "{} heads do not divide d_model = {}", heads, d_model);
  return d_model / heads;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const Scope& scope, std::size_t d_model, std::size_t heads,
                                       const Options& options)
    : MultiHeadAttention(scope, d_model, heads, heads, options) {}

MultiHeadAttention::MultiHeadAttention(const Scope& scope, std::size_t d_model, std::size_t heads,
                                       std::size_t key_value_heads, const Options& options)
    : Attention(scope),
      options_(options),
      heads_(heads),
      key_value_heads_(key_value_heads),
      head_width_(head_width(scope, d_model, heads)),
      query_(scope / "query", {d_model, d_model, options.bias, Activation::none, options.init,
                               options.absorb_scale ? options.scale.value(head_width_) : 1}),
      key_(scope / "key", {d_model, key_value_heads * head_width_, options.bias, Activation::none, options.init}),
      value_(scope / "value", {d_model, key_value_heads * head_width_, options.bias, Activation::none, options.init}),
      output_(scope / "output", {d_model, d_model, options.bias, Activation::none, options.init, options.output_gain}) {
  expect(key_value_heads > 0 && heads % key_value_heads == 0, scope.path(),
         "{} heads of keys and values do not divide {} heads", key_value_heads, heads);
  if (options.query_key_norm) {
    query_norm_.emplace(scope / "query_norm", head_width_, NormOptions{});
    key_norm_.emplace(scope / "key_norm", head_width_, NormOptions{});
  }
  if (options.scale.learned())
    learned_scale_ = &scope.parameter("scale", {1}, constant(options.scale.value(head_width_)));
  scope.declare_factor("scores",
                       options.scale.describe(head_width_) + (options.absorb_scale ? ", absorbed into W_q" : ""));
}

/// The norm of each head of [B, T, heads d_k].
Variable MultiHeadAttention::normalized(Variable x, const RMSNorm& norm) const {
  const Shape& shape = x.shape();
  return reshape(norm(reshape(x, {shape[0], shape[1], shape[2] / head_width_, head_width_})), shape);
}

Memory MultiHeadAttention::project(Variable x, std::size_t first_position) const {
  Variable keys = key_(x);
  if (key_norm_) keys = normalized(keys, *key_norm_);
  return {at_positions(keys, key_value_heads_, first_position), value_(x)};
}

Variable MultiHeadAttention::forward(Variable x, const Memory& memory, const AttentionMask& mask,
                                     std::size_t first_position) const {
  Tape& tape = x.tape();
  Variable queries = query_(x);
  if (query_norm_) queries = normalized(queries, *query_norm_);
  if (learned_scale_ != nullptr) queries = scale_by(queries, tape.parameter(*learned_scale_));
  queries = at_positions(queries, heads_, first_position);
  const bool in_scores = learned_scale_ == nullptr && !options_.absorb_scale;
  AttentionOptions attention_options{heads_,
                                     in_scores ? static_cast<Real>(options_.scale.value(head_width_)) : Real(1)};
  attention_options.causal = mask.causal;
  attention_options.key_lengths = mask.key_lengths;
  attention_options.subtract_max = options_.subtract_max ? SubtractMax::yes : SubtractMax::no;
  attention_options.dropout = options_.dropout;
  attention_options.stream = tape.stream("dropout", path());
  attention_options.key_value_heads = key_value_heads_;
  attention_options.first_position = first_position;
  adjust(attention_options);
  return output_(attention(queries, memory.keys, memory.values, attention_options));
}

AttentionRegistry& attentions() {
  static AttentionRegistry table = [] {
    AttentionRegistry built_in("attention layer");
    built_in.add<MultiHeadAttention>("multi_head", "scaled dot-product attention in several heads");
    built_in.add<MultiQueryAttention>("multi_query", "several heads of queries share each head of keys and values");
    built_in.add<RotaryAttention>("rotary", "queries and keys turned by angles that grow with their positions");
    built_in.add<AlibiAttention>("alibi", "scores fall linearly with the distance of query and key");
    return built_in;
  }();
  return table;
}

}  // namespace surd
