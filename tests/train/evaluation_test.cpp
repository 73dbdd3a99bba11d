#include "train/evaluation.hpp"

#include "tests/train/toy.hpp"
#include "train/decoding.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

using test::copy_pairs;
using test::no_words;
using test::rounding;
using test::Toy;

constexpr std::size_t model_vocabulary = 8;

std::vector<SentencePair> pairs() {
  auto all = copy_pairs(23, 0, 5, model_vocabulary - Vocabulary::specials);
  all[3].target.clear();  // nothing but eos
  all[5].target = {4, 5, 6, 7, 4, 5, 6, 7};
  return all;
}

/// Dropout, which must not act, and weights that are not those of an initial model.
struct SmallModel : Toy {
  SmallModel() : Toy(model_vocabulary, test::toy_options(0.5)) { test::perturb(parameters, 0.3); }
};

/// An untrained model that ends its translations, after tokens that differ.
struct Writer : Toy {
  explicit Writer(std::uint64_t seed = 1, double eos = 4) : Toy(model_vocabulary, options(), seed) {
    for (Real& weight : parameters.find("output.weight").value) weight *= Real(3);
    test::set_eos_logit(parameters, eos);
  }
  static TransformerOptions options() {
    TransformerOptions options = test::toy_options(0.5);
    options.embedding.tie = Tie::none;
    return options;
  }
  /// Sources beside what the model makes of them, where that ends.
  std::vector<SentencePair> translated(std::uint64_t of_sources) const {
    std::vector<SentencePair> all;
    for (SentencePair& pair : copy_pairs(20, 1, 5, 4, of_sources)) {
      const Translation own = decode(transformer, {pair.source}, {1, 12, 1})[0];
      if (own.finished) all.push_back({pair.source, own.tokens});
    }
    return all;
  }
};

bool has_unknown(const std::vector<TokenId>& tokens) {
  return std::find(tokens.begin(), tokens.end(), Vocabulary::unk) != tokens.end();
}

/// Everything by hand, one pair at a time, in double.
struct OneByOne {
  OneByOne(const Transformer& model, const std::vector<SentencePair>& pairs) {
    for (const SentencePair& pair : pairs) {
      const TapeArguments inference = TapeArguments::inference();
      Tape tape(inference);
      std::vector<TokenId> input = {Vocabulary::bos}, output = pair.target;
      input.insert(input.end(), pair.target.begin(), pair.target.end());
      output.push_back(Vocabulary::eos);
      const std::vector<std::size_t> lengths = {pair.source.size()};
      const Variable encoded = model.encode(tape, {pair.source, 1, pair.source.size()}, lengths);
      const Tensor logits = model.logits(model.decode({input, 1, input.size()}, encoded, lengths)).value();
      scores.emplace_back();
      for (std::size_t t = 0; t < output.size(); ++t) {
        const Real* row = logits.data() + t * model_vocabulary;
        double sum = 0;
        for (std::size_t v = 0; v < model_vocabulary; ++v) sum += std::exp(static_cast<double>(row[v]));
        scores.back().push_back(static_cast<double>(row[output[t]]) - std::log(sum));
        loss -= scores.back().back();
        const bool predicted = std::max_element(row, row + model_vocabulary) - row == output[t];
        right += predicted && output[t] != Vocabulary::unk ? 1 : 0;
        right_unknown += predicted && output[t] == Vocabulary::unk ? 1 : 0;
        ++tokens;
      }
    }
    loss /= static_cast<double>(tokens);
  }
  std::vector<std::vector<double>> scores;
  double loss = 0;
  std::size_t right = 0, right_unknown = 0, tokens = 0;
};

