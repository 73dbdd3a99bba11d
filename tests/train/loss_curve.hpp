#pragma once

#include "tests/train/toy.hpp"
#include "train/optimizers/adam.hpp"
#include "train/optimizers/sgd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

/// Short runs that differ in where a factor stands.
namespace surd::test {

/// An arm: the embeddings' initial deviation, the two factors, and how the embeddings are to be updated.
struct Arm {
  FixedScale deviation;
  Scale scale = Scale::Rule::one;
  Scale logit_scale = Scale::Rule::one;
  double rate_multiplier = 1;  ///< on the input embeddings' learning rate
  double epsilon_factor = 1;   ///< on their epsilon, with Adam
};

struct CurveOptions {
  std::size_t d_model = 16;
  std::size_t updates = 200;
  Tie tie = Tie::none;
  std::optional<double> clip_norm;
};

/// Keeps the loss of every update.
struct LossCurve : TrainListener {
  void updated(const UpdateRecord& record) override { losses.push_back(record.loss); }
  std::vector<double> losses;
};

/// The losses of a run of `copy` on a model of one block a side. Its optimizer has a group for the embeddings.
template <class AnyOptimizer>
std::vector<double> loss_curve(const Arm& arm, const CurveOptions& options) {
  constexpr std::size_t symbols = 12;
  TransformerOptions model;
  model.d_model = options.d_model;
  model.heads = 4;
  model.encoder_layers = model.decoder_layers = 1;
  model.feed_forward = feed_forward({2 * options.d_model});
  model.embedding.tie = options.tie;
  model.embedding.init = InitOptions::normal(arm.deviation);
  model.embedding.scale = arm.scale;
  model.embedding.logit_scale = arm.logit_scale;
  Toy toy(Vocabulary::specials + symbols, model);

  constexpr bool adam = std::is_same_v<AnyOptimizer, Adam>;
  typename AnyOptimizer::Options settings;
  settings.learning_rate = adam ? 2e-3 : 0.05;
  ParameterGroupOptions group;
  group.match = "*_embedding.weight";
  group.learning_rate_multiplier = arm.rate_multiplier;
  if constexpr (adam) group.epsilon = settings.epsilon * arm.epsilon_factor;
  settings.groups.push_back(group);
  AnyOptimizer optimizer(toy.parameters, settings);

  const std::vector<SentencePair> pairs = copy_pairs(64, 2, 5, symbols);
  TrainOptions training;
  training.updates = training.evaluate_every = training.checkpoint_every = options.updates;
  training.batching.batch_size = 8;
  training.clip_norm = options.clip_norm;
  training.evaluate_sequences = 0;
  ConstantSchedule schedule(options.updates, {});
  LossCurve curve;
  train({toy.transformer, toy.parameters, optimizer, schedule, pairs, pairs, no_words, 3}, training, {}, curve);
  return curve.losses;
}

inline double largest_gap(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

}  // namespace surd::test
