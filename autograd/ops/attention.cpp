#include "autograd/kernels/dropout.hpp"
#include "autograd/kernels/elementwise.hpp"
#include "autograd/ops.hpp"
#include "autograd/ops/attention_head.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace surd {
namespace {

struct Sizes {
  std::size_t batch, queries, keys, rows_of_keys, heads, key_value_heads, key_width, value_width;
};

/// Queries and keys of a batch row that see each other: all, or those of one document. Scores are stored block by
/// block, those of a block head by head.
struct Block {
  std::size_t queries, keys;
  std::size_t first;       ///< query, and key, of the batch row
  std::size_t query, key;  ///< the same, among the positions of q and of k
  std::size_t offset;      ///< of the scores, for one head
  std::size_t row() const { return kernels::row_of_scores(keys); }
  std::size_t scores() const { return queries * row(); }  // of one head
  std::size_t end() const { return offset + scores(); }
};

/// Those of one batch row.
struct RowOfBlocks {
  const Block *first, *behind;
  const Block* begin() const { return first; }
  const Block* end() const { return behind; }
  const Block& front() const { return *first; }
  const Block& back() const { return *(behind - 1); }
  std::size_t scores() const { return back().end() - front().offset; }  // of one head
};

class Blocks {
 public:
  /// Of all batch rows, whose scores stand one behind the other or, unless all are kept, in the same place.
  Blocks(const Sizes& s, const AttentionArguments& arguments, bool keep_all) {
    blocks_.reserve(s.batch);
    begins_.reserve(s.batch + 1);
    for (std::size_t b = 0; b < s.batch; ++b) {
      begins_.push_back(blocks_.size());
      add_row(b, keep_all ? of_head_ : 0, s, arguments);
      of_head_ = std::max(of_head_, blocks_.back().end());
    }
    begins_.push_back(blocks_.size());
  }

  const std::vector<Block>& all() const { return blocks_; }
  RowOfBlocks operator[](std::size_t b) const { return {blocks_.data() + begins_[b], blocks_.data() + begins_[b + 1]}; }
  std::size_t scores_of_head() const { return of_head_; }  // memory for them

 private:
  void add_row(std::size_t b, std::size_t offset, const Sizes& s, const AttentionArguments& arguments) {
    const std::size_t query = b * s.queries, key = b * s.rows_of_keys;
    if (arguments.query_rows != nullptr) {
      const RaggedRows &queries = *arguments.query_rows, &keys = *arguments.key_rows;
      blocks_.push_back({queries.length(b), keys.length(b), 0, queries.begin(b), keys.begin(b), offset});
    } else if (arguments.documents.empty()) {
      blocks_.push_back({s.queries, s.keys, 0, query, key, offset});
    } else {
      const std::vector<std::size_t>& begins = arguments.documents[b];
      for (std::size_t i = 0; i < begins.size(); ++i) {
        const std::size_t length = (i + 1 < begins.size() ? begins[i + 1] : s.queries) - begins[i];
        blocks_.push_back({length, length, begins[i], query + begins[i], key + begins[i], offset});
        offset = blocks_.back().end();
      }
    }
  }

