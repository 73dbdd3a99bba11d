#pragma once

#include "autograd/base/registry.hpp"
#include "layers/factor.hpp"
#include "layers/linear.hpp"
#include "layers/norm.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace surd {

/// What an attention layer compares: the positions of one sequence, all or those up to the query's, or the target's
/// with the source's.
enum class AttentionRole { encoder_self, decoder_self, cross };

/// Where in a model an attention layer stands.
struct AttentionPlace {
  std::size_t d_model;
  std::size_t heads;
  AttentionRole role;
  Scope stack;  ///< of the blocks around it, for what they share

  /// Whether queries and keys are of one sequence, so that their distance means something.
  bool one_sequence() const { return role != AttentionRole::cross; }
};

/// Which keys a query may see.
struct AttentionMask {
  bool causal = false;                   ///< only keys up to the query's own position
  std::vector<std::size_t> key_lengths;  ///< keys before the padding, a batch row; empty: all
  /// Where documents begin in each batch row: a query sees keys of its own alone. Empty: a row is one document.
  std::vector<std::vector<std::size_t>> documents = {};
  /// The batch rows that queries [1, N, d_model] and keys consist of, where they stand without padding; null: padded. A
  /// query sees keys of its own row alone.
  std::shared_ptr<const RaggedRows> query_rows = nullptr, key_rows = nullptr;
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
    const auto remember_rows = [&] {
      const Tape::InRows rows(x.tape(), mask.key_rows);
      return remember(x, 0);
    };
    return attend(queries, remember_rows(), mask, 0);
  }

  /// Whether it heeds mask.query_rows and key_rows. A model trains without padding where all of its attention does.
  virtual bool takes_ragged_rows() const { return false; }

 protected:
  /// Row t of x stands at position first_position + t of its sequence, of the queries likewise. Training passes 0 and
  /// whole sequences, decoding a few rows at a time, mostly one, with the place of the first: a layer that uses
  /// positions must count from there, so that both give the same. A row of several documents, and ragged rows, are
  /// passed as one sequence: there only the distance of two rows of one document means something, and no query may see
  /// another document, see AttentionMask.
  virtual Memory project(Variable x, std::size_t first_position) const = 0;
  virtual Variable forward(Variable queries, const Memory& memory, const AttentionMask& mask,
                           std::size_t first_position) const = 0;
};

/// How queries and keys of each head are normalised before they are compared: by RMSNorm, whose gain has a number a
/// column of a head, the same for all heads of a layer; or to Euclidean norm 1 (Henry et al., arXiv 2010.04245, section
/// 3.2, where the factor on the scores is then learned).
enum class QueryKeyNorm { none, rms_norm, l2 };
std::vector<std::string> names_of(QueryKeyNorm);

/// Which of the four projections of an attention layer have a bias. Written `true`, `false`, or their names: `query
/// value output`.
class ProjectionBiases : public Word {
 public:
  ProjectionBiases() = default;
  ProjectionBiases(bool all) : query(all), key(all), value(all), output(all) {}  // NOLINT: implicit

  bool any() const { return query || key || value || output; }
  std::string text() const override;
  bool parse(std::string_view text) override;
  std::vector<std::string> choices() const override;
  std::string allowed() const override;
  std::optional<std::string> pattern() const override;

  bool query = true, key = true, value = true, output = true;
};

struct MultiHeadOptions {
  Scale scale = Scale::Rule::inv_sqrt_dim;
  bool absorb_scale = false;
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  double query_key_norm_epsilon = 1e-5;
  std::optional<double> score_cap = {};
  bool subtract_max = true;
  double dropout = 0;
  ProjectionBiases bias = true;
  InitOptions init = {};
  bool init_fused = false;
  FixedScale output_gain = FixedScale::constant(1);
  FixedScale bias_std = FixedScale::constant(0);
  FixedScale output_bias_std = FixedScale::constant(0);

