#include "data/batcher.hpp"

#include "autograd/base/random.hpp"

#include <algorithm>
#include <numeric>

namespace surd {
namespace {

/// The longest source and the longest target of some pairs.
struct Lengths {
  std::size_t source = 0, target = 0;

  Lengths with(const SentencePair& pair) const {
    return {std::max(source, pair.source.size()), std::max(target, pair.target.size() + 1)};
  }
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
  f("bucketing", bucketing, "whether pairs of similar length share a batch, which saves padding");
  f("bucketing_window", bucketing_window, "pairs are sorted by length within windows of so many; default: all together",
    at_least(1), Unit{"pairs"}, When{bucketing, "bucketing is true"});
  f.rule(!(batch_size && batch_tokens), "batch_size",
         "must not be given together with batch_tokens; write batch_size: null, or remove batch_tokens");
}

Batcher::Batcher(const std::vector<SentencePair>& pairs, const BatcherOptions& options, std::uint64_t seed, Sides sides)
    : pairs_(&pairs), options_(options), seed_(seed), sides_(sides) {
  check_options("batcher", options_);
  expect(options_.batch_size || options_.batch_tokens, "batcher", "batch_size or batch_tokens must be given");
  expect(!pairs.empty(), "batcher", "there must be pairs to cut into batches; got none");
  std::size_t longest = 0;
  for (const SentencePair& pair : pairs) longest = std::max(longest, Lengths().with(pair).row(sides));
  expect_option(!options_.batch_tokens || longest <= *options_.batch_tokens, "train.batch_tokens",
                "must be at least {}, the length of the longest pair; got {}", longest,
                options_.batch_tokens.value_or(0));
}

/// The pairs in the order in which they are cut.
std::vector<std::size_t> Batcher::order(std::size_t epoch) const {
  std::vector<std::size_t> order(pairs_->size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random::Sequence(random::Stream(seed_, "batches", "pairs", epoch)).shuffle(order);
  if (!options_.bucketing) return order;

  const std::size_t window = options_.bucketing_window.value_or(order.size());
  bool ascending = true;
  for (std::size_t begin = 0; begin < order.size(); begin += std::min(window, order.size() - begin)) {
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(window, order.size() - begin));
    // Stable, so that pairs of one length stay shuffled.
    std::stable_sort(first, last, [&](std::size_t a, std::size_t b) { return shorter((*pairs_)[a], (*pairs_)[b]); });
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
    const Lengths lengths = longest.with((*pairs_)[index]);
    const bool full =
        plan.empty() || (options_.batch_size ? plan.back().size() == *options_.batch_size
                                             : (plan.back().size() + 1) * lengths.row(sides_) > *options_.batch_tokens);
    if (full) plan.emplace_back();
    longest = full ? Lengths().with((*pairs_)[index]) : lengths;
    plan.back().push_back(index);
  }
  return plan;
}

const Batcher::Plan& Batcher::plan(std::size_t epoch) {
  if (planned_epoch_ != epoch) {
    plan_ = cut(order(epoch));
    if (options_.bucketing) random::Sequence(random::Stream(seed_, "batches", "order", epoch)).shuffle(plan_);
    planned_epoch_ = epoch;
  }
  return plan_;
}

std::size_t Batcher::batches_per_epoch(std::size_t epoch) { return plan(epoch).size(); }

Batch Batcher::batch(std::size_t epoch, std::size_t index) {
  const Plan& batches = plan(epoch);
  expect(index < batches.size(), "batcher", "epoch {} has {} batches; got the index {}", epoch, batches.size(), index);
  return make_batch(*pairs_, batches[index]);
}

double Batcher::padding_share(std::size_t epoch) {
  std::size_t positions = 0;
  std::size_t tokens = 0;
  for (const std::vector<std::size_t>& batch : plan(epoch)) {
    std::size_t source_length = 0;
    std::size_t target_length = 0;
    for (const std::size_t index : batch) {
      const SentencePair& pair = (*pairs_)[index];
      source_length = std::max(source_length, pair.source.size());
      target_length = std::max(target_length, pair.target.size() + 1);
      tokens += pair.source.size() + pair.target.size() + 1;
    }
    positions += batch.size() * (source_length + target_length);
  }
  return 1 - static_cast<double>(tokens) / static_cast<double>(positions);
}

}  // namespace surd
