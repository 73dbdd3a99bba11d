#include "data/batcher.hpp"

#include "autograd/base/error.hpp"
#include "autograd/base/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace surd {
namespace {

using Ids = std::vector<TokenId>;
using Indices = std::vector<std::size_t>;

/// Pairs of 2 to 31 source positions, whose target is about as long.
std::vector<SentencePair> pairs_of_many_lengths(std::size_t count) {
  random::Sequence draw(random::Stream(1, "test", "batcher"));
  std::vector<SentencePair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = draw.between(1, 30);
    pairs.push_back({Ids(length + 1, Vocabulary::eos), Ids(length + draw.integer(3), Vocabulary::unk)});
  }
  return pairs;
}

BatcherOptions by_size(std::size_t batch_size, bool bucketing = true) {
  BatcherOptions options;
  options.batch_size = batch_size;
  options.bucketing = bucketing;
  return options;
}

BatcherOptions by_tokens(std::size_t batch_tokens, bool bucketing = true) {
  BatcherOptions options;
  options.batch_tokens = batch_tokens;
  options.bucketing = bucketing;
  return options;
}

BatcherOptions windowed(BatcherOptions options, std::size_t window) {
  options.bucketing_window = window;
  return options;
}

std::vector<Indices> epoch_of(Batcher& batcher, std::size_t epoch) {
  std::vector<Indices> batches;
  for (std::size_t i = 0; i < batcher.batches_per_epoch(epoch); ++i) batches.push_back(batcher.batch(epoch, i).indices);
  return batches;
}

TEST_CASE("an epoch has every pair exactly once") {
  const auto pairs = pairs_of_many_lengths(501);
  for (const BatcherOptions& options :
       {by_size(16), by_size(16, false), by_size(1000), by_size(1), windowed(by_size(16), 100),
        windowed(by_size(16), 1), by_tokens(200), by_tokens(200, false), windowed(by_tokens(200), 64), by_tokens(33)}) {
    Batcher batcher(pairs, options, 3);
    for (const std::size_t epoch : {0, 1, 17}) {
      Indices visited;
      for (const Indices& batch : epoch_of(batcher, epoch)) visited.insert(visited.end(), batch.begin(), batch.end());
      std::sort(visited.begin(), visited.end());
      REQUIRE(visited.size() == pairs.size());
      for (std::size_t i = 0; i < visited.size(); ++i) REQUIRE(visited[i] == i);
    }
  }
}

TEST_CASE("batches by size are full, but for one") {
  const auto pairs = pairs_of_many_lengths(501);
  for (const BatcherOptions& options : {by_size(16), by_size(16, false), windowed(by_size(16), 100)}) {
    Batcher batcher(pairs, options, 3);
    CHECK(batcher.batches_per_epoch(0) == 32);
    std::multiset<std::size_t> sizes;
    for (const Indices& batch : epoch_of(batcher, 0)) sizes.insert(batch.size());
    CHECK(sizes.count(16) == 31);
    CHECK(sizes.count(501 % 16) == 1);
  }
}

TEST_CASE("batches by tokens stay within their budget and use it") {
  const auto pairs = pairs_of_many_lengths(2000);
  Batcher batcher(pairs, by_tokens(500), 3);
  std::size_t positions = 0;
  for (std::size_t i = 0; i < batcher.batches_per_epoch(0); ++i) {
    const Batch batch = batcher.batch(0, i);
    CHECK(batch.size * std::max(batch.source_length, batch.target_length) <= 500);
    positions += batch.size * std::max(batch.source_length, batch.target_length);
  }
  CHECK(positions > 450 * batcher.batches_per_epoch(0));
}

