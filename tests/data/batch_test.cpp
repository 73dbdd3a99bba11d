#include "data/batch.hpp"

#include "autograd/base/error.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

namespace surd {
namespace {

using Ids = std::vector<TokenId>;
using Sizes = std::vector<std::size_t>;

const std::vector<SentencePair> pairs = {{{10, 2}, {20, 21, 22}}, {{11, 12, 13, 2}, {23}}, {{14, 15, 2}, {}}};

TEST_CASE("a batch pads its rows to the longest") {
  const Batch batch = make_batch(pairs, {1, 0, 2});
  CHECK(batch.size == 3);
  CHECK(batch.source_length == 4);
  CHECK(batch.target_length == 4);
  CHECK(batch.source == Ids{11, 12, 13, 2,  //
                            10, 2, 0, 0,    //
                            14, 15, 2, 0});
  CHECK(batch.target_input == Ids{1, 23, 0, 0,    //
                                  1, 20, 21, 22,  //
                                  1, 0, 0, 0});
  CHECK(batch.target_output == Ids{23, 2, 0, 0,    //
                                   20, 21, 22, 2,  //
                                   2, 0, 0, 0});
  CHECK(batch.source_lengths == Sizes{4, 2, 3});
  CHECK(batch.target_lengths == Sizes{2, 4, 1});
  CHECK(batch.indices == Sizes{1, 0, 2});
  CHECK(batch.source_tokens() == 9);
  CHECK(batch.target_tokens() == 7);
  CHECK(batch.first_row == 0);
}

TEST_CASE("a slice keeps the padding of its batch") {
  const Batch batch = make_batch(pairs, {1, 0, 2});
  const Batch part = batch.slice(1, 3);
  CHECK(part.size == 2);
  CHECK(part.source_length == 4);
  CHECK(part.target_length == 4);
  CHECK(part.source == Ids{10, 2, 0, 0, 14, 15, 2, 0});
  CHECK(part.target_input == Ids{1, 20, 21, 22, 1, 0, 0, 0});
  CHECK(part.target_output == Ids{20, 21, 22, 2, 2, 0, 0, 0});
  CHECK(part.source_lengths == Sizes{2, 3});
  CHECK(part.target_lengths == Sizes{4, 1});
  CHECK(part.indices == Sizes{0, 2});
  CHECK(part.first_row == 1);
  CHECK(part.slice(1, 2).first_row == 2);
  CHECK(part.slice(1, 2).indices == Sizes{2});
}

TEST_CASE("any rows of a batch keep what belongs to them, in the order asked for") {
  const Batch batch = make_batch(pairs, {1, 0, 2});
  const Sizes rows = {2, 0, 2};
  const Batch part = batch.select(rows);
  REQUIRE(part.size == 3);
  CHECK(part.indices == Sizes{2, 1, 2});
  CHECK(part.first_row == 2);
  for (std::size_t i = 0; i < part.size; ++i) {
    const Batch row = part.slice(i, i + 1), same = batch.slice(rows[i], rows[i] + 1);
    CHECK(row.source_length == same.source_length);
    CHECK(row.target_length == same.target_length);
    CHECK(row.source == same.source);
    CHECK(row.target_input == same.target_input);
    CHECK(row.target_output == same.target_output);
    CHECK(row.source_lengths == same.source_lengths);
    CHECK(row.target_lengths == same.target_lengths);
  }
}

TEST_CASE("slices are cut where they have about as many tokens") {
  const auto cuts = [](const Sizes& lengths, std::size_t count) {
    Batch batch;
    batch.size = lengths.size();
    batch.source_lengths.assign(lengths.size(), 0);
    batch.target_lengths = lengths;
    return batch.even_cuts(count);
  };
  CHECK(cuts({3, 3, 3, 3}, 1) == Sizes{0, 4});
  CHECK(cuts({3, 3, 3, 3}, 2) == Sizes{0, 2, 4});
  CHECK(cuts({3, 3, 3, 3}, 4) == Sizes{0, 1, 2, 3, 4});
  CHECK(cuts({1, 1, 1, 1, 1, 1, 6}, 2) == Sizes{0, 6, 7});
  CHECK(cuts({6, 1, 1, 1, 1, 1, 1}, 2) == Sizes{0, 1, 7});
  CHECK(cuts({100, 1, 1, 1}, 3) == Sizes{0, 1, 2, 4});
  CHECK(cuts({1, 1, 1, 100}, 3) == Sizes{0, 2, 3, 4});
  CHECK(make_batch(pairs, {1, 0, 2}).even_cuts(3) == Sizes{0, 1, 2, 3});
  CHECK_THROWS_AS(cuts({1, 1}, 3), Error);
  CHECK_THROWS_AS(cuts({1, 1}, 0), Error);
}

TEST_CASE("a packed row holds several texts, each with its own bos, eos and places") {
  const std::vector<SentencePair> texts = {{{}, {20, 21}}, {{}, {22}}, {{}, {}}, {{}, {23, 24, 25, 26}}};
  const Batch batch = make_packed_batch(texts, {{1, 0}, {3}, {2}});
  CHECK(batch.size == 3);
  CHECK(batch.source_length == 0);
  CHECK(batch.target_length == 5);
  CHECK(batch.target_input == Ids{1, 22, 1, 20, 21,   //
                                  1, 23, 24, 25, 26,  //
                                  1, 0, 0, 0, 0});
  CHECK(batch.target_output == Ids{22, 2, 20, 21, 2,   //
                                   23, 24, 25, 26, 2,  //
                                   2, 0, 0, 0, 0});
  CHECK(batch.target_places == std::vector<std::int32_t>{0, 1, 0, 1, 2,  //
                                                         0, 1, 2, 3, 4,  //
                                                         0, 0, 0, 0, 0});
  CHECK(batch.target_lengths == Sizes{5, 5, 1});
  CHECK(batch.indices == Sizes{1, 3, 2});
  CHECK(batch.target_tokens() == 11);
  const Batch part = batch.select({2, 0});
  CHECK(part.target_places == std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 1, 0, 1, 2});
  CHECK_THROWS_WITH_AS(make_packed_batch(texts, {}), "batch: a batch must have a row; got none", Error);
  CHECK_THROWS_WITH_AS(make_packed_batch(texts, {{0}, {}}), "batch: a row must hold a text; got none", Error);
  CHECK_THROWS_WITH_AS(make_packed_batch(texts, {{4}}),
                       "batch: an index must be less than 4, the number of pairs; got 4", Error);
  CHECK_THROWS_WITH_AS(make_packed_batch(pairs, {{0}}), "batch: texts of one row have no source; pair 0 has one",
                       Error);
}

TEST_CASE("batches that cannot be are errors") {
  CHECK_THROWS_WITH_AS(make_batch(pairs, {}), "batch: a batch must have a pair; got none", Error);
  CHECK_THROWS_WITH_AS(make_batch(pairs, {0, 3}), "batch: an index must be less than 3, the number of pairs; got 3",
                       Error);
  CHECK_THROWS_WITH_AS(make_batch({{{2}, {20}}, {{}, {20}}}, {0, 1}),
                       "batch: all pairs must have a source or none; pair 1 differs from pair 0", Error);
  const Batch batch = make_batch(pairs, {0, 1});
  CHECK_THROWS_WITH_AS(batch.slice(1, 1), "batch: a slice must be a part of its 2 rows and not empty; got [1, 1)",
                       Error);
  CHECK_THROWS_AS(batch.slice(0, 3), Error);
  CHECK_THROWS_WITH_AS(batch.select({}), "batch: a part of a batch must have a row; got none", Error);
  CHECK_THROWS_WITH_AS(batch.select({0, 2}), "batch: a row must be less than 2; got 2", Error);
  CHECK_THROWS_AS(evaluation_batches(pairs, 0), Error);
}

TEST_CASE("pairs are sorted by source, then by target, and those of one length stay in their order") {
  const std::vector<std::pair<std::size_t, std::size_t>> lengths = {{3, 1}, {1, 2}, {1, 0}, {1, 2}, {3, 0}, {2, 9}};
  std::vector<SentencePair> some;
  for (const auto& [source, target] : lengths)
    some.push_back({Ids(source, Vocabulary::eos), Ids(target, Vocabulary::unk)});
  Sizes order = {0, 3, 5, 1, 4, 2};
  sort_by_length(order.begin(), order.end(), some);
  CHECK(order == Sizes{2, 3, 1, 5, 4, 0});
  Sizes window = {0, 3, 5, 1, 4, 2};
  sort_by_length(window.begin() + 1, window.begin() + 4, some);
  CHECK(window == Sizes{0, 3, 1, 5, 4, 2});
}

TEST_CASE("evaluation goes through all pairs once, from long batches to short ones") {
  std::vector<SentencePair> many;
  for (std::size_t i = 0; i < 25; ++i)
    many.push_back({Ids(1 + i * 7 % 11, Vocabulary::eos), Ids(i * 5 % 13, Vocabulary::unk)});
  const auto batches = evaluation_batches(many, 4);
  REQUIRE(batches.size() == 7);
  CHECK(batches.front().size == 1);
  Sizes visited;
  std::size_t shortest = std::numeric_limits<std::size_t>::max();
  for (const Batch& batch : batches) {
    CHECK(std::is_sorted(batch.source_lengths.begin(), batch.source_lengths.end()));
    CHECK(batch.source_lengths.back() <= shortest);
    shortest = batch.source_lengths.front();
    for (std::size_t row = 0; row < batch.size; ++row)
      CHECK(batch.source_lengths[row] == many[batch.indices[row]].source.size());
    visited.insert(visited.end(), batch.indices.begin(), batch.indices.end());
  }
  std::sort(visited.begin(), visited.end());
  for (std::size_t i = 0; i < many.size(); ++i) CHECK(visited.at(i) == i);
  CHECK(evaluation_batches({}, 4).empty());
  const auto all = evaluation_batches(many, std::numeric_limits<std::size_t>::max());
  REQUIRE(all.size() == 1);
  CHECK(all.front().size == many.size());
}

TEST_CASE("an evaluation takes fewer long pairs together, whichever side is long") {
  const auto sizes = [](const std::vector<std::pair<std::size_t, std::size_t>>& lengths) {
    std::vector<SentencePair> long_pairs;
    for (const auto& [source, target] : lengths)
      long_pairs.push_back({Ids(source, Vocabulary::eos), Ids(target, Vocabulary::unk)});
    Sizes found;
    for (const Batch& batch : evaluation_batches(long_pairs, 64)) found.push_back(batch.size);
    return found;
  };
  const std::size_t half = evaluation_positions / 2;
  CHECK(sizes({{half, 1}, {half, 1}}) == Sizes{2});
  CHECK(sizes({{half, 1}, {half + 1, 1}}) == Sizes{1, 1});
  CHECK(sizes({{1, half}, {1, half}, {2, half}}) == Sizes{1, 2});
  CHECK(sizes({{1, 1}, {1, 4 * half}, {2, 1}}) == Sizes{1, 1, 1});
}

}  // namespace
}  // namespace surd
