#include "autograd/blas.hpp"
#include "autograd/kernels/dropout.hpp"
#include "autograd/kernels/elementwise.hpp"
#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace surd {
namespace {

using blas::no;
using blas::yes;

struct Sizes {
  std::size_t batch, queries, keys, rows_of_keys, heads, key_value_heads, key_width, value_width;
  /// Elements from one row of scores to the next: rows are padded, so that no register is filled in part.
  std::size_t row() const { return (keys + 15) / 16 * 16; }
  std::size_t scores() const { return queries * row(); }  // of one head
};

Sizes check(Variable q, Variable k, Variable v, const AttentionArguments& arguments) {
  constexpr const char* op = "attention";
  const std::size_t key_value_heads = arguments.key_value_heads == 0 ? arguments.heads : arguments.key_value_heads;
  expect(q.dimension() == 3 && k.dimension() == 3 && v.dimension() == 3 && q.shape()[0] == k.shape()[0] &&
             k.shape()[0] == v.shape()[0] && k.shape()[1] == v.shape()[1] &&
             q.shape()[2] * key_value_heads == k.shape()[2] * arguments.heads,
         op, "takes q [B, Tq, H d_k], k [B, Tk, {0} d_k], v [B, Tk, {0} d_v]; got {1}, {2}, {3}",
         key_value_heads == arguments.heads ? "H" : std::to_string(key_value_heads), q.shape(), k.shape(), v.shape());
  expect(arguments.heads > 0 && q.shape()[2] % arguments.heads == 0 && v.shape()[2] % key_value_heads == 0, op,
         "{} heads do not divide the widths of q {} and v {}", arguments.heads, q.shape(), v.shape());
  expect(arguments.heads % key_value_heads == 0, op, "{} heads of k and v do not divide {} heads of q", key_value_heads,
         arguments.heads);
  expect(arguments.distance_slopes.empty() || arguments.distance_slopes.size() == arguments.heads, op,
         "{} distance slopes for {} heads", arguments.distance_slopes.size(), arguments.heads);
  expect(arguments.distance_bias || arguments.buckets.empty(), op, "{} buckets and no distance bias",
         arguments.buckets.size());
  expect(arguments.keys <= k.shape()[1], op, "{} keys do not lie in k {}", arguments.keys, k.shape());
  const std::size_t batch = q.shape()[0], keys = arguments.keys == 0 ? k.shape()[1] : arguments.keys;
  if (const Variable bias = arguments.distance_bias) {
    expect(bias.dimension() == 2 && bias.shape()[1] == arguments.heads, op, "takes a distance bias [D, {}]; got {}",
           arguments.heads, bias.shape());
    expect(arguments.buckets.size() + 1 == q.shape()[1] + keys, op, "takes {} buckets; got {}", q.shape()[1] + keys - 1,
           arguments.buckets.size());
    for (const std::size_t bucket : arguments.buckets)
      expect(bucket < bias.shape()[0], op, "bucket {} is no row of the distance bias {}", bucket, bias.shape());
  }
  expect(!arguments.causal || q.shape()[1] <= keys, op,
         "causal attention takes at most as many queries as keys; got q {}, k {}", q.shape(), k.shape());
  expect(arguments.dropout >= 0 && arguments.dropout < 1, op, "the dropout rate must be in [0, 1); got {}",
         arguments.dropout);
  expect(arguments.key_lengths.empty() || arguments.key_lengths.size() == batch, op, "{} key lengths for a batch of {}",
         arguments.key_lengths.size(), batch);
  for (const std::size_t length : arguments.key_lengths)
    expect(length <= keys, op, "key length {} exceeds the {} keys", length, keys);
  return {batch,
          q.shape()[1],
          keys,
          k.shape()[1],
          arguments.heads,
          key_value_heads,
          q.shape()[2] / arguments.heads,
          v.shape()[2] / key_value_heads};
}

/// Keys that query t of batch row b sees: always a prefix.
std::size_t visible_keys(std::size_t b, std::size_t t, const Sizes& s, const AttentionArguments& arguments) {
  const std::size_t length = arguments.key_lengths.empty() ? s.keys : arguments.key_lengths[b];
  return arguments.causal ? std::min(length, t + s.keys - s.queries + 1) : length;
}

/// The scores of a head less slope times distance, in place.
void subtract_distances(Real* scores, double slope, const Sizes& s, std::size_t first_position) {
  for (std::size_t t = 0; t < s.queries; ++t, scores += s.row()) {
    const auto position = static_cast<double>(first_position + t);
    for (std::size_t j = 0; j < s.keys; ++j)
      scores[j] -= static_cast<Real>(slope * std::fabs(position - static_cast<double>(j)));
  }
}

/// Column `head` of the rows of a table that the distances stand for: number i is of a key i - (Tq - 1) positions
/// behind its query.
std::vector<Real> bias_by_distance(const AttentionArguments& arguments, std::size_t head) {
  const Tensor& table = arguments.distance_bias.value();
  std::vector<Real> biases;
  for (const std::size_t bucket : arguments.buckets) biases.push_back(table(bucket, head));
  return biases;
}

/// Adds each score's bias, in place.
void add_biases(Real* scores, const std::vector<Real>& biases, const Sizes& s) {
  for (std::size_t t = 0; t < s.queries; ++t, scores += s.row())
    kernels::accumulate(biases.data() + (s.queries - 1 - t), scores, s.keys);
}

/// Adds the gradients of a head's scores to that of the table.
void add_bias_gradients(const Real* gradients, const AttentionArguments& arguments, std::size_t head, const Sizes& s,
                        Tensor& table_gradient) {
  std::vector<Real> by_distance(arguments.buckets.size(), Real(0));
  for (std::size_t t = 0; t < s.queries; ++t, gradients += s.row())
    kernels::accumulate(gradients, by_distance.data() + (s.queries - 1 - t), s.keys);
  for (std::size_t i = 0; i < by_distance.size(); ++i) table_gradient(arguments.buckets[i], head) += by_distance[i];
}

/// What an observer is shown: [B, H, Tq, Tk], filled head by head. Empty where nobody observes.
class Shown {
 public:
  Shown(const Tape& tape, const Sizes& s)
      : observed_(tape.observed()),
        sizes_(s),
        values_(observed_ ? Shape{s.batch, s.heads, s.queries, s.keys} : Shape{0}) {}