TEST_CASE("where a pair is one sequence, the budget is of source and target together") {
  const auto pairs = pairs_of_many_lengths(2000);
  Batcher batcher(pairs, by_tokens(500), 3, Sides::joined);
  std::size_t positions = 0, visited = 0;
  for (std::size_t i = 0; i < batcher.batches_per_epoch(0); ++i) {
    const Batch batch = batcher.batch(0, i);
    CHECK(batch.size * (batch.source_length + batch.target_length) <= 500);
    positions += batch.size * (batch.source_length + batch.target_length);
    visited += batch.size;
  }
  CHECK(visited == pairs.size());
  CHECK(positions > 420 * batcher.batches_per_epoch(0));
  const std::vector<SentencePair> pair{{Ids(20, Vocabulary::unk), Ids(19, Vocabulary::unk)}};  // 20 + 20 positions
  CHECK_NOTHROW(Batcher(pair, by_tokens(40), 3, Sides::joined));
  CHECK_THROWS_WITH_AS(Batcher(pair, by_tokens(39), 3, Sides::joined),
                       "train.batch_tokens: must be at least 40, the length of the longest pair; got 39", Error);
  CHECK_NOTHROW(Batcher(pair, by_tokens(20), 3));
}

TEST_CASE("a batch depends on nothing but seed, epoch and index") {
  const auto pairs = pairs_of_many_lengths(300);
  for (const BatcherOptions& options : {by_size(16), by_tokens(200), windowed(by_size(16), 64), by_size(16, false)}) {
    Batcher batcher(pairs, options, 3);
    const auto first = epoch_of(batcher, 0);
    const auto second = epoch_of(batcher, 1);
    CHECK(first != second);
    Batcher resumed(pairs, options, 3);  // starts in the middle of another epoch
    CHECK(resumed.batch(1, 5).indices == second[5]);
    CHECK(resumed.batch(0, 7).indices == first[7]);
    CHECK(resumed.batch(1, 6).indices == second[6]);
    CHECK(epoch_of(resumed, 0) == first);
    Batcher other_seed(pairs, options, 4);
    CHECK(epoch_of(other_seed, 0) != first);
  }
}

TEST_CASE("bucketing saves padding, the more the wider its window") {
  const auto pairs = pairs_of_many_lengths(2000);
  const auto share = [&](const BatcherOptions& options) { return Batcher(pairs, options, 3).padding_share(0); };
  const double none = share(by_size(32, false));
  const double narrow = share(windowed(by_size(32), 256));
  const double wide = share(by_size(32));
  CHECK(none > 0.4);
  CHECK(narrow < 0.15);
  CHECK(wide < 0.05);
  CHECK(wide < narrow);
  CHECK(narrow < none);
  CHECK(share(by_size(1)) == doctest::Approx(0));
  CHECK(share(by_tokens(500)) < share(by_tokens(500, false)));
}

TEST_CASE("the padding share is that of the batches") {
  auto pairs = pairs_of_many_lengths(200);
  BatcherOptions options = by_tokens(200);
  SUBCASE("of pairs") {}
  SUBCASE("of packed texts") {
    for (SentencePair& pair : pairs) pair.source.clear();
    options.packed_length = 60;
  }
  Batcher batcher(pairs, options, 3);
  double padding = 0;
  double positions = 0;
  for (std::size_t i = 0; i < batcher.batches_per_epoch(2); ++i) {
    const Batch batch = batcher.batch(2, i);
    const std::size_t all = batch.size * (batch.source_length + batch.target_length);
    positions += static_cast<double>(all);
    padding += static_cast<double>(all - batch.source_tokens() - batch.target_tokens());
  }
  CHECK(padding > 0);
  CHECK(Batcher(pairs, options, 3).padding_share(2) == doctest::Approx(padding / positions));
}

TEST_CASE("bucketed batches come in no order of length, and of one length in no order of the corpus") {
  const auto pairs = pairs_of_many_lengths(2000);
  Batcher batcher(pairs, by_size(16), 3);
  Indices lengths;
  std::set<Indices> seen;
  for (const std::size_t epoch : {0, 1, 2}) {
    for (std::size_t i = 0; i < batcher.batches_per_epoch(epoch); ++i) {
      const Batch batch = batcher.batch(epoch, i);
      lengths.push_back(batch.source_length);
      seen.insert(batch.indices);
    }
  }
  CHECK(seen.size() == 3 * 125);  // other company each epoch
  std::size_t rising = 0;
  for (std::size_t i = 1; i < lengths.size(); ++i) rising += lengths[i] > lengths[i - 1] ? 1 : 0;
  CHECK(rising > 130);
  CHECK(rising < 240);
}