TEST_CASE("loss, perplexity and token accuracy are those of a computation by hand, whatever the batch size") {
  const SmallModel model;
  const auto all = pairs();
  const OneByOne one_by_one(model.transformer, all);
  CHECK(one_by_one.right > 0);
  CHECK(one_by_one.right < one_by_one.tokens);
  for (const std::size_t batch_size : {1, 2, 7, 23, 64}) {
    CAPTURE(batch_size);
    const Evaluation evaluation = evaluate(model.transformer, all, no_words, {batch_size, 0});
    CHECK(evaluation.loss == doctest::Approx(one_by_one.loss).epsilon(rounding));
    CHECK(evaluation.perplexity == doctest::Approx(std::exp(one_by_one.loss)).epsilon(10 * rounding));
    CHECK(evaluation.token_accuracy == static_cast<double>(one_by_one.right) / static_cast<double>(one_by_one.tokens));
    CHECK(evaluation.pairs == all.size());
    CHECK(evaluation.target_tokens == one_by_one.tokens);
    CHECK(evaluation.decoded == 0);
    CHECK(evaluation.sequence_accuracy == 0);
  }
}

TEST_CASE("score() gives each token's log-probability in the order of the pairs, whatever the batch size") {
  const SmallModel model;
  const auto all = pairs();
  const OneByOne one_by_one(model.transformer, all);
  for (const std::size_t batch_size : {1, 7, 64}) {
    const auto scores = score(model.transformer, all, batch_size);
    REQUIRE(scores.size() == all.size());
    double worst = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      REQUIRE(scores[i].size() == all[i].target.size() + 1);
      for (std::size_t t = 0; t < scores[i].size(); ++t)
        worst = std::max(worst, std::fabs(scores[i][t] / one_by_one.scores[i][t] - 1));
    }
    CHECK(worst <= rounding);
  }
  CHECK(score(model.transformer, {}, 4).empty());
}

TEST_CASE("sequence accuracy counts the pairs whose greedy translation is the reference") {
  const Writer model;
  // References the model itself wrote, and others with one token more, less or another.
  std::vector<SentencePair> all;
  std::size_t right_of_first[21] = {};
  for (const SentencePair& pair : copy_pairs(20, 1, 5, 4, 9)) {
    const Translation own = decode(model.transformer, {pair.source}, {1, 12, 1})[0];
    SentencePair reference{pair.source, own.tokens};
    bool right = own.finished && !has_unknown(own.tokens);
    const std::size_t i = all.size();
    if (i % 4 == 1 && !own.tokens.empty()) reference.target.pop_back(), right = false;
    if (i % 4 == 2) reference.target.push_back(5), right = false;
    if (i % 4 == 3 && !own.tokens.empty()) reference.target[0] = reference.target[0] == 4 ? 5 : 4, right = false;
    all.push_back(reference);
    right_of_first[i + 1] = right_of_first[i] + (right ? 1 : 0);
  }
  CHECK(right_of_first[20] >= 3);
  for (const std::size_t batch_size : {1, 3, 64})
    for (const std::size_t count : {1, 5, 20, 99}) {
      const Evaluation evaluation = evaluate(model.transformer, all, no_words, {batch_size, count});
      const std::size_t decoded = std::min<std::size_t>(count, 20);
      CHECK(evaluation.decoded == decoded);
      CHECK(evaluation.sequence_accuracy ==
            static_cast<double>(right_of_first[decoded]) / static_cast<double>(decoded));
    }
}

TEST_CASE("translations are searched for as the arguments say") {
  std::size_t greedy = 0, all_pairs = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Writer model(seed, 2);
    std::vector<SentencePair> all;
    for (SentencePair& pair : copy_pairs(20, 1, 5, 4, seed)) {
      const Translation best = decode(model.transformer, {pair.source}, {4, 12, 1})[0];
      if (best.finished && !has_unknown(best.tokens)) all.push_back({pair.source, best.tokens});
    }
    if (all.empty()) continue;
    EvaluationArguments arguments;
    greedy += static_cast<std::size_t>(std::lround(
        evaluate(model.transformer, all, no_words, arguments).sequence_accuracy * static_cast<double>(all.size())));
    all_pairs += all.size();
    arguments.search.beam = 4;
    CHECK(evaluate(model.transformer, all, no_words, arguments).sequence_accuracy == 1);
  }
  CHECK(greedy < all_pairs);  // or a beam finds nothing that is better
}

