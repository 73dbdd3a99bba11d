#pragma once

#include "autograd/base/registry.hpp"
#include "layers/factor.hpp"
#include "layers/linear.hpp"
#include "layers/norm.hpp"

#include <memory>
#include <string>
#include <vector>

namespace surd {

/// Which keys a query may see.
struct AttentionMask {
  bool causal = false;                   ///< only keys up to the query's own position
  std::vector<std::size_t> key_lengths;  ///< keys before the padding, a batch row; empty: all
};

/// What attention remembers of a sequence: its projected keys and values, [B, T, ...].
struct Memory {
  Variable keys;
  Variable values;
  /// Positions that count, the first of T; 0: all. The others are room for a decoder's next steps.
  std::size_t length = 0;
};

/// Attention of one sequence to another or to itself. It comes in two steps, so that decoding can keep the memory of
/// past positions.
class Attention : public Module {
 public:
  using Module::Module;

  /// x [B, T, d_model], whose first row stands at position `first_position` of its sequence.
  Memory remember(Variable x, std::size_t first_position) const {
    const auto region = enter(x.tape());
    return project(x, first_position);
  }
  /// queries [B, Tq, d_model], memory of [B, Tk, d_model] -> [B, Tq, d_model]
  Variable attend(Variable queries, const Memory& memory, const AttentionMask& mask, std::size_t first_position) const {
    const auto region = enter(queries.tape());
    return forward(queries, memory, mask, first_position);
  }
  /// Both at once.
  Variable operator()(Variable queries, Variable x, const AttentionMask& mask) const {
    return attend(queries, remember(x, 0), mask, 0);
  }

 protected:
  /// Row t of x stands at position first_position + t of its sequence, of the queries likewise. Training passes 0 and
  /// whole sequences, decoding one row at a time with its place: a layer that uses positions must count from there, so
  /// that both give the same.
  virtual Memory project(Variable x, std::size_t first_position) const = 0;
  virtual Variable forward(Variable queries, const Memory& memory, const AttentionMask& mask,
                           std::size_t first_position) const = 0;
};

struct MultiHeadOptions {
  Scale scale = Scale::Rule::inv_sqrt_dim;
  bool absorb_scale = false;
  bool query_key_norm = false;
  bool subtract_max = true;
  double dropout = 0;
  bool bias = true;
  InitOptions init = {};
  double output_gain = 1;

  void fields(Fields& f) {
    f("scale", scale,
      "factor on the scores before the softmax, over d_k, the width of one head; Vaswani et al., section 3.2.1");
    f("absorb_scale", absorb_scale,
      "multiply the initial query projection by the factor instead of the scores, as T5 does");
    f("query_key_norm", query_key_norm, "normalise queries and keys of each head (QK-norm, arXiv 2010.04245)");
    f("subtract_max", subtract_max, "subtract each row's maximum before exp; without it exp overflows past 88.7");
    f("dropout", dropout, "rate on the attention weights", fraction());
    f("bias", bias, "whether the four projections have a bias");
    f("init", init, "initial weights of the four projections");
    f("output_gain", output_gain,
      "factor on the initial output projection alone; fairseq starts it sqrt(2) larger than the other three", above(0));
    f.rule(!(absorb_scale && scale.learned()), "absorb_scale", "cannot go with a learned scale; set it to false");
    f.rule(!(absorb_scale && query_key_norm), "absorb_scale",
           "cannot go with query_key_norm, which would undo it; set one of them to false");
  }
};

/// Concatenated heads softmax(scale q k^T) v between linear projections. Vaswani et al., section 3.2.
///
/// A variant derives from it and overrides how positions enter: rotary.hpp and alibi.hpp are two.
class MultiHeadAttention : public Attention {
 public:
  using Options = MultiHeadOptions;
  /// Throws Error unless heads divide d_model.
  MultiHeadAttention(const Scope& scope, std::size_t d_model, std::size_t heads, const Options& options);

 protected:
  /// With `key_value_heads` heads of keys and values. Throws Error unless they divide heads and heads divide d_model.
  MultiHeadAttention(const Scope& scope, std::size_t d_model, std::size_t heads, std::size_t key_value_heads,
                     const Options& options);

  /// Queries or keys [B, T, count d_k], in `count` heads, as they are compared. Here: as they are.
  virtual Variable at_positions(Variable x, std::size_t, std::size_t /*first_position*/) const { return x; }
  /// Changes what the attention op is given. Here: nothing.
  virtual void adjust(AttentionArguments&) const {}

  Memory project(Variable x, std::size_t first_position) const override;
  Variable forward(Variable queries, const Memory& memory, const AttentionMask& mask,
                   std::size_t first_position) const override;

 private:
  Variable normalized(Variable x, const RMSNorm& norm) const;

  Options options_;
  std::size_t heads_;
  std::size_t key_value_heads_;
  std::size_t head_width_;
  Linear query_;
  Linear key_;
  Linear value_;
  Linear output_;
  std::unique_ptr<RMSNorm> query_norm_, key_norm_;  // null without QK-norm
  Factor factor_;
};

/// The attention layers a config can name: made from (scope, d_model, heads, options).
using AttentionRegistry = Registry<Attention(const Scope&, std::size_t, std::size_t)>;
using AttentionChoice = Choice<Attention(const Scope&, std::size_t, std::size_t)>;
AttentionRegistry& attentions();

}  // namespace surd
