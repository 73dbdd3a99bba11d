#include "tests/train/probe/watched_pass.hpp"

#include <algorithm>
#include <cmath>

// What the probe records of whole models, against mathematics.

namespace surd {
namespace {

using doctest::Approx;
using test::batch_of;
using test::random_pairs;
using test::Toy;
using test::WatchedPass;

constexpr const char* encoder_attention = "encoder.0.self_attention";

TransformerOptions wide_options(std::size_t d, std::size_t layers) {
  TransformerOptions options = test::toy_options();
  options.d_model = d;
  options.heads = 4;
  options.encoder_layers = options.decoder_layers = layers;
  options.feed_forward = test::feed_forward({2 * d});
  return options;
}

TEST_CASE("the logit of the decoder's own input token, as recorded") {
  constexpr std::size_t symbols = 500, vocabulary = Vocabulary::specials + symbols;
  const Batch batch = batch_of(random_pairs(50, 8, 10, symbols));
  struct Case {
    std::size_t d;
    Tie tie;
    Scale::Rule alpha;
    double own;
  };
  for (const Case& c :
       {Case{64, Tie::decoder, Scale::Rule::sqrt_dim, 6.9}, Case{256, Tie::decoder, Scale::Rule::sqrt_dim, 14.0},
        Case{64, Tie::decoder, Scale::Rule::one, 1.8}}) {
    CAPTURE(c.d);
    TransformerOptions options = wide_options(c.d, 0);
    options.embedding.tie = c.tie;
    options.embedding.scale = c.alpha;
    Toy toy(vocabulary, options);
    CHECK(WatchedPass(toy, batch).number("output", "logits", "own_input") == Approx(c.own).epsilon(0.1));
  }
  TransformerOptions untied = wide_options(64, 0);
  untied.embedding.tie = Tie::none;
  Toy toy(vocabulary, untied);
  CHECK(std::fabs(WatchedPass(toy, batch).number("output", "logits", "own_input")) < 0.2);
}

TEST_CASE("the statistics of logits are those of all logits of positions that are no padding") {
  TransformerOptions options = test::toy_options();
  options.embedding.logit_scale = Scale::Rule::inv_sqrt_dim;
  Toy toy(Vocabulary::specials + 7, options);
  test::perturb(toy.parameters);
  const Batch batch = batch_of(random_pairs(70, 1, 6, 7));  // more rows than a tile of the loss
  const WatchedPass watched(toy, batch);

  Tape tape;
  const Variable hidden =
      toy.transformer.hidden(tape, {batch.source, batch.size, batch.source_length}, batch.source_lengths,
                             {batch.target_input, batch.size, batch.target_length});
  const Tensor logits = toy.transformer.logits(hidden).value();
  const std::size_t n = row_length(logits);
  double count = 0, sum = 0, squares = 0, max = -1e9, log_partition = 0, own = 0, rows = 0, of_targets = 0;
  for (std::size_t i = 0; i < row_count(logits); ++i) {
    if (batch.target_output[i] == Vocabulary::pad) continue;
    double exps = 0;
    for (std::size_t v = 0; v < n; ++v) {
      const auto logit = static_cast<double>(logits.data()[i * n + v]);
      ++count;
      sum += logit;
      squares += logit * logit;
      max = std::max(max, logit);
      exps += std::exp(logit);
    }
    log_partition += std::log(exps);
    own += static_cast<double>(logits.data()[i * n + static_cast<std::size_t>(batch.target_input[i])]);
    of_targets += static_cast<double>(logits.data()[i * n + static_cast<std::size_t>(batch.target_output[i])]);
    ++rows;
  }
  REQUIRE(rows > 256);
  const auto recorded = [&](const char* statistic) { return watched.number("output", "logits", statistic); };
  CHECK(recorded("std") == Approx(std::sqrt(squares / count - sum / count * (sum / count))).epsilon(1e-4));
  CHECK(recorded("max") == Approx(max).epsilon(1e-4));
  CHECK(recorded("log_partition") == Approx(log_partition / rows).epsilon(1e-4));
  CHECK(recorded("own_input") == Approx(own / rows).epsilon(1e-4));
  CHECK(recorded("log_partition") - of_targets / rows == Approx(watched.loss).epsilon(1e-4));
}

TEST_CASE("the four parts of the first scores grow by d, sqrt(d), sqrt(d) and 1, as recorded") {
  constexpr std::size_t d = 64, symbols = 200;
  const Batch batch = batch_of(random_pairs(8, 20, 20, symbols));
  TransformerOptions options = wide_options(d, 1);
  options.norm.placement = NormPlacement::post;
  options.embedding.scale = Scale::Rule::one;
  Toy small(Vocabulary::specials + symbols, options);
  options.embedding.scale = Scale::Rule::sqrt_dim;
  Toy large(Vocabulary::specials + symbols, options);
  const WatchedPass at_one(small, batch), at_root(large, batch);
  const auto growth = [&](const char* part) {
    return at_root.number(encoder_attention, part, "std") / at_one.number(encoder_attention, part, "std");
  };
  const double root = std::sqrt(static_cast<double>(d));
  CHECK(growth("scores.token.token") == Approx(d).epsilon(0.05));
  CHECK(growth("scores.token.position") == Approx(root).epsilon(0.05));
  CHECK(growth("scores.position.token") == Approx(root).epsilon(0.05));
  CHECK(growth("scores.position.position") == Approx(1).epsilon(0.05));
  CHECK(growth("scores") > 2);  // the total, behind no norm
}

TEST_CASE("behind a norm, the recorded total keeps its size") {
  constexpr std::size_t d = 64, symbols = 200;
  const Batch batch = batch_of(random_pairs(4, 20, 20, symbols));
  double squares[2] = {0, 0};
  for (std::uint64_t seed = 1; seed <= 12; ++seed)
    for (const int root : {0, 1}) {
      TransformerOptions options = wide_options(d, 1);
      options.embedding.scale = root == 1 ? Scale::Rule::sqrt_dim : Scale::Rule::one;
      Toy toy(Vocabulary::specials + symbols, options, seed);
      squares[root] += std::pow(WatchedPass(toy, batch).number(encoder_attention, "scores", "std"), 2);
    }
  CHECK(std::sqrt(squares[1] / squares[0]) == Approx(1).epsilon(0.1));
}

TEST_CASE("where the other part is nothing, a part is the score itself, whatever the kind of factor") {
  const Batch batch = batch_of(random_pairs(5, 1, 6, 7));
  std::vector<TransformerOptions> all(4, test::toy_options());
  all[1].attention = test::attention({Scale(Scale::Rule::inv_sqrt_dim, 2, true)});
  all[2].attention.select("multi_query");
  MultiHeadOptions absorbed;
  absorbed.absorb_scale = true;
  all[3].attention = test::attention(absorbed);
  for (TransformerOptions& options : all) {
    options.norm.placement = NormPlacement::post;
    for (const bool token : {true, false}) {
      SinusoidalOptions positions;
      positions.scale = Scale(Scale::Rule::one, token ? 1e-7 : 1);
      options.positions = test::sinusoidal(positions);
      options.embedding.scale = Scale(Scale::Rule::one, token ? 1 : 1e-7);
      Toy toy(Vocabulary::specials + 7, options);
      const WatchedPass watched(toy, batch);
      const char* part = token ? "scores.token.token" : "scores.position.position";
      CHECK(watched.number(encoder_attention, part, "std") ==
            Approx(watched.number(encoder_attention, "scores", "std")).epsilon(1e-4));
    }
  }
}

TEST_CASE("of a decoder alone, what stands before the padding of the joined sequences is recorded") {
  TransformerOptions options = test::toy_options();
  options.kind = ModelKind::decoder_only;
  options.embedding.scale = Scale(Scale::Rule::one, 3);
  Toy toy(Vocabulary::specials + 7, options);
  const std::vector<SentencePair> pairs = random_pairs(5, 1, 9, 7);
  const WatchedPass watched(toy, batch_of(pairs));
  const Tensor& matrix = toy.parameters.find("target_embedding.weight").value;
  const std::size_t d = row_length(matrix);
  double total = 0, count = 0;
  const auto add = [&](TokenId id) {
    for (std::size_t j = 0; j < d; ++j)
      total += std::pow(3 * static_cast<double>(matrix.data()[static_cast<std::size_t>(id) * d + j]), 2);
    count += static_cast<double>(d);
  };
  for (const SentencePair& pair : pairs) {
    for (const TokenId id : pair.source) add(id);
    add(Vocabulary::bos);
    for (const TokenId id : pair.target) add(id);
  }
  CHECK(watched.number("target_embedding", "embedding", "token_rms") == Approx(std::sqrt(total / count)).epsilon(1e-5));
  CHECK(watched.count("source_embedding", "embedding", "token_rms") == 0);
  CHECK(watched.number("model", "coverage", "pairs") == 5);
  CHECK(watched.number("decoder.0.self_attention", "weights", "entropy") > 0);
}

TEST_CASE("a score behind QK-norm, or without positions, has no parts") {
  const Batch batch = batch_of(random_pairs(5, 1, 6, 7));
  for (const QueryKeyNorm norm : {QueryKeyNorm::rms_norm, QueryKeyNorm::l2}) {
    TransformerOptions options = test::toy_options();
    MultiHeadOptions attention;
    attention.query_key_norm = norm;
    options.attention = test::attention(attention);
    Toy normed(Vocabulary::specials + 7, options);
    CHECK(WatchedPass(normed, batch).count(encoder_attention, "scores.token.token", "std") == 0);
  }
  TransformerOptions without = test::toy_options();
  without.positions.select("none");
  Toy second(Vocabulary::specials + 7, without);
  const WatchedPass alone(second, batch);
  CHECK(alone.count(encoder_attention, "scores.token.token", "std") == 0);
  CHECK(alone.count("source_embedding", "embedding", "token_rms") == 1);
  CHECK(alone.count("source_embedding", "embedding", "rho") == 0);
}

TEST_CASE("rho is the tokens' rms over the positions', padding left out; centred, each sequence less its mean") {
  TransformerOptions options = test::toy_options();
  options.embedding.tie = Tie::all;  // one matrix, and still both sides by name
  options.embedding.scale = Scale(Scale::Rule::one, 3);
  Toy toy(Vocabulary::specials + 7, options);
  const Batch batch = batch_of(random_pairs(4, 1, 6, 7));
  const WatchedPass watched(toy, batch);
  const Tensor& weight = toy.parameters.find("target_embedding.weight").value;
  const std::size_t d = options.d_model;
  const auto encoding = [&](std::size_t t, std::size_t j) {
    const double angle = static_cast<double>(t) / std::pow(10000.0, 2.0 * static_cast<double>(j / 2) / d);
    return j % 2 == 0 ? std::sin(angle) : std::cos(angle);
  };
  for (const bool source : {true, false}) {
    const auto& ids = source ? batch.source : batch.target_input;
    const auto& lengths = source ? batch.source_lengths : batch.target_lengths;
    const std::size_t length = source ? batch.source_length : batch.target_length;
    double tokens = 0, centred = 0, places = 0;
    for (std::size_t b = 0; b < batch.size; ++b) {
      places += static_cast<double>(lengths[b]);
      for (std::size_t j = 0; j < d; ++j) {
        double mean = 0;
        for (std::size_t t = 0; t < lengths[b]; ++t) mean += encoding(t, j) / static_cast<double>(lengths[b]);
        for (std::size_t t = 0; t < lengths[b]; ++t) {
          const auto id = static_cast<std::size_t>(ids[b * length + t]);
          tokens += std::pow(3 * static_cast<double>(weight(id, j)), 2);
          centred += std::pow(encoding(t, j) - mean, 2);
        }
      }
    }
    const std::string path = source ? "source_embedding" : "target_embedding";
    const auto recorded = [&](const char* statistic) { return watched.number(path, "embedding", statistic); };
    const double token_rms = std::sqrt(tokens / places / static_cast<double>(d));
    CHECK(recorded("token_rms") == Approx(token_rms).epsilon(1e-5));
    CHECK(recorded("position_rms") == Approx(std::sqrt(0.5)).epsilon(1e-6));
    CHECK(recorded("rho") == Approx(token_rms / std::sqrt(0.5)).epsilon(1e-5));
    CHECK(recorded("rho_centred") == Approx(std::sqrt(tokens / centred)).epsilon(1e-4));
  }
}

TEST_CASE("of packed rows, positions are centred text by text") {
  TransformerOptions options = test::toy_options();
  options.kind = ModelKind::decoder_only;
  std::vector<SentencePair> texts = random_pairs(6, 0, 6, 7);
  for (SentencePair& text : texts) text.source.clear();
  const auto recorded = [&](const Batch& batch) {
    Toy toy(Vocabulary::specials + 7, options);
    const WatchedPass watched(toy, batch);
    std::vector<double> numbers;
    for (const char* statistic : {"token_rms", "position_rms", "centred_position_rms", "rho", "rho_centred"})
      numbers.push_back(watched.number("target_embedding", "embedding", statistic));
    return numbers;
  };
  const auto packed = recorded(make_packed_batch(texts, {{0, 3, 1}, {4}, {2, 5}})), alone = recorded(batch_of(texts));
  for (std::size_t i = 0; i < alone.size(); ++i) CHECK(packed[i] == Approx(alone[i]).epsilon(1e-5));
}

TEST_CASE("residuals: what a branch adds to its shortcut, padding left out, with and without dropout") {
  for (const double dropout : {0.0, 0.3}) {
    Toy toy(Vocabulary::specials + 7, test::toy_options(dropout));
    const Batch batch = batch_of(random_pairs(4, 1, 6, 7));
    const WatchedPass watched(toy, batch);
    test::Recorder recorder;
    test::pass(toy, batch, &recorder);
    const auto rms = [&](const Tensor& x) {  // without padding, as the model computes it
      REQUIRE(x.shape() == Shape{1, batch.target_tokens(), x.shape()[2]});
      double squares = 0;
      for (const Real value : x) squares += std::pow(static_cast<double>(value), 2);
      return std::sqrt(squares / static_cast<double>(x.size()));
    };
    const std::string path = "decoder.0.cross_attention_residual";
    const auto recorded = [&](const char* statistic) { return watched.number(path, "residual", statistic); };
    const Tensor& sum = recorder.only(path + (dropout > 0 ? ".dropout: add_dropout" : ".dropout: add"));
    CHECK(recorded("rms") == Approx(rms(sum)).epsilon(1e-5));
    CHECK(recorded("skip_rms") == Approx(watched.number("decoder.0.self_attention_residual", "residual", "rms")));
    CHECK(recorded("branch_rms") ==
          Approx(rms(recorder.only("decoder.0.cross_attention.output: linear"))).epsilon(1e-5));
    CHECK(recorded("branch_to_skip") == Approx(recorded("branch_rms") / recorded("skip_rms")));
    CHECK(watched.count("encoder.0.feed_forward_residual", "residual", "branch_to_skip") == 1);
  }
}

}  // namespace
}  // namespace surd
