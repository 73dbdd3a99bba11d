#include "train/decoding.hpp"

#include "tests/train/toy.hpp"
#include "train/evaluation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>

namespace surd {
namespace {

using Ids = std::vector<TokenId>;

constexpr std::size_t decoder_vocabulary = 7;
const std::vector<Ids> sources = {{4, 5, 6, 2}, {2}, {6, 6, 2}, {5, 4, 6, 4, 5, 2}, {3, 2}};
const std::vector<double> penalties = {0, 0.6, 1, 2, 6};

/// An untrained model whose distributions are far from uniform. `eos`: its logit.
struct Decoder : test::Toy {
  explicit Decoder(std::uint64_t seed, double eos = 0) : Toy(decoder_vocabulary, options(), seed) {
    for (Real& weight : parameters.find("output.weight").value) weight *= Real(3);
    test::set_eos_logit(parameters, eos);
  }
  static TransformerOptions options() {
    TransformerOptions options = test::toy_options(0.5);  // dropout must not act in decoding
    options.embedding.tie = Tie::none;
    return options;
  }

  /// log p(. | prefix) by a whole forward pass.
  const std::vector<double>& next(const Ids& source, const Ids& prefix) const {
    auto [found, fresh] = rows_.try_emplace({source, prefix});
    if (!fresh) return found->second;
    const TapeArguments inference = TapeArguments::inference();
    Tape tape(inference);
    Ids input = prefix;
    input.insert(input.begin(), Vocabulary::bos);
    const std::vector<std::size_t> lengths = {source.size()};
    const Variable encoded = transformer.encode(tape, {source, 1, source.size()}, lengths);
    const Tensor logits = transformer.logits(transformer.decode({input, 1, input.size()}, encoded, lengths)).value();
    const Real* row = logits.data() + prefix.size() * decoder_vocabulary;
    const double largest = static_cast<double>(*std::max_element(row, row + decoder_vocabulary));
    double sum = 0;
    for (std::size_t v = 0; v < decoder_vocabulary; ++v) sum += std::exp(static_cast<double>(row[v]) - largest);
    for (std::size_t v = 0; v < decoder_vocabulary; ++v)
      found->second.push_back(static_cast<double>(row[v]) - largest - std::log(sum));
    return found->second;
  }

 private:
  mutable std::map<std::pair<Ids, Ids>, std::vector<double>> rows_;
};

double penalised(const Translation& hypothesis, const DecodingArguments& options) {
  const auto length = static_cast<double>(hypothesis.tokens.size() + (hypothesis.finished ? 1 : 0));
  const double base = options.normalization == LengthNormalization::gnmt ? (5 + length) / 6 : length;
  return hypothesis.log_probability / std::pow(base, options.length_penalty);
}

/// The best n: a finished translation is better than one that was cut; otherwise the score decides.
std::vector<Translation> best_of(std::vector<Translation> all, const DecodingArguments& options) {
  std::stable_sort(all.begin(), all.end(), [&](const Translation& a, const Translation& b) {
    return a.finished != b.finished ? a.finished : penalised(a, options) > penalised(b, options);
  });
  all.resize(std::min(all.size(), options.n_best));
  return all;
}

/// Beam search by the book, without any short cut: it keeps all it finishes and goes on to max_length.
std::vector<Translation> reference_search(const Decoder& model, const Ids& source, const DecodingArguments& options) {
  std::vector<Translation> live(1), done;
  for (std::size_t length = 1; length <= options.max_length; ++length) {
    std::vector<Translation> candidates;
    for (const Translation& hypothesis : live)
      for (std::size_t v = 0; v < decoder_vocabulary; ++v) {
        const auto token = static_cast<TokenId>(v);
        if (token == Vocabulary::pad || token == Vocabulary::bos) continue;
        if (token == Vocabulary::unk && !options.allow_unknown) continue;
        Translation next = hypothesis;
        next.log_probability += model.next(source, hypothesis.tokens)[v];
        next.finished = token == Vocabulary::eos;
        if (!next.finished) next.tokens.push_back(token);
        candidates.push_back(next);
      }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Translation& a, const Translation& b) { return a.log_probability > b.log_probability; });
    live.clear();
    for (std::size_t rank = 0; rank < std::min(candidates.size(), 2 * options.beam); ++rank) {
      if (candidates[rank].finished) {
        if (rank < options.beam) done.push_back(candidates[rank]);
      } else if (live.size() < options.beam) {
        live.push_back(candidates[rank]);
      }
      if (options.beam == 1) {
        if (candidates[0].finished) return {candidates[0]};
        break;
      }
    }
  }
  done.insert(done.end(), live.begin(), live.end());
  REQUIRE_FALSE(done.empty());
  return best_of(done, options);
}

