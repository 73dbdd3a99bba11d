#pragma once

#include "autograd/base/random.hpp"
#include "autograd/tape.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// Every differentiable op. Shapes are given in brackets; "..." stands for any leading axes. No op broadcasts unless
/// its name says so. Each throws Error, naming the op, the rule and the shapes, when the shapes do not fit.
namespace surd {

// --- matrix products (ops/matmul.cpp, ops/linear.cpp) ----------------------------------------------------------------

Variable matmul(Variable a, Variable b);          ///< [m, k], [k, n] -> [m, n]
Variable batched_matmul(Variable a, Variable b);  ///< [B, m, k], [B, k, n] -> [B, m, n]

enum class Activation { none, relu, gelu, gelu_tanh, tanh, sigmoid, silu };
std::vector<std::string> names_of(Activation);

/// y = activation(x W^T + b): x [..., in], W [out, in], b [out] or absent -> [..., out]
Variable linear(Variable x, Variable weight, Variable bias = {}, Activation activation = Activation::none);

Variable activate(Variable x, Activation activation);  ///< [...] -> [...]
Variable relu(Variable x);                             ///< [...] -> [...]
Variable gelu(Variable x);                             ///< [...] -> [...], exact: x Phi(x)
Variable gelu_tanh(Variable x);                        ///< [...] -> [...], its approximation by tanh, as in GPT-2
Variable tanh(Variable x);                             ///< [...] -> [...]
Variable sigmoid(Variable x);                          ///< [...] -> [...]
Variable silu(Variable x);                             ///< [...] -> [...], x sigmoid(x)

// --- element by element (ops/elementwise.cpp) ------------------------------------------------------------------------

Variable add(Variable a, Variable b);            ///< [...], [...] -> [...]
Variable subtract(Variable a, Variable b);       ///< [...], [...] -> [...]
Variable multiply(Variable a, Variable b);       ///< [...], [...] -> [...]
Variable scale(Variable x, Real factor);         ///< [...] -> [...]
Variable scale_by(Variable x, Variable factor);  ///< [...], [1] -> [...], a learned factor
Variable add_bias(Variable x, Variable bias);    ///< [..., n], [n] -> [..., n]
Variable soft_cap(Variable x, Real cap);         ///< cap tanh(x / cap), cap > 0; [...] -> [...]
Variable exp(Variable x);                        ///< [...] -> [...]
Variable log(Variable x);                        ///< [...] -> [...], natural

// --- dropout (ops/dropout.cpp) ---------------------------------------------------------------------------------------

/// Inverted dropout: each element is zeroed with probability `rate` and the others divided by 1 - rate. The decisions
/// depend only on the stream and the element's place in the full batch. Passes x through when the tape is not training
/// or the rate is 0. [...] -> [...]
Variable dropout(Variable x, double rate, const random::Stream& stream);
/// a + dropout(x): [...], [...] -> [...]
Variable add_dropout(Variable a, Variable x, double rate, const random::Stream& stream);

// --- reductions and shapes (ops/shape.cpp) ---------------------------------------------------------------------------

Variable sum(Variable x);                                              ///< [...] -> [1]
Variable mean(Variable x);                                             ///< [...] -> [1]
Variable reshape(Variable x, const Shape& shape);                      ///< same number of elements
Variable transpose(Variable x, const std::vector<std::size_t>& axes);  ///< axis i of the result is axis axes[i] of x
Variable slice(Variable x, std::size_t axis, std::size_t begin, std::size_t end);  ///< [begin, end) of one axis
Variable concat(const std::vector<Variable>& parts, std::size_t axis);  ///< along an axis; the others must agree

// --- embeddings (ops/embedding.cpp) ----------------------------------------------------------------------------------

/// Rows of a table: weight [V, d], ids of `shape` -> [shape..., d]
Variable embedding(Variable weight, const std::vector<std::int32_t>& ids, const Shape& shape);

/// Rows of a table of positions, one for each token [B, T].
struct PositionRows {
  Variable table;                         ///< [P, d], or absent: nothing is added
  std::size_t first = 0;                  ///< token t of each row gets row first + t
  std::vector<std::int32_t> places = {};  ///< or, where they are given [B, T], row places[b, t]
};

/// y[b, t] = factor learned_factor weight[ids[b, t]] + a row of the positions: weight [V, d], ids [B, T],
/// learned_factor [1] or absent (1) -> [B, T, d]. Vaswani et al., section 3.4 and 3.5. An observer is shown the rows of
/// the "positions" [T, d] (by places [B, T, d]), if there are any, and then the rest as "tokens" [B, T, d]; by
/// backward, of the weight, as "gradient_from_lookups" what its gradient gets from here.
Variable embedding_with_positions(Variable weight, const std::vector<std::int32_t>& ids, std::size_t batch_size,
                                  std::size_t length, Real factor, Variable learned_factor,
                                  const PositionRows& positions);

// --- normalisation (ops/norm.cpp) ------------------------------------------------------------------------------------

enum class SubtractMax { no, yes };

/// Over the last axis. Without subtracting the maximum, exp overflows where x > 88.7 (float). [..., n] -> [..., n]
Variable softmax(Variable x, SubtractMax subtract_max);
Variable log_softmax(Variable x);  ///< over the last axis, [..., n] -> [..., n]

/// (x - mean) / sqrt(var + epsilon) * gain + bias over the last axis: [..., n], [n] or absent, [n] or absent
/// -> [..., n]. Ba et al. 2016.
Variable layer_norm(Variable x, Variable gain, Variable bias, Real epsilon);
/// x / sqrt(mean(x^2) + epsilon) * gain: [..., n], [n] or absent -> [..., n]. Zhang & Sennrich 2019.
Variable rms_norm(Variable x, Variable gain, Real epsilon);

// --- attention (ops/rotary.cpp, ops/attention.cpp) -------------------------------------------------------------------

/// Turns the pairs (2i, 2i + 1) of each head by the angle p base^(-2i / d_k), p = first_position + t, so that a dot
/// product of two results depends on the distance of their positions: x [B, T, H d_k], d_k even -> [B, T, H d_k].
/// Su et al., arXiv 2104.09864, section 3.4.2.
Variable rotary(Variable x, std::size_t heads, std::size_t first_position, double base);

struct AttentionArguments {
  std::size_t heads;
  Real factor;          ///< on the scores q.k, before the softmax; no default: it is what this project is about
  bool causal = false;  ///< query t sees keys 0..t + (Tk - Tq): the last query sees every key
  /// Number of keys that are not padding, a row of the batch; empty: all. The others get no weight at all.
  std::vector<std::size_t> key_lengths = {};
  SubtractMax subtract_max = SubtractMax::yes;
  double dropout = 0;  ///< on the weights
  random::Stream stream = {0, "", ""};
  /// Heads of k and v, each used by heads / key_value_heads heads of q in a row (Shazeer, arXiv 1911.02150; Ainslie et
  /// al., arXiv 2305.13245); 0: as many as q has. Must divide `heads`.
  std::size_t key_value_heads = 0;
  /// One a head, or none: a score loses slope |p - j|, where j is the key's and p = first_position + t the query's
  /// position (Press et al., arXiv 2108.12409).
  std::vector<double> distance_slopes = {};
  /// A learned bias by the key's place beside the query: a score of head h gains row buckets[Tq - 1 - t + j], column h,
  /// for query t and key j; [D, H] or absent (Raffel et al., arXiv 1910.10683, section 2.1).
  Variable distance_bias = {};
  std::vector<std::size_t> buckets = {};  ///< rows of distance_bias, one for each of the Tq + Tk - 1 distances
  std::size_t first_position = 0;         ///< of the queries; read by distance_slopes only
  /// Tk where k and v are longer, [B, R, ...] with R >= Tk: they have room at the end that is not read; 0: Tk = R.
  std::size_t keys = 0;
  /// Where documents begin in each row of the batch, from 0 on: a query sees keys of its own document alone, and
  /// distances count within it. Empty: a row is one. With them Tq = Tk, and there are no key_lengths.
  std::vector<std::vector<std::size_t>> documents = {};
  /// The rows of the batch where they stand without padding, q as [1, N, H d_k], k and v likewise; null: padded. Tq and
  /// Tk are the longest then. Both or neither, and without documents, key_lengths and `keys`.
  std::shared_ptr<const RaggedRows> query_rows = nullptr, key_rows = nullptr;
  /// Scores, their biases included, go through soft_cap (Gemma Team 2024, arXiv 2408.00118, section 2); 0: they do not.
  Real score_cap = 0;
};

/// softmax(factor q k^T + mask) v, head by head: q [B, Tq, H d_k], k [B, Tk, G d_k], v [B, Tk, G d_v], where G is
/// key_value_heads or H -> [B, Tq, H d_v]. Vaswani et al., section 3.2. A query that may see no key gets zeros.
/// An observer is shown the "factor" [1], the "scores" (NaN where a key is hidden) and the "weights", both
/// [B, H, Tq, Tk], and by backward the "scores_gradient" and the "query_gradient", in the shapes of the scores and of
/// q.
Variable attention(Variable q, Variable k, Variable v, const AttentionArguments& arguments);

// --- losses (ops/cross_entropy.cpp) ----------------------------------------------------------------------------------

struct CrossEntropyArguments {
  Real smoothing;       ///< label smoothing in [0, 1): the target is (1 - smoothing) one_hot + smoothing / V
  std::int32_t ignore;  ///< targets of this id (padding) contribute nothing
  Real divisor;         ///< the sum over targets is divided by this, e.g. the number of targets of the whole update
  Real logit_cap = 0;   ///< projection_cross_entropy: the logits go through soft_cap; 0: they do not
};

/// logits [..., V], one target a row -> [1], nats.
Variable cross_entropy(Variable logits, const std::vector<std::int32_t>& targets,
                       const CrossEntropyArguments& arguments);

/// So many rows have their logits at a time, here and in evaluation.
inline constexpr std::size_t logit_rows_at_once = 256;

/// The same from logits = factor x W^T + b, x [..., d], W [V, d], b [V] or absent, without ever holding all logits:
/// they are computed, used and overwritten by their gradient a tile of rows at a time. An observer is shown each tile
/// of "logits" [<= logit_rows_at_once, V], rows in order and without those of ignored targets, and by backward, of the
/// weight, as "gradient_from_logits" what its gradient gets from here.
Variable projection_cross_entropy(Variable x, Variable weight, Variable bias, Real factor,
                                  const std::vector<std::int32_t>& targets, const CrossEntropyArguments& arguments);

}  // namespace surd
