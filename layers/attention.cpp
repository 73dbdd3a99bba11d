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

std::unique_ptr<RMSNorm> head_norm(const Scope& scope, std::size_t width, const MultiHeadOptions& options) {
  return options.query_key_norm ? std::make_unique<RMSNorm>(scope, width, NormOptions{}) : nullptr;
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
      output_(scope / "output", {d_model, d_model, options.bias, Activation::none, options.init, options.output_gain}),
      query_norm_(head_norm(scope / "query_norm", head_width_, options)),
      key_norm_(head_norm(scope / "key_norm", head_width_, options)),
      factor_(scope, "scores", options.scale, head_width_, options.absorb_scale ? ", absorbed into W_q" : "") {
  expect_option(key_value_heads > 0 && heads % key_value_heads == 0, "model.attention.key_value_heads",
                "must divide model.heads = {}; got {}", heads, key_value_heads);
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
  queries = at_positions(factor_.times_parameter(queries), heads_, first_position);
  AttentionArguments arguments{heads_, options_.absorb_scale ? Real(1) : factor_.number()};
  arguments.keys = memory.length;
  arguments.causal = mask.causal;
  arguments.key_lengths = mask.key_lengths;
  arguments.subtract_max = options_.subtract_max ? SubtractMax::yes : SubtractMax::no;
  arguments.dropout = options_.dropout;
  arguments.stream = tape.stream("dropout", path());
  arguments.key_value_heads = key_value_heads_;
  arguments.first_position = first_position;
  adjust(arguments);
  return output_(attention(queries, memory.keys, memory.values, arguments));
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