  std::vector<Block> blocks_;
  std::vector<std::size_t> begins_;  // of the batch rows
  std::size_t of_head_ = 0;
};

/// Where rows are ragged.
void check_rows(Variable q, Variable k, const AttentionArguments& arguments) {
  constexpr const char* op = "attention";
  const auto &queries = arguments.query_rows, &keys = arguments.key_rows;
  expect(queries != nullptr && keys != nullptr && queries->count() == keys->count(), q, op,
         "takes ragged rows of queries and as many of keys");
  expect(q.shape()[0] == 1 && q.shape()[1] == queries->positions() && k.shape()[1] == keys->positions(), q, op,
         "rows of {} queries and {} keys are not those of q {} and k {}", queries->positions(), keys->positions(),
         q.shape(), k.shape());
  expect(arguments.documents.empty() && arguments.key_lengths.empty() && arguments.keys == 0, q, op,
         "ragged rows have no documents, key lengths or room behind the keys");
  for (std::size_t b = 0; b < queries->count(); ++b)
    expect(!arguments.causal || queries->length(b) <= keys->length(b), q, op,
           "causal attention takes at most as many queries as keys; got {} and {} in row {}", queries->length(b),
           keys->length(b), b);
}

Sizes check(Variable q, Variable k, Variable v, const AttentionArguments& arguments) {
  constexpr const char* op = "attention";
  const std::size_t key_value_heads = arguments.key_value_heads == 0 ? arguments.heads : arguments.key_value_heads;
  expect(q.dimension() == 3 && k.dimension() == 3 && v.dimension() == 3 && q.shape()[0] == k.shape()[0] &&
             k.shape()[0] == v.shape()[0] && k.shape()[1] == v.shape()[1] &&
             q.shape()[2] * key_value_heads == k.shape()[2] * arguments.heads,
         q, op, "takes q [B, Tq, H d_k], k [B, Tk, {0} d_k], v [B, Tk, {0} d_v]; got {1}, {2}, {3}",
         key_value_heads == arguments.heads ? "H" : std::to_string(key_value_heads), q.shape(), k.shape(), v.shape());
  expect(arguments.heads > 0 && q.shape()[2] % arguments.heads == 0 && v.shape()[2] % key_value_heads == 0, q, op,
         "{} heads do not divide the widths of q {} and v {}", arguments.heads, q.shape(), v.shape());
  expect(arguments.heads % key_value_heads == 0, q, op, "{} heads of k and v do not divide {} heads of q",
         key_value_heads, arguments.heads);
  expect(arguments.distance_slopes.empty() || arguments.distance_slopes.size() == arguments.heads, q, op,
         "{} distance slopes for {} heads", arguments.distance_slopes.size(), arguments.heads);
  expect(arguments.distance_bias || arguments.buckets.empty(), q, op, "{} buckets and no distance bias",
         arguments.buckets.size());
  expect(arguments.keys <= k.shape()[1], q, op, "{} keys do not lie in k {}", arguments.keys, k.shape());
  const bool ragged = arguments.query_rows != nullptr || arguments.key_rows != nullptr;
  if (ragged) check_rows(q, k, arguments);
  const std::size_t batch = ragged ? arguments.query_rows->count() : q.shape()[0];
  const std::size_t queries = ragged ? arguments.query_rows->longest() : q.shape()[1];
  const std::size_t rows_of_keys = ragged ? arguments.key_rows->longest() : k.shape()[1];
  const std::size_t keys = arguments.keys == 0 ? rows_of_keys : arguments.keys;
  if (const Variable bias = arguments.distance_bias) {
    expect(bias.dimension() == 2 && bias.shape()[1] == arguments.heads, q, op, "takes a distance bias [D, {}]; got {}",
           arguments.heads, bias.shape());
    expect(arguments.buckets.size() + 1 == queries + keys, q, op, "takes {} buckets; got {}", queries + keys - 1,
           arguments.buckets.size());
    for (const std::size_t bucket : arguments.buckets)
      expect(bucket < bias.shape()[0], q, op, "bucket {} is no row of the distance bias {}", bucket, bias.shape());
  }
  expect(arguments.score_cap >= 0, q, op, "a cap on scores must not be negative; got {}", arguments.score_cap);
  expect(ragged || !arguments.causal || queries <= keys, q, op,
         "causal attention takes at most as many queries as keys; got q {}, k {}", q.shape(), k.shape());
  expect(arguments.dropout >= 0 && arguments.dropout < 1, q, op, "the dropout rate must be in [0, 1); got {}",
         arguments.dropout);
  expect(arguments.key_lengths.empty() || arguments.key_lengths.size() == batch, q, op,
         "{} key lengths for a batch of {}", arguments.key_lengths.size(), batch);
  for (const std::size_t length : arguments.key_lengths)
    expect(length <= keys, q, op, "key length {} exceeds the {} keys", length, keys);
  const auto& documents = arguments.documents;
  expect(documents.empty() || (documents.size() == batch && queries == keys && arguments.key_lengths.empty()), q, op,
         "documents take as many queries as keys, their begins in each of {} rows, and no key lengths; got q {}, k {}, "
         "{} rows, {} key lengths",
         batch, q.shape(), k.shape(), documents.size(), arguments.key_lengths.size());
  for (const std::vector<std::size_t>& begins : documents)
    expect(!begins.empty() && begins.front() == 0 && begins.back() < keys &&
               std::adjacent_find(begins.begin(), begins.end(), std::greater_equal<>()) == begins.end(),
           q, op, "documents begin at 0 and then ever later among {} positions; got {}", keys, fmt::join(begins, ", "));
  return {batch,
          queries,
          keys,
          rows_of_keys,
          arguments.heads,
          key_value_heads,
          q.shape()[2] / arguments.heads,
          v.shape()[2] / key_value_heads};
}

/// Keys of a block that its query t sees: always a prefix.
std::size_t visible_keys(std::size_t b, std::size_t t, const Block& block, const AttentionArguments& arguments) {
  const std::size_t length = arguments.key_lengths.empty() ? block.keys : arguments.key_lengths[b];
  return arguments.causal ? std::min(length, t + block.keys - block.queries + 1) : length;
}

/// What is added to the scores of each head, if anything is: number i to that of a key i - (Tq - 1) positions behind
/// its query.
std::vector<Real> biases_by_distance(const AttentionArguments& arguments, const Sizes& s) {
  std::vector<Real> biases;
  const Variable table = arguments.distance_bias;
  const bool sloping = !arguments.distance_slopes.empty();
  if (!table && !sloping) return biases;
  const double last = static_cast<double>(arguments.first_position + s.queries) - 1;
  for (std::size_t head = 0; head < s.heads; ++head)
    for (std::size_t i = 0; i + 1 < s.queries + s.keys; ++i) {
      const double slope = sloping ? arguments.distance_slopes[head] * std::fabs(static_cast<double>(i) - last) : 0;
      biases.push_back((table ? table.value()(arguments.buckets[i], head) : Real(0)) - static_cast<Real>(slope));
    }
  return biases;
}

/// Adds the gradients of a head's scores to that of the table.
void add_bias_gradients(const Real* gradients, const AttentionArguments& arguments, std::size_t head,
                        const Block& block, std::size_t last, Tensor& table_gradient) {
  std::vector<Real> by_distance(block.queries + block.keys - 1, Real(0));
  const std::size_t farthest = block.queries - 1;  // of the block's distances, where the batch row has `last`
  for (std::size_t t = 0; t < block.queries; ++t, gradients += block.row())
    kernels::accumulate(gradients, by_distance.data() + (farthest - t), block.keys);
  for (std::size_t i = 0; i < by_distance.size(); ++i)
    table_gradient(arguments.buckets[last - farthest + i], head) += by_distance[i];
}

/// What an observer is shown: [B, H, Tq, Tk], filled head by head; keys that are hidden get `hidden`, and padding where
/// rows are ragged. Empty where nobody observes.
class Shown {
 public:
  Shown(const Tape& tape, const Sizes& s, Real hidden)
      : observed_(tape.observed()),
        sizes_(s),
        values_(full(observed_ ? Shape{s.batch, s.heads, s.queries, s.keys} : Shape{0}, hidden)) {}

