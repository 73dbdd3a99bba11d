#include "data/batcher.hpp"

#include "autograd/base/random.hpp"

#include <algorithm>
#include <numeric>

namespace surd {
namespace {

/// Of the source and the target of a pair, or of the longest ones of some pairs.
struct Lengths {
  std::size_t source = 0, target = 0;

  static Lengths of(const SentencePair& pair) { return {pair.source.size(), pair.target.size() + 1}; }
  Lengths with(const Lengths& other) const { return {std::max(source, other.source), std::max(target, other.target)}; }
  /// Positions of a row, or of its longer side.
  std::size_t row(Sides sides) const { return sides == Sides::joined ? source + target : std::max(source, target); }
};

}  // namespace

void BatcherOptions::fields(Fields& f) {
  f("batch_size", batch_size, "sentence pairs a batch; give either this or batch_tokens", at_least(1), Unit{"pairs"});
  f("batch_tokens", batch_tokens,
    "most padded tokens a batch: pairs times the length of its longest source or target, whichever is longer, eos "
    "included; fairseq's --max-tokens with --required-batch-size-multiple 1. Where model.kind is decoder_only, of both "
    "together",
    at_least(1), Unit{"tokens"});
  f("packed_length", packed_length,
    "positions a row, for texts without a source: a row holds as many whole texts as fit, eos included, which do not "
    "see each other, and next to no padding. A batch has as many rows as batch_tokens allow, and replicas share rows; "
    "null: a text a row",
    at_least(1), Unit{"positions"}, When{batch_tokens.has_value(), "batch_tokens is given"});
  f("bucketing", bucketing, "whether pairs of similar length share a batch, so that more of them fit into batch_tokens",
    When{!packed_length, "packed_length is null"});
  f("bucketing_window", bucketing_window, "pairs are sorted by length within windows of so many; default: all together",
    at_least(1), Unit{"pairs"}, When{bucketing && !packed_length, "bucketing is read and true"});
  f.rule(!packed_length || !batch_tokens || *packed_length <= *batch_tokens, "packed_length",
         fmt::format("must be at most batch_tokens = {}", batch_tokens.value_or(0)));
  f.rule(!(batch_size && batch_tokens), "batch_size",
         "must not be given together with batch_tokens; write batch_size: null, or remove batch_tokens");
}

Batcher::Batcher(const std::vector<SentencePair>& pairs, const BatcherOptions& options, std::uint64_t seed, Sides sides)
    : pairs_(&pairs), options_(options), seed_(seed), sides_(sides) {
  check_options("batcher", options_);
  expect_option(options_.batch_size || options_.batch_tokens, "train.batch_size",
                "must be a number where batch_tokens is none; give one of the two");
  expect(!options_.packed_length || options_.batch_tokens, "batcher", "packed_length needs batch_tokens");
  expect(!pairs.empty(), "batcher", "there must be pairs to cut into batches; got none");
  std::size_t longest = 0;
  for (const SentencePair& pair : pairs) longest = std::max(longest, Lengths::of(pair).row(sides));
  expect_option(!options_.batch_tokens || longest <= *options_.batch_tokens, "train.batch_tokens",
                "must be at least {}, the length of the longest pair; got {}", longest,
                options_.batch_tokens.value_or(0));
  if (!options_.packed_length) return;
  for (const SentencePair& pair : pairs)
    expect_option(pair.source.empty(), "train.packed_length",
                  "packs texts, and pairs of a source and a target are none; set it to null");
  expect_option(longest <= *options_.packed_length, "train.packed_length",
                "must be at least {}, the length of the longest text; got {}", longest, *options_.packed_length);
}

/// The pairs in the order in which they are cut.
std::vector<std::size_t> Batcher::order(std::size_t epoch) const {
  std::vector<std::size_t> order(pairs_->size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random::Sequence(random::Stream(seed_, "batches", "pairs", epoch)).shuffle(order);
  if (!options_.bucketing || options_.packed_length) return order;

  const std::size_t window = options_.bucketing_window.value_or(order.size());
  bool ascending = true;
  for (std::size_t begin = 0; begin < order.size(); begin += std::min(window, order.size() - begin)) {
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(window, order.size() - begin));
    // Stable, so that pairs of one length stay shuffled.
    sort_by_length(first, last, *pairs_);
    // Every other window runs downwards, so that a batch across two windows also has pairs of similar length.
    if (!ascending) std::reverse(first, last);
    ascending = !ascending;
  }
  return order;
}

Batcher::Plan Batcher::cut(const std::vector<std::size_t>& order) const {
  Plan plan;
  Lengths longest;  // in the batch that is being filled
  for (const std::size_t index : order) {
    const Lengths pair = Lengths::of((*pairs_)[index]), lengths = longest.with(pair);
    const bool full =
        plan.empty() || (options_.batch_size ? plan.back().size() == *options_.batch_size
                                             : (plan.back().size() + 1) * lengths.row(sides_) > *options_.batch_tokens);
    if (full) plan.emplace_back();
    longest = full ? pair : lengths;
    plan.back().push_back(index);
  }
  return plan;
}

Batcher::Plan Batcher::pack(const std::vector<std::size_t>& order) {
  struct OpenRow {
    std::size_t row, room;
  };
  constexpr std::size_t most_open = 64;  // or else an epoch takes the square of its texts
  std::vector<OpenRow> open;             // the oldest first
  packed_rows_.clear();
  for (const std::size_t index : order) {
    const std::size_t length = (*pairs_)[index].target.size() + 1;
    auto place = std::find_if(open.begin(), open.end(), [&](const OpenRow& row) { return row.room >= length; });
    if (place == open.end()) {
      if (open.size() == most_open) open.erase(open.begin());
      place = open.insert(open.end(), {packed_rows_.size(), *options_.packed_length});
      packed_rows_.emplace_back();
    }
    packed_rows_[place->row].push_back(index);
    place->room -= length;
    if (place->room == 0) open.erase(place);
  }
  Plan plan;
  const std::size_t rows = *options_.batch_tokens / *options_.packed_length;
  for (std::size_t row = 0; row < packed_rows_.size(); ++row) {
    if (row % rows == 0) plan.emplace_back();
    plan.back().push_back(row);
  }
  return plan;
}

const Batcher::Plan& Batcher::plan(std::size_t epoch) {
  if (planned_epoch_ != epoch) {
    const bool packed = options_.packed_length.has_value();
    plan_ = packed ? pack(order(epoch)) : cut(order(epoch));
    if (options_.bucketing && !packed)
      random::Sequence(random::Stream(seed_, "batches", "order", epoch)).shuffle(plan_);
    planned_epoch_ = epoch;
  }
  return plan_;
}

std::size_t Batcher::batches_per_epoch(std::size_t epoch) { return plan(epoch).size(); }

Batch Batcher::batch(std::size_t epoch, std::size_t index) {
  const Plan& batches = plan(epoch);
  expect(index < batches.size(), "batcher", "epoch {} has {} batches; got the index {}", epoch, batches.size(), index);
  if (!options_.packed_length) return make_batch(*pairs_, batches[index]);
  std::vector<Row> rows;
  for (const std::size_t row : batches[index]) rows.push_back(packed_rows_[row]);
  return make_packed_batch(*pairs_, rows);
}

double Batcher::padding_share(std::size_t epoch) {
  const auto lengths_of = [&](std::size_t row) {
    if (!options_.packed_length) return Lengths::of((*pairs_)[row]);
    Lengths lengths;
    for (const std::size_t text : packed_rows_[row]) lengths.target += Lengths::of((*pairs_)[text]).target;
    return lengths;
  };
  std::size_t positions = 0, tokens = 0;
  for (const std::vector<std::size_t>& batch : plan(epoch)) {
    Lengths longest;
    for (const std::size_t row : batch) {
      const Lengths lengths = lengths_of(row);
      longest = longest.with(lengths);
      tokens += lengths.source + lengths.target;
    }
    positions += batch.size() * (longest.source + longest.target);
  }
  return 1 - static_cast<double>(tokens) / static_cast<double>(positions);
}

}  // namespace surd