TEST_CASE("a reference with a word that the vocabulary lacks is matched by nothing, not by unk either") {
  std::size_t right = 0, matched_by_unknown = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Writer model(seed, 2);
    std::vector<SentencePair> all;
    std::size_t known = 0;
    for (const SentencePair& own : model.translated(seed)) {
      const bool unknown = has_unknown(own.target);
      all.push_back({own.source, own.target, unknown ? "the words of the file" : ""});
      (unknown ? matched_by_unknown : known) += 1;
    }
    if (all.empty()) continue;
    for (const std::size_t batch_size : {1, 7, 64})
      CHECK(evaluate(model.transformer, all, no_words, {batch_size}).sequence_accuracy ==
            static_cast<double>(known) / static_cast<double>(all.size()));
    right += known;
  }
  CHECK(right >= 10);
  CHECK(matched_by_unknown >= 10);
}

TEST_CASE("predicting unk for a token that the vocabulary lacks is not right, and its loss counts") {
  std::vector<SentencePair> all = pairs();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t t = i % 2; t < all[i].target.size(); t += 2) all[i].target[t] = Vocabulary::unk;
  std::size_t right = 0, right_unknown = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Writer model(seed, 2);
    const OneByOne one_by_one(model.transformer, all);
    const Evaluation evaluation = evaluate(model.transformer, all, no_words, {7, 0});
    CHECK(evaluation.token_accuracy == static_cast<double>(one_by_one.right) / static_cast<double>(one_by_one.tokens));
    CHECK(evaluation.loss == doctest::Approx(one_by_one.loss).epsilon(rounding));
    right += one_by_one.right;
    right_unknown += one_by_one.right_unknown;
  }
  CHECK(right >= 10);
  CHECK(right_unknown >= 10);
}

TEST_CASE("a translation is right whose words are those of the reference, cut into other pieces") {
  constexpr TokenId piece = 4, two_pieces = 6;
  Corpus corpus;
  corpus.subwords.set<Words>("words", {"@@"});
  corpus.splits = {{"train", {{"x", "a@@ a@@ a@@ a@@ b b b aa@@ aa@@ c"}}}};  // the most frequent first
  const TextCodec codec = TextCodec::build(corpus);
  REQUIRE(codec.encode_target("a@@ b aa@@") == std::vector<TokenId>{piece, 5, two_pieces});

  std::size_t with_fewer_tokens = 0, right_as_ids = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Writer model(seed, 2);
    std::vector<SentencePair> all;
    std::size_t right = 0, same_ids = 0;
    for (const SentencePair& own : model.translated(seed)) {
      SentencePair reference{own.source, {}};
      for (const TokenId token : own.target) {
        if (token == piece && !reference.target.empty() && reference.target.back() == piece)
          reference.target.back() = two_pieces;
        else
          reference.target.push_back(token);
      }
      if (!has_unknown(own.target)) ++(reference.target == own.target ? same_ids : with_fewer_tokens);
      right += has_unknown(own.target) ? 0 : 1;
      all.push_back(reference);
    }
    if (all.empty()) continue;
    const auto pairs = static_cast<double>(all.size());
    for (const std::size_t batch_size : {1, 7, 64}) {
      const EvaluationArguments arguments{batch_size};
      CHECK(evaluate(model.transformer, all, codec, arguments).sequence_accuracy == static_cast<double>(right) / pairs);
      CHECK(evaluate(model.transformer, all, no_words, arguments).sequence_accuracy ==
            static_cast<double>(same_ids) / pairs);
    }
    right_as_ids += same_ids;
  }
  CHECK(with_fewer_tokens >= 5);
  CHECK(right_as_ids >= 5);
}

TEST_CASE("evaluation needs no more positions than the references have") {
  TransformerOptions options = test::toy_options();
  LearnedPositionsOptions positions;
  positions.max_length = 6;  // the longest target and its eos
  options.positions = test::learned_positions(positions);
  const Toy model(model_vocabulary, options);
  const auto all = copy_pairs(8, 5, 5, 4);
  CHECK(evaluate(model.transformer, all, no_words, {}).decoded == 8);
}

TEST_CASE("evaluation needs pairs") {
  const SmallModel model;
  CHECK_THROWS_AS(evaluate(model.transformer, {}, no_words, {}), Error);
  CHECK_THROWS_AS(evaluate(model.transformer, pairs(), no_words, {0, 0}), Error);
}

}  // namespace
}  // namespace surd