  void fields(Fields& f) {
    f("scale", scale,
      "factor on the scores before the softmax, over d_k, the width of one head; Vaswani et al., section 3.2.1");
    f("absorb_scale", absorb_scale,
      "multiply the initial query projection by the factor instead of the scores, as T5 does");
    f("query_key_norm", query_key_norm,
      "of queries and keys, head by head, before positions turn them: rms_norm has a learned gain a column of d_k, "
      "which the heads share; l2 makes their norm 1 and has no gain: its paper (arXiv 2010.04245) has a learned "
      "`scale`");
    f("query_key_norm_epsilon", query_key_norm_epsilon, "added to the mean square of d_k columns before the root",
      above(0), When{query_key_norm != QueryKeyNorm::none, "query_key_norm is rms_norm or l2"});
    f("score_cap", score_cap,
      "scores go through cap tanh(score / cap) before the softmax, as in Gemma 2, where it is 50; null: they do not",
      above(0));
    f("subtract_max", subtract_max, "subtract each row's maximum before exp; without it exp overflows past 88.7");
    f("dropout", dropout, "rate on the attention weights", fraction());
    f("bias", bias,
      "which projections have a bias; that of the keys adds the same to all scores of a query, which the softmax takes "
      "out again, unless they are normalised or turned: its gradient is rounding noise, and Adam lets it drift");
    f("init", init, "initial weights of the four projections");
    f("init_fused", init_fused,
      "whether Xavier's rule takes queries, keys and values for one matrix (keys and values, towards the source), as "
      "PyTorch and Sockeye do: all its rows count, and 1/sqrt(2) of the deviation is left",
      When{init.xavier(), "init.distribution is xavier_normal or xavier_uniform"});
    output_gain_field(f, "output_gain", output_gain,
                      "factor on the initial output projection alone, over the sub-layers of the stack: GPT-2 has "
                      "inv_sqrt_dim, 1/sqrt(2 layers), fairseq sqrt(2); above 0");
    bias_std_field(f, "bias_std", bias_std,
                   "standard deviation of the initial biases of queries, keys and values, uniform, over the fan-in",
                   When{bias.query || bias.key || bias.value, "bias names query, key or value"});
    bias_std_field(f, "output_bias_std", output_bias_std, "the same of the output projection",
                   When{bias.output, "bias names output"});
    f.rule(!(absorb_scale && scale.learned()), "absorb_scale", "cannot go with a learned scale; set it to false");
    f.rule(!absorb_scale || query_key_norm == QueryKeyNorm::none, "absorb_scale",
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
  MultiHeadAttention(const Scope& scope, const AttentionPlace& place, const Options& options);

  bool takes_ragged_rows() const override { return true; }

 protected:
  /// With `key_value_heads` heads of keys and values, in groups: head h of the queries uses head h key_value_heads /
  /// heads, rounded down. Throws Error unless they divide heads and heads divide d_model.
  MultiHeadAttention(const Scope& scope, const AttentionPlace& place, std::size_t key_value_heads,
                     const Options& options);

  /// Queries or keys [B, T, count d_k], in `count` heads, as they are compared. Here: as they are. Where they
  /// are ragged rows, the tape knows their places, see Tape::ragged_rows.
  virtual Variable at_positions(Variable x, std::size_t, std::size_t /*first_position*/) const { return x; }
  /// Changes what the attention op is given for so many queries and keys. Here: nothing.
  virtual void adjust(AttentionArguments&, Tape&, std::size_t /*queries*/, std::size_t /*keys*/) const {}

  Memory project(Variable x, std::size_t first_position) const override;
  Variable forward(Variable queries, const Memory& memory, const AttentionMask& mask,
                   std::size_t first_position) const override;

 private:
  /// The norm of each head of [B, T, heads d_k]; `norm` has the gain, or is null.
  Variable normalized(Variable x, const RMSNorm* norm) const;

  Options options_;
  std::size_t heads_;
  std::size_t key_value_heads_;
  std::size_t head_width_;
  Linear query_;
  Linear key_;
  Linear value_;
  Linear output_;
  std::unique_ptr<RMSNorm> query_norm_, key_norm_;  // null without such gains
  Factor factor_;
};

/// The attention layers a config can name: made from (scope, place, options).
using AttentionRegistry = Registry<Attention(const Scope&, const AttentionPlace&)>;
using AttentionChoice = Choice<Attention(const Scope&, const AttentionPlace&)>;
AttentionRegistry& attentions();

}  // namespace surd