void check_same(const Translation& actual, const Translation& expected) {
  CHECK(actual.tokens == expected.tokens);
  CHECK(actual.finished == expected.finished);
  CHECK(actual.log_probability == doctest::Approx(expected.log_probability).epsilon(1e-4));
}

TEST_CASE("a beam of one takes the likeliest token each time") {
  std::size_t cut = 0, finished = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Decoder model(seed, seed % 3 == 0 ? 3 : 0);
    const auto hypotheses = decode(model.transformer, sources, {1, 6, 1});
    for (std::size_t i = 0; i < sources.size(); ++i) {
      Translation expected;
      while (!expected.finished && expected.tokens.size() < 6) {
        const auto& row = model.next(sources[i], expected.tokens);
        const auto best = static_cast<TokenId>(std::max_element(row.begin() + 2, row.end()) - row.begin());
        expected.log_probability += row[static_cast<std::size_t>(best)];
        expected.finished = best == Vocabulary::eos;
        if (!expected.finished) expected.tokens.push_back(best);
      }
      check_same(hypotheses[i], expected);
      ++(expected.finished ? finished : cut);
    }
  }
  CHECK(cut > 5);
  CHECK(finished > 5);
}

TEST_CASE("a beam that holds everything finds what an exhaustive search finds") {
  constexpr std::size_t max_length = 4;
  std::size_t different_from_greedy = 0;
  std::map<std::size_t, std::size_t> lengths;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Decoder model(seed, seed % 2 == 0 ? 0 : -1);
    // All translations of up to three tokens and their eos.
    std::vector<Ids> all = {{}};
    for (std::size_t begin = 0, length = 1; length < max_length; ++length) {
      const std::size_t end = all.size();
      for (; begin < end; ++begin)
        for (TokenId token = Vocabulary::unk; token < static_cast<TokenId>(decoder_vocabulary); ++token) {
          all.push_back(all[begin]);
          all.back().push_back(token);
        }
    }
    REQUIRE(all.size() == 1 + 4 + 16 + 64);
    for (const Ids& source : sources) {
      std::vector<SentencePair> pairs;
      for (const Ids& target : all) pairs.push_back({source, target});
      const auto scores = score(model.transformer, pairs, 32);
      std::vector<Translation> candidates;
      for (std::size_t i = 0; i < all.size(); ++i) {
        candidates.push_back({all[i], 0, true});
        for (const double log_probability : scores[i]) candidates.back().log_probability += log_probability;
      }
      for (const double alpha : penalties)
        for (const LengthNormalization normalization : {LengthNormalization::gnmt, LengthNormalization::fairseq}) {
          CAPTURE(alpha);
          const DecodingArguments options{400, max_length, alpha, 0, normalization, 5};
          const auto best = best_of(candidates, options);
          const auto found = decode_n_best(model.transformer, {source}, options)[0];
          REQUIRE(found.size() == 5);
          for (std::size_t i = 0; i < 5; ++i) check_same(found[i], best[i]);
          const Translation greedy = decode(model.transformer, {source}, {1, max_length, alpha, 0, normalization})[0];
          CHECK((!greedy.finished || penalised(greedy, options) <= penalised(found[0], options) + 1e-6));
          different_from_greedy += greedy.tokens != found[0].tokens ? 1 : 0;
          ++lengths[found[0].tokens.size()];
        }
    }
  }
  CHECK(different_from_greedy > 10);
  CHECK(lengths.size() >= 3);
}

TEST_CASE("what decoding leaves out early could not have won") {
  std::size_t cut = 0, finished = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const Decoder model(seed, static_cast<double>(seed % 4) - 2);
    for (const std::size_t beam : {1, 2, 3, 5})
      for (const double alpha : penalties)
        for (const std::size_t max_length : {1, 2, 3, 6}) {
          const auto normalization = seed % 2 == 0 ? LengthNormalization::gnmt : LengthNormalization::fairseq;
          const DecodingArguments options{beam, max_length, alpha, 0, normalization, seed % 3 == 0 ? beam : 1};
          const auto hypotheses = decode_n_best(model.transformer, sources, options);
          const auto first = decode(model.transformer, sources, options);
          for (std::size_t i = 0; i < sources.size(); ++i) {
            CAPTURE(seed);
            CAPTURE(beam);
            CAPTURE(alpha);
            CAPTURE(max_length);
            CAPTURE(i);
            const auto expected = reference_search(model, sources[i], options);
            REQUIRE(hypotheses[i].size() == expected.size());
            for (std::size_t n = 0; n < expected.size(); ++n) {
              check_same(hypotheses[i][n], expected[n]);
              CHECK(hypotheses[i][n].score == penalised(hypotheses[i][n], options));
            }
            check_same(first[i], expected[0]);
            ++(first[i].finished ? finished : cut);
          }
        }
  }
  CHECK(cut > 100);
  CHECK(finished > 100);
}

