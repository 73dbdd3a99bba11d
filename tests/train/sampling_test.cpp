#include "train/sampling.hpp"

#include "tests/train/toy.hpp"
#include "train/evaluation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace surd {
namespace {

using Ids = std::vector<TokenId>;
using test::message_of;

constexpr std::size_t vocabulary = 7;

/// A decoder alone, untrained, whose distributions are far from uniform.
struct Writer : test::Toy {
  explicit Writer(const TransformerOptions& options = test::decoder_only(test::toy_options(0.5)))
      : Toy(vocabulary, options, 3) {
    test::perturb(parameters, 0.6);
  }
};

SamplingArguments drawn(std::uint64_t seed, std::size_t max_length = 12) {
  SamplingArguments arguments{seed};
  arguments.max_length = max_length;
  return arguments;
}

/// How often each token is drawn by numbers spread evenly over [0, 1).
std::vector<std::size_t> counts(const std::vector<Real>& logits, const SamplingArguments& arguments,
                                std::size_t draws = 10000) {
  std::vector<std::size_t> found(logits.size());
  for (std::size_t i = 0; i < draws; ++i)
    ++found[static_cast<std::size_t>(draw_token(logits.data(), logits.size(), arguments,
                                                (static_cast<double>(i) + 0.5) / static_cast<double>(draws)))];
  return found;
}

/// Where the probability number i stands in logits_of().
std::size_t place(std::size_t i) { return i == 0 ? 2 : i + 3; }

/// The logits whose softmax over all but pad, bos and unk, which are likeliest here, has these values.
std::vector<Real> logits_of(const std::vector<double>& probabilities) {
  std::vector<Real> logits(probabilities.size() + 3, 9);
  for (std::size_t i = 0; i < probabilities.size(); ++i)
    logits[place(i)] = static_cast<Real>(std::log(probabilities[i]) + 2);
  return logits;
}

using Counts = std::vector<std::size_t>;

TEST_CASE("tokens are drawn as often as their probability says, pad, bos and unk never") {
  const Counts found = counts(logits_of({0.5, 0.05, 0.3, 0.15}), {1});
  const Counts expected = {0, 0, 5000, 0, 500, 3000, 1500};
  for (std::size_t v = 0; v < expected.size(); ++v)
    CHECK(std::llabs(static_cast<long long>(found[v]) - static_cast<long long>(expected[v])) <= 1);
}

TEST_CASE("the temperature divides logits: at 1/2 probabilities are squared, at 0 the likeliest is taken") {
  SamplingArguments arguments{1};
  arguments.temperature = 0.5;
  const Counts found = counts(logits_of({0.6, 0.3, 0.1}), arguments);  // 36 : 9 : 1
  CHECK(std::fabs(static_cast<double>(found[2]) - 10000 * 36.0 / 46) <= 1);
  CHECK(std::fabs(static_cast<double>(found[place(2)]) - 10000 * 1.0 / 46) <= 1);
  arguments.temperature = 0;
  CHECK(counts(logits_of({0.2, 0.3, 0.1, 0.3}), arguments) == Counts{0, 0, 0, 0, 10000, 0, 0});  // the first of equals
  arguments.temperature = 1e-9;
  CHECK(counts(logits_of({0.2, 0.5, 0.3}), arguments) == Counts{0, 0, 0, 0, 10000, 0});
  arguments.temperature = 1000;  // all but uniform
  for (const std::size_t v : {place(0), place(1), place(2)})
    CHECK(counts(logits_of({0.2, 0.5, 0.3}), arguments)[v] > 3300);
}

TEST_CASE("top-k keeps the likeliest k, top-p the fewest of these that have their share together") {
  const std::vector<Real> logits = logits_of({0.1, 0.4, 0.2, 0.3});
  SamplingArguments arguments{1};
  const auto near = [&](const std::vector<double>& shares) {
    const Counts found = counts(logits, arguments);
    for (std::size_t v = 0; v < shares.size(); ++v)
      CHECK(std::fabs(static_cast<double>(found[place(v)]) - 10000 * shares[v]) <= 1);
  };
  arguments.top_k = 2;
  near({0, 4.0 / 7, 0, 3.0 / 7});
  arguments.top_k = 100;
  near({0.1, 0.4, 0.2, 0.3});
  arguments.top_k = {};
  arguments.top_p = 0.69;
  near({0, 4.0 / 7, 0, 3.0 / 7});
  arguments.top_p = 0.71;
  near({0, 4.0 / 9, 2.0 / 9, 3.0 / 9});
  arguments.top_p = 1e-9;
  near({0, 1, 0, 0});
  arguments.top_k = 2;
  arguments.top_p = 0.58;  // of the two that top-k leaves, 4/7 is not enough
  near({0, 4.0 / 7, 0, 3.0 / 7});
  arguments.top_p = 0.56;
  near({0, 1, 0, 0});
}

TEST_CASE("nothing is drawn from logits of a model that has diverged") {
  std::vector<Real> logits(vocabulary, 1);
  logits[5] = std::numeric_limits<Real>::quiet_NaN();
  CHECK(message_of([&] { draw_token(logits.data(), vocabulary, {1}, 0.5); }) ==
        "sample: the model has the logit nan for token 5: it has diverged");
}

TEST_CASE("of many tokens, of which some are equally likely, top-k and top-p draw from the sorted ones") {
  constexpr std::size_t many = 500;
  const random::Stream stream(1, "test", "logits");
  std::vector<Real> logits(many);
  for (std::size_t v = 0; v < many; ++v) logits[v] = static_cast<Real>(std::round(4 * stream.normal(v)) / 4);
  Ids sorted(many - 3);  // but pad, bos and unk
  std::iota(sorted.begin(), sorted.end(), TokenId(3));
  sorted.front() = Vocabulary::eos;
  std::stable_sort(sorted.begin(), sorted.end(), [&](TokenId a, TokenId b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  const auto weight = [&](TokenId token) {
    return std::exp(static_cast<double>(logits[static_cast<std::size_t>(token)]));
  };
  for (const std::size_t k : {std::size_t{1}, std::size_t{70}, many})
    for (const double p : {0.01, 0.5, 0.97, 1.0}) {
      SamplingArguments arguments{1};
      arguments.top_k = k;
      if (k == many) arguments.top_k = {};
      arguments.top_p = p;
      double total = 0, nucleus = 0, drawn_before = 0;
      const std::size_t left = std::min(k, sorted.size());
      for (std::size_t i = 0; i < left; ++i) total += weight(sorted[i]);
      std::size_t count = 0;
      while (count < left && (count == 0 || nucleus < p * total)) nucleus += weight(sorted[count++]);
      if (p == 1 && k == many) continue;  // in the order of the ids
      for (std::size_t i = 0; i < count; ++i) {
        const double middle = (drawn_before + weight(sorted[i]) / 2) / nucleus;
        CHECK(draw_token(logits.data(), many, arguments, middle) == sorted[i]);
        drawn_before += weight(sorted[i]);
      }
    }
}

TEST_CASE("what a text says of its probability is what scoring gives") {
  std::size_t finished = 0;
  for (const TransformerOptions& varied : test::varied_options()) {
    const Writer model(test::decoder_only(varied));
    SamplingArguments arguments = drawn(5);
    arguments.temperature = 1.7;  // the probability told is of the model itself
    arguments.top_k = 4;
    const Ids prompt = {4, 6};
    for (const SampledText& text : sample(model.transformer, prompt, 0, 20, arguments)) {
      Ids whole = prompt;
      whole.insert(whole.end(), text.tokens.begin(), text.tokens.end());
      const std::vector<double> tokens = score(model.transformer, {{{}, whole}}, 1)[0];
      const auto end = text.finished ? tokens.end() : tokens.end() - 1;
      CHECK(text.log_probability == doctest::Approx(std::accumulate(tokens.begin() + 2, end, 0.0)).epsilon(1e-4));
      finished += text.finished;
    }
  }
  CHECK(finished > 0);
}

TEST_CASE("the first token is drawn from what the model gives") {
  const Writer model;
  const std::size_t count = 20000;
  Counts found(vocabulary);
  for (const SampledText& text : sample(model.transformer, {5}, 0, count, drawn(1, 1)))
    ++found[static_cast<std::size_t>(text.finished ? TokenId(Vocabulary::eos) : text.tokens.at(0))];
  double allowed = 0;  // what pad, bos and unk leave
  std::vector<double> probabilities;
  for (std::size_t v = 0; v < vocabulary; ++v) {
    const auto token = static_cast<TokenId>(v);
    const bool never = token == Vocabulary::pad || token == Vocabulary::bos || token == Vocabulary::unk;
    probabilities.push_back(never ? 0 : std::exp(score(model.transformer, {{{}, {5, token}}}, 1)[0][1]));
    if (token == Vocabulary::eos) probabilities[v] = std::exp(score(model.transformer, {{{}, {5}}}, 1)[0][1]);
    allowed += probabilities[v];
  }
  for (std::size_t v = 0; v < vocabulary; ++v) {
    const double p = probabilities[v] / allowed, deviation = std::sqrt(p * (1 - p) / static_cast<double>(count));
    CHECK(std::fabs(static_cast<double>(found[v]) / static_cast<double>(count) - p) <= 4 * deviation);
  }
}

TEST_CASE("a text depends on its number and the seed, not on those beside it") {
  const Writer model;
  const auto together = sample(model.transformer, {4}, 0, 9, drawn(7));
  const auto other = sample(model.transformer, {4}, 0, 9, drawn(8));
  bool differs = false;
  for (std::size_t i = 0; i < 9; ++i) {
    CHECK(sample(model.transformer, {4}, i, 1, drawn(7))[0].tokens == together[i].tokens);
    differs = differs || other[i].tokens != together[i].tokens;
  }
  CHECK(differs);
  CHECK(sample(model.transformer, {4}, 0, 0, drawn(7)).empty());
}

TEST_CASE("a text is cut at the length asked for, or where the model has no place for more") {
  Writer model(test::decoder_only([] {
    TransformerOptions options = test::toy_options();
    options.embedding.tie = Tie::none;
    options.positions = test::learned_positions({6});
    return options;
  }()));
  test::set_eos_logit(model.parameters, -1000);
  for (const SampledText& text : sample(model.transformer, {4, 5}, 0, 5, drawn(1, 3))) {
    CHECK(text.tokens.size() == 3);
    CHECK_FALSE(text.finished);
  }
  const std::size_t places = model.transformer.max_length();
  for (const SampledText& text : sample(model.transformer, {4, 5}, 0, 2, SamplingArguments{1}))
    CHECK(text.tokens.size() == places - 2);
  test::set_eos_logit(model.parameters, 1000);
  for (const SampledText& text : sample(model.transformer, {}, 0, 5, drawn(1))) {
    CHECK(text.tokens.empty());
    CHECK(text.finished);
    CHECK(text.log_probability == doctest::Approx(0));
  }
}

TEST_CASE("what cannot be sampled is an error") {
  const Writer model;
  const auto refused = [&](const SamplingArguments& arguments, const Ids& prompt = {}) {
    return message_of([&] { sample(model.transformer, prompt, 0, 1, arguments); });
  };
  SamplingArguments wrong{1};
  wrong.temperature = -1;
  CHECK(refused(wrong) == "sample: temperature must be at least 0; got -1");
  wrong.temperature = std::numeric_limits<double>::quiet_NaN();
  CHECK(test::contains(refused(wrong), "temperature must be at least 0"));
  wrong = {1};
  wrong.top_k = 0;
  CHECK(refused(wrong) == "sample: top_k must be at least 1; got 0");
  for (const double top_p : {0.0, 1.5}) {
    wrong = {1};
    wrong.top_p = top_p;
    CHECK(test::contains(refused(wrong), "sample: top_p must be in (0, 1]"));
  }
  CHECK(refused(drawn(1, 0)) == "sample: max_length must be at least 1; got 0");
  const test::Toy translator(vocabulary);
  CHECK(test::contains(message_of([&] { sample(translator.transformer, {}, 0, 1, SamplingArguments{1}); }),
                       "the model has an encoder"));
  TransformerOptions few = test::decoder_only(test::toy_options());
  few.positions = test::learned_positions({4});
  const Writer small(few);
  const std::size_t places = small.transformer.max_length();
  CHECK(test::contains(message_of([&] { sample(small.transformer, Ids(places, 4), 0, 1, SamplingArguments{1}); }),
                       "the model has place for"));
}

}  // namespace
}  // namespace surd
