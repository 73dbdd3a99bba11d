#include "tests/train/long_training.hpp"
#include "tests/train/toy.hpp"
#include "train/batch_loss.hpp"
#include "train/optimizers/adam.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

// Once queries and keys are trained, they are no longer independent, and the products of a score
// add up to more than a random walk. Without a factor the exponent of the scores' standard deviation against d_k rises
// from the 1/2 it has at the start (tests/layers/score_variance_test.cpp) towards 1. Measured over all attention
// layers together: that of self-attention comes close to 1 in 1000 updates, that of cross-attention may not rise.

namespace surd {
namespace {

std::vector<SentencePair> reversed_pairs(std::size_t count, std::uint64_t seed) {
  auto pairs = test::copy_pairs(count, 4, 8, 12, seed);
  for (SentencePair& pair : pairs) std::reverse(pair.target.begin(), pair.target.end());
  return pairs;
}

/// ln of the scores' standard deviation, mean over the three attention layers.
double log_deviation(const Transformer& model, const std::vector<SentencePair>& pairs) {
  std::vector<std::size_t> rows(pairs.size());
  std::iota(rows.begin(), rows.end(), 0);
  const Batch batch = make_batch(pairs, rows);
  test::Recorder recorder;
  TapeArguments options = TapeArguments::inference();
  options.observer = &recorder;
  Tape tape(options);
  batch_hidden(model, tape, batch);
  double mean_log = 0;
  for (const char* layer : {"encoder.0.self_attention", "decoder.0.self_attention", "decoder.0.cross_attention"}) {
    double count = 0, sum = 0, squares = 0;
    for (const Real value : recorder.only(std::string(layer) + ": scores")) {
      if (std::isnan(value)) continue;  // hidden
      const auto score = static_cast<double>(value);
      ++count;
      sum += score;
      squares += score * score;
    }
    mean_log += std::log(squares / count - sum / count * (sum / count)) / 2 / 3;
  }
  return mean_log;
}

/// The exponent before and after training: between the smallest and the largest d_k of one model width.
struct Exponent {
  double before = 0, after = 0;
};

Exponent measure(std::uint64_t seed) {
  constexpr std::size_t d = 64, smallest = 4, updates = 300;
  Exponent result;
  for (const std::size_t head_width : {smallest, d}) {
    TransformerOptions options;
    options.d_model = d;
    options.heads = d / head_width;
    options.encoder_layers = options.decoder_layers = 1;
    options.feed_forward = test::feed_forward({2 * d});
    MultiHeadOptions attention;
    attention.scale = Scale::Rule::one;
    options.attention = test::attention(attention);
    test::Toy toy(Vocabulary::specials + 12, options, seed);
    const auto train_pairs = reversed_pairs(2000, seed), valid_pairs = reversed_pairs(64, seed + 100);
    const double sign = (head_width == d ? 1 : -1) / std::log(static_cast<double>(d) / smallest);
    result.before += sign * log_deviation(toy.transformer, valid_pairs);

    AdamOptions settings;
    settings.learning_rate = 1e-3;
    Adam optimizer(toy.parameters, settings);
    TrainOptions training;
    training.updates = training.evaluate_every = training.checkpoint_every = updates;
    training.batching.batch_size = 32;
    training.evaluate_sequences = 0;
    ConstantSchedule schedule(updates, {});
    TrainListener nobody;
    train({toy.transformer, toy.parameters, optimizer, schedule, train_pairs, valid_pairs, test::no_words, seed},
          training, {}, nobody);
    result.after += sign * log_deviation(toy.transformer, valid_pairs);
  }
  return result;
}

TEST_CASE("in training, the exponent of unscaled scores rises from 1/2" * doctest::skip(test::no_long_training)) {
  Exponent mean;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Exponent exponent = measure(seed);
    CAPTURE(exponent.before);
    CAPTURE(exponent.after);
    CHECK(exponent.after > exponent.before);
    mean.before += exponent.before / 3;
    mean.after += exponent.after / 3;
  }
  CAPTURE(mean.after);
  CHECK(std::fabs(mean.before - 0.5) < 0.1);  // three draws of one head
  CHECK(mean.after > mean.before + 0.1);
}

}  // namespace
}  // namespace surd