TEST_CASE("packed rows hold every text once, and next to no padding") {
  std::vector<SentencePair> texts = pairs_of_many_lengths(1000);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    texts[i].source.clear();
    texts[i].target.assign(texts[i].target.size(), static_cast<TokenId>(10 + i));  // so that each is known by it
  }
  BatcherOptions options = by_tokens(1000);
  options.packed_length = 100;
  Batcher batcher(texts, options, 3), resumed(texts, options, 3);
  resumed.batch(1, 2);
  for (const std::size_t epoch : {0, 1}) {
    std::vector<std::size_t> found(texts.size());
    for (std::size_t i = 0; i < batcher.batches_per_epoch(epoch); ++i) {
      const Batch batch = batcher.batch(epoch, i);
      CHECK(batch.size == (i + 1 < batcher.batches_per_epoch(epoch) ? 10 : batch.size));
      CHECK(batch.size <= 10);
      CHECK(batch.target_length <= 100);
      for (const TokenId token : batch.target_output)
        if (token >= 10) ++found[static_cast<std::size_t>(token) - 10];
      CHECK(batch.target_output == resumed.batch(epoch, i).target_output);
    }
    for (std::size_t i = 0; i < texts.size(); ++i) CHECK(found[i] == texts[i].target.size());
    CHECK(batcher.padding_share(epoch) < 0.03);
  }
  CHECK(batcher.batch(0, 0).target_output != batcher.batch(1, 0).target_output);

  options.packed_length = 30;
  CHECK_THROWS_WITH_AS(Batcher(texts, options, 3),
                       "train.packed_length: must be at least 33, the length of the longest text; got 30", Error);
  options.packed_length = 100;
  options.batch_tokens.reset();
  options.batch_size = 4;
  CHECK_THROWS_WITH_AS(Batcher(texts, options, 3), "batcher: packed_length needs batch_tokens", Error);
  options = by_tokens(1000);
  options.packed_length = 100;
  const auto three = pairs_of_many_lengths(3);
  CHECK_THROWS_WITH_AS(Batcher(three, options, 3),
                       "train.packed_length: packs texts, and pairs of a source and a target are none; set it to null",
                       Error);
}

TEST_CASE("what cannot be cut is an error") {
  const auto pairs = pairs_of_many_lengths(10);
  CHECK_THROWS_WITH_AS(Batcher(pairs, {}, 1),
                       "train.batch_size: must be a number where batch_tokens is none; give one of the two", Error);
  BatcherOptions both = by_size(4);
  both.batch_tokens = 100;
  CHECK_THROWS_WITH_AS(Batcher(pairs, both, 1),
                       "batcher: batch_size must not be given together with batch_tokens; it is 4; write batch_size: "
                       "null, or remove batch_tokens",
                       Error);
  CHECK_THROWS_WITH_AS(Batcher(pairs, by_size(0), 1), "batcher: batch_size must be at least 1; got 0", Error);
  const std::vector<SentencePair> empty;
  CHECK_THROWS_WITH_AS(Batcher(empty, by_size(4), 1), "batcher: there must be pairs to cut into batches; got none",
                       Error);
  const std::vector<SentencePair> one = {{{4, 2}, {5, 5, 5, 5}}};
  CHECK_THROWS_WITH_AS(Batcher(one, by_tokens(4), 1),
                       "train.batch_tokens: must be at least 5, the length of the longest pair; got 4", Error);
  Batcher batcher(one, by_tokens(5), 1);
  CHECK(batcher.batches_per_epoch(0) == 1);
  CHECK_THROWS_WITH_AS(batcher.batch(0, 1), "batcher: epoch 0 has 1 batches; got the index 1", Error);
}

}  // namespace
}  // namespace surd