  /// Copies a head's scores, weights or gradients; keys that are hidden get `hidden`.
  void copy(const Real* rows, std::size_t b, std::size_t h, const AttentionArguments& arguments, Real hidden) {
    if (!observed_) return;
    Real* to = values_.data() + (b * sizes_.heads + h) * sizes_.queries * sizes_.keys;
    for (std::size_t t = 0; t < sizes_.queries; ++t, rows += sizes_.row(), to += sizes_.keys) {
      const std::size_t visible = visible_keys(b, t, sizes_, arguments);
      std::fill(std::copy_n(rows, visible, to), to + sizes_.keys, hidden);
    }
  }

  void show(const Tape& tape, std::string_view what) const {
    if (observed_) tape.observe(what, values_);
  }

 private:
  bool observed_;
  Sizes sizes_;
  Tensor values_;
};

}  // namespace

// For each batch row and head, with S = factor Q K^T - slope distance + bias, P = softmax(S), D = dropout(P), O = D V:
//   dV = D^T dO,  dD = dO V^T,  dP = dD * mask,  dS = P * (dP - rowsum(dP * P)),  dQ = factor dS K,  dK = factor dS^T Q
// and the gradient of a bias is the sum of dS where it was added. dK and dV are sums over the heads of q that share
// them. P and its dropout are kept as one number an element, with a minus sign where it is dropped.
Variable attention(Variable q, Variable k, Variable v, const AttentionArguments& arguments) {
  const Sizes s = check(q, k, v, arguments);
  const Real factor = arguments.factor;
  const std::size_t shared_by = s.heads / s.key_value_heads;
  // Leading dimensions.
  const std::size_t q_row = s.heads * s.key_width, o_row = s.heads * s.value_width;
  const std::size_t k_row = s.key_value_heads * s.key_width, v_row = s.key_value_heads * s.value_width;
  const auto q_at = [=](std::size_t b, std::size_t h) { return b * s.queries * q_row + h * s.key_width; };
  const auto k_at = [=](std::size_t b, std::size_t h) {
    return b * s.rows_of_keys * k_row + h / shared_by * s.key_width;
  };
  const auto v_at = [=](std::size_t b, std::size_t h) {
    return b * s.rows_of_keys * v_row + h / shared_by * s.value_width;
  };
  const auto o_at = [=](std::size_t b, std::size_t h) { return b * s.queries * o_row + h * s.value_width; };

  Tape& tape = q.tape();
  const Variable bias = arguments.distance_bias;
  const bool recorded = tape.needs_gradient({q, k, v, bias});
  const bool drop = tape.options().training && arguments.dropout > 0;
  const kernels::DropoutRate rate(drop ? arguments.dropout : 0);
  const std::size_t of_batch_row = s.heads * s.scores();
  const auto head = [=](std::size_t b, std::size_t h) { return (recorded ? b * of_batch_row : 0) + h * s.scores(); };

  Tensor weights(Shape{recorded ? s.batch : 1, s.heads, s.queries, s.row()});
  Tensor dropped(drop ? Shape{s.queries, s.row()} : Shape{0});
  Tensor o(Shape{s.batch, s.queries, o_row});
  Shown shown_scores(tape, s), shown_weights(tape, s);
  std::vector<std::vector<Real>> biases;  // a head
  for (std::size_t h = 0; bias && h < s.heads; ++h) biases.push_back(bias_by_distance(arguments, h));
  std::vector<std::size_t> visible(s.queries);
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t t = 0; t < s.queries; ++t) visible[t] = visible_keys(b, t, s, arguments);
    for (std::size_t h = 0; h < s.heads; ++h) {
      Real* p = weights.data() + head(b, h);
      blas::gemm(no, yes, s.queries, s.keys, s.key_width, factor, q.value().data() + q_at(b, h), q_row,
                 k.value().data() + k_at(b, h), k_row, 0, p, s.row());
      if (!arguments.distance_slopes.empty())
        subtract_distances(p, arguments.distance_slopes[h], s, arguments.first_position);
      if (bias) add_biases(p, biases[h], s);
      shown_scores.copy(p, b, h, arguments, std::numeric_limits<Real>::quiet_NaN());
      kernels::softmax_prefixes(p, visible.data(), s.queries, s.row(), arguments.subtract_max == SubtractMax::yes);
      shown_weights.copy(p, b, h, arguments, 0);
    }
    if (drop)
      kernels::mark_dropped({arguments.stream, (tape.options().first_row + b) * of_batch_row, rate},
                            weights.data() + head(b, 0), of_batch_row);
    for (std::size_t h = 0; h < s.heads; ++h) {
      const Real* p = weights.data() + head(b, h);
      if (drop) kernels::drop_marked(p, rate.keep_scale, dropped.data(), s.scores());
      blas::gemm(no, no, s.queries, s.value_width, s.keys, 1, drop ? dropped.data() : p, s.row(),
                 v.value().data() + v_at(b, h), v_row, 0, o.data() + o_at(b, h), o_row);
    }
  }
  if (tape.observed()) tape.observe("factor", full({1}, factor));
  shown_scores.show(tape, "scores");
  shown_weights.show(tape, "weights");

  auto backward = [=, weights = std::move(weights)](BackwardPass& pass) {
    const Real* d_o = pass.gradient().data();
    const bool to_q = pass.needs(q), to_k = pass.needs(k), to_v = pass.needs(v), to_bias = pass.needs(bias);
    const auto gradient_of = [&](Variable x) {
      if (!pass.needs(x)) return Tensor(Shape{0});
      return s.keys < s.rows_of_keys ? zeros(x.shape()) : empty_like(x.value());  // nothing else clears the room
    };
    Tensor dq = gradient_of(q), dk = gradient_of(k), dv = gradient_of(v);
    Tensor d(drop ? Shape{s.queries, s.row()} : Shape{0});
    Tensor ds = zeros({s.queries, s.row()}), d_bias = to_bias ? zeros(bias.shape()) : Tensor(Shape{0});
    Shown shown_gradients(q.tape(), s);
    for (std::size_t b = 0; b < s.batch; ++b) {
      for (std::size_t h = 0; h < s.heads; ++h) {
        const Real beta = h % shared_by == 0 ? Real(0) : Real(1);  // the first of those that share a head clears
        const Real* p = weights.data() + head(b, h);
        if (to_v) {
          if (drop) kernels::drop_marked(p, rate.keep_scale, d.data(), s.scores());
          blas::gemm(yes, no, s.keys, s.value_width, s.queries, 1, drop ? d.data() : p, s.row(), d_o + o_at(b, h),
                     o_row, beta, dv.data() + v_at(b, h), v_row);
        }
        if (!to_q && !to_k && !to_bias) continue;
        blas::gemm(no, yes, s.queries, s.keys, s.value_width, 1, d_o + o_at(b, h), o_row, v.value().data() + v_at(b, h),
                   v_row, 0, ds.data(), s.row());
        for (std::size_t t = 0; t < s.queries; ++t)
          kernels::softmax_marked_backward(p + t * s.row(), rate.keep_scale, ds.data() + t * s.row(), s.row());
        shown_gradients.copy(ds.data(), b, h, arguments, 0);
        if (to_bias) add_bias_gradients(ds.data(), arguments, h, s, d_bias);
        if (to_q)
          blas::gemm(no, no, s.queries, s.key_width, s.keys, factor, ds.data(), s.row(), k.value().data() + k_at(b, h),
                     k_row, 0, dq.data() + q_at(b, h), q_row);
        if (to_k)
          blas::gemm(yes, no, s.keys, s.key_width, s.queries, factor, ds.data(), s.row(), q.value().data() + q_at(b, h),
                     q_row, beta, dk.data() + k_at(b, h), k_row);
      }
    }
    if (to_q || to_k || to_bias) shown_gradients.show(q.tape(), "scores_gradient");
    if (to_q) q.tape().observe("query_gradient", dq);
    pass.accumulate(q, std::move(dq));  // each does nothing where it is not needed
    pass.accumulate(k, std::move(dk));
    pass.accumulate(v, std::move(dv));
    pass.accumulate(bias, std::move(d_bias));
  };
  return tape.record("attention", std::move(o), {q, k, v, bias}, std::move(backward));
}

}  // namespace surd