TEST_CASE("unk is not written where it may not be, and the search is the same without it") {
  std::size_t written = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Decoder model(seed, 1);
    for (const std::size_t beam : {1, 3}) {
      DecodingArguments options{beam, 6, 1, 0, LengthNormalization::gnmt, beam};
      for (const Translation& usual : decode(model.transformer, sources, options))
        written += std::count(usual.tokens.begin(), usual.tokens.end(), Vocabulary::unk) > 0 ? 1 : 0;
      options.allow_unknown = false;
      const auto hypotheses = decode_n_best(model.transformer, sources, options);
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const auto expected = reference_search(model, sources[i], options);
        REQUIRE(hypotheses[i].size() == expected.size());
        for (std::size_t n = 0; n < expected.size(); ++n) {
          check_same(hypotheses[i][n], expected[n]);
          CHECK(std::count(expected[n].tokens.begin(), expected[n].tokens.end(), Vocabulary::unk) == 0);
        }
      }
    }
  }
  CHECK(written > 10);
}

TEST_CASE("sources are translated together as they are alone") {
  for (const std::size_t beam : {1, 3})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const Decoder model(seed, 1);
      const DecodingArguments options{beam, 8, 1};
      const auto together = decode(model.transformer, sources, options);
      REQUIRE(together.size() == sources.size());
      for (std::size_t i = 0; i < sources.size(); ++i)
        check_same(together[i], decode(model.transformer, {sources[i]}, options)[0]);
    }
}

TEST_CASE("the log-probability of a translation is what score() gives it") {
  const Decoder model(4, 1);
  for (const std::size_t beam : {1, 4}) {
    const auto hypotheses = decode(model.transformer, sources, {beam, 6, 1});
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const auto scores = score(model.transformer, {{sources[i], hypotheses[i].tokens}}, 1)[0];
      REQUIRE(scores.size() == hypotheses[i].tokens.size() + 1);
      double sum = hypotheses[i].finished ? scores.back() : 0;
      for (std::size_t t = 0; t + 1 < scores.size(); ++t) sum += scores[t];
      CHECK(std::fabs(hypotheses[i].log_probability - sum) <= 1e-4);
    }
  }
}

TEST_CASE("what does not end is cut at max_length") {
  const Decoder model(1, -50);  // never ends
  for (const std::size_t beam : {1, 3})
    for (const std::size_t max_length : {1, 2, 9}) {
      for (const Translation& hypothesis : decode(model.transformer, sources, {beam, max_length, 1})) {
        CHECK(hypothesis.tokens.size() == max_length);
        CHECK_FALSE(hypothesis.finished);
        for (const TokenId token : hypothesis.tokens) CHECK(token > Vocabulary::eos);
      }
    }
  // Without the limit that is given, the one that grows with the source, whose eos counts.
  DecodingArguments options;
  options.max_length = 1000;
  options.max_length_factor = 2;
  const auto hypotheses = decode(model.transformer, sources, options);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::size_t words = sources[i].size() - 1;
    CHECK(hypotheses[i].tokens.size() == 2 * (words + 1) + 20);
  }
  CHECK(length_limit(2, 4) == 28);
  CHECK(length_limit(1e300, 4) == std::numeric_limits<std::size_t>::max());
  const Decoder silent(1, 50);  // ends at once
  for (const Translation& hypothesis : decode(silent.transformer, sources, {3, 1, 1})) {
    CHECK(hypothesis.tokens.empty());
    CHECK(hypothesis.finished);
  }
}

TEST_CASE("decoding refuses what it cannot do") {
  const Decoder model(1);
  CHECK_THROWS_AS(decode(model.transformer, sources, {0, 5, 1}), Error);
  CHECK_THROWS_AS(decode(model.transformer, sources, {1, 0, 1}), Error);
  DecodingArguments no_length{1, 5, 1};
  no_length.max_lengths.assign(sources.size(), 0);
  CHECK_THROWS_AS(decode(model.transformer, sources, no_length), Error);
  CHECK_THROWS_AS(decode(model.transformer, sources, {2, 5, -1}), Error);  // see `bound`
  CHECK_THROWS_AS(decode(model.transformer, {{4, 2}, {}}, {1, 5, 1}), Error);
  CHECK(decode(model.transformer, {}, {1, 5, 1}).empty());
}

}  // namespace
}  // namespace surd