  /// Copies a head's scores, weights or gradients of a block.
  void copy(const Real* rows, std::size_t b, std::size_t h, const Block& block, const AttentionArguments& arguments) {
    if (!observed_) return;
    Real* to = values_.data() + ((b * sizes_.heads + h) * sizes_.queries + block.first) * sizes_.keys;
    for (std::size_t t = 0; t < block.queries; ++t, rows += block.row(), to += sizes_.keys)
      std::copy_n(rows, visible_keys(b, t, block, arguments), to + block.first);
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

// For each batch row, document and head, with S = factor Q K^T - slope distance + bias or, capped, the soft cap of
// that, P = softmax(S), D = dropout(P), O = D V:
//   dV = D^T dO,  dD = dO V^T,  dP = dD * mask,  dS = P * (dP - rowsum(dP * P)),  dQ = factor dS K,  dK = factor dS^T Q
// where a cap turns dS into (1 - (S / cap)^2) dS first, and the gradient of a bias is the sum of dS where it was added.
// dK and dV are sums over the heads of q that share them. P and its dropout are kept as one number an element, with a
// minus sign where it is dropped.
Variable attention(Variable q, Variable k, Variable v, const AttentionArguments& arguments) {
  const Sizes s = check(q, k, v, arguments);
  const Real factor = arguments.factor, cap = arguments.score_cap;
  const std::size_t shared_by = s.heads / s.key_value_heads;
  // Leading dimensions.
  const std::size_t q_row = s.heads * s.key_width, o_row = s.heads * s.value_width;
  const std::size_t k_row = s.key_value_heads * s.key_width, v_row = s.key_value_heads * s.value_width;
  // Where head h of a block begins.
  const auto q_at = [=](const Block& block, std::size_t h) { return block.query * q_row + h * s.key_width; };
  const auto k_at = [=](const Block& block, std::size_t h) { return block.key * k_row + h / shared_by * s.key_width; };
  const auto v_at = [=](const Block& block, std::size_t h) {
    return block.key * v_row + h / shared_by * s.value_width;
  };
  const auto o_at = [=](const Block& block, std::size_t h) { return block.query * o_row + h * s.value_width; };

  Tape& tape = q.tape();
  const Variable bias = arguments.distance_bias;
  const bool recorded = tape.needs_gradient({q, k, v, bias});
  const bool drop = tape.options().training && arguments.dropout > 0;
  const kernels::DropoutRate rate(drop ? arguments.dropout : 0);
  Blocks blocks(s, arguments, recorded);  // what is not kept is overwritten
  const auto scores_at = [=](const Block& block, std::size_t h) { return s.heads * block.offset + h * block.scores(); };
  // Draws of dropout go by the place in the whole batch, of which this may be a part with other documents.
  const std::size_t draws_of_batch_row = s.heads * s.queries * kernels::row_of_scores(s.keys);

  // Of all heads that are computed at once. Those that share keys add up their gradients, one head after the other.
  const auto head_sizes = [=](const Block& block) {
    kernels::HeadSizes sizes{block.queries, block.keys, s.key_width, s.value_width};
    sizes.heads = shared_by > 1 ? 1 : std::min(s.heads, kernels::heads_at_once(sizes));
    return sizes;
  };
  // Calls f(first head, sizes) for the heads that are computed at once.
  const auto by_heads = [=](const Block& block, auto f) {
    kernels::HeadSizes sizes = head_sizes(block);
    for (std::size_t h = 0; h < s.heads; h += sizes.heads) {
      sizes.heads = std::min(sizes.heads, s.heads - h);
      f(h, sizes);
    }
  };
  std::size_t scores_at_once = 0;
  for (const Block& block : blocks.all())
    scores_at_once = std::max(scores_at_once, head_sizes(block).heads * block.scores());
  struct Operands {
    const Real *q, *k, *v;
  };
  const auto operands = [=] { return Operands{q.value().data(), k.value().data(), v.value().data()}; };
  const Operands in = operands();

  Tensor weights(Shape{s.heads * blocks.scores_of_head()});
  // Backward needs those that are capped.
  const bool keep_scores = cap > 0 && recorded;
  Tensor scores(Shape{keep_scores ? weights.size() : tape.observed() ? scores_at_once : 0});
  Tensor kept(Shape{drop ? scores_at_once : 0}), o(Shape{q.shape()[0], q.shape()[1], o_row});
  Shown shown_scores(tape, s, std::numeric_limits<Real>::quiet_NaN()), shown_weights(tape, s, 0);
  const std::vector<Real> biases = biases_by_distance(arguments, s);
  std::vector<std::size_t> visible(s.heads * s.queries);
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (const Block& block : blocks[b]) {
      for (std::size_t row = 0; row < s.heads * block.queries; ++row)
        visible[row] = visible_keys(b, row % block.queries, block, arguments);
      by_heads(block, [&](std::size_t first, const kernels::HeadSizes& sizes) {
        Real* const p = weights.data() + scores_at(block, first);
        Real* const head_scores = scores.data() + (keep_scores ? scores_at(block, first) : 0);
        const std::size_t distances = s.queries + s.keys - 1;
        attention_head::weights(
            sizes, {in.q + q_at(block, first), q_row}, {in.k + k_at(block, first), k_row}, factor,
            {biases.empty() ? nullptr : biases.data() + first * distances + (s.queries - block.queries), distances},
            cap, visible.data(), arguments.subtract_max == SubtractMax::yes, scores.size() > 0 ? head_scores : nullptr,
            p);
        for (std::size_t i = 0; tape.observed() && i < sizes.heads; ++i) {
          shown_scores.copy(head_scores + i * block.scores(), b, first + i, block, arguments);
          shown_weights.copy(p + i * block.scores(), b, first + i, block, arguments);
        }
      });
    }
    if (drop)
      kernels::mark_dropped({arguments.stream, (tape.options().first_row + b) * draws_of_batch_row, rate},
                            weights.data() + scores_at(blocks[b].front(), 0), s.heads * blocks[b].scores());
    for (const Block& block : blocks[b])
      by_heads(block, [&](std::size_t first, const kernels::HeadSizes& sizes) {
        attention_head::output(sizes, weights.data() + scores_at(block, first), rate.keep_scale,
                               {in.v + v_at(block, first), v_row}, kept.data(), {o.data() + o_at(block, first), o_row});
      });
  }
  if (tape.observed()) tape.observe("factor", full({1}, factor));
  shown_scores.show(tape, "scores");
  shown_weights.show(tape, "weights");

  auto backward = [=, arguments = arguments, weights = std::move(weights), scores = std::move(scores),
                   blocks = std::move(blocks)](BackwardPass& pass) {
    const Operands from = operands();
    const Real* d_o = pass.gradient().data();
    const bool to_q = pass.needs(q), to_k = pass.needs(k), to_v = pass.needs(v), to_bias = pass.needs(bias);
    const auto gradient_of = [&](Variable x) {
      if (!pass.needs(x)) return Tensor(Shape{0});
      return s.keys < s.rows_of_keys ? zeros(x.shape()) : empty_like(x.value());  // nothing else clears the room
    };
    Tensor dq = gradient_of(q), dk = gradient_of(k), dv = gradient_of(v);
    Tensor ds(Shape{scores_at_once}), d_bias = to_bias ? zeros(bias.shape()) : Tensor(Shape{0});
    Shown shown_gradients(q.tape(), s, 0);
    const auto gradients = [](bool needed, Tensor& x, std::size_t at, std::size_t stride) {
      return kernels::MutableRows{needed ? x.data() + at : nullptr, stride};
    };
    for (std::size_t b = 0; b < s.batch; ++b) {
      for (const Block& block : blocks[b])
        by_heads(block, [&](std::size_t first, const kernels::HeadSizes& sizes) {
          const std::size_t at_q = q_at(block, first), at_k = k_at(block, first), at_v = v_at(block, first);
          attention_head::backward(sizes, {from.q + at_q, q_row}, {from.k + at_k, k_row}, {from.v + at_v, v_row},
                                   factor, cap, cap > 0 ? scores.data() + scores_at(block, first) : nullptr,
                                   weights.data() + scores_at(block, first), rate.keep_scale,
                                   {d_o + o_at(block, first), o_row}, ds.data(),
                                   {gradients(to_q, dq, at_q, q_row), gradients(to_k, dk, at_k, k_row),
                                    gradients(to_v, dv, at_v, v_row), first % shared_by != 0});
          for (std::size_t i = 0; i < sizes.heads; ++i) {
            const Real* const ds_of_head = ds.data() + i * block.scores();
            shown_gradients.copy(ds_of_head, b, first + i, block, arguments);
            if (to_bias) add_bias_gradients(ds_of_head, arguments, first + i, block, s.queries - 1, d_bias);
          }
        });
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
