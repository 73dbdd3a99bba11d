#pragma once

#include "data/dataset.hpp"
#include "tests/layers/models.hpp"
#include "tests/text.hpp"
#include "train/optimizers/optimizer.hpp"
#include "train/train.hpp"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

/// Models and data small enough to be trained in a test.
namespace surd::test {

/// One block a side, d_model 8, two heads.
inline TransformerOptions toy_options(double dropout = 0) {
  TransformerOptions options;
  options.d_model = 8;
  options.heads = 2;
  options.encoder_layers = options.decoder_layers = 1;
  options.dropout = dropout;
  options.feed_forward = feed_forward({16});
  return options;
}

/// So many parameters that the threads of several replicas share what is done with each.
inline TransformerOptions large_toy_options() {
  TransformerOptions options = toy_options();
  options.d_model = 64;
  options.feed_forward = feed_forward({1024});
  return options;
}

struct Toy : Bench {
  explicit Toy(std::size_t vocabulary, const TransformerOptions& options = toy_options(), std::uint64_t seed = 1)
      : Bench(seed), transformer(scope, options, vocabulary, vocabulary) {}
  Transformer transformer;
};

/// Sets the logit of eos, for every prefix alike: high makes an untrained model with an output matrix of its own and
/// pre-norm end its translations soon, low late.
inline void set_eos_logit(ParameterSet& parameters, double logit) {
  parameters.find("decoder.norm.weight").value[0] = 0;
  parameters.find("decoder.norm.bias").value[0] = 1;
  Tensor& output = parameters.find("output.weight").value;
  for (std::size_t j = 0; j < output.shape()[1]; ++j)
    output(static_cast<std::size_t>(Vocabulary::eos), j) = static_cast<Real>(j == 0 ? logit : 0);
}

/// Targets equal to their sources, `symbols` different tokens in sequences of min_length to max_length.
inline std::vector<SentencePair> copy_pairs(std::size_t count, std::size_t min_length, std::size_t max_length,
                                            std::size_t symbols, std::uint64_t seed = 1) {
  random::Sequence draw(random::Stream(seed, "test", "copy_pairs"));
  std::vector<SentencePair> pairs(count);
  for (SentencePair& pair : pairs) {
    pair.target.resize(draw.between(min_length, max_length));
    for (TokenId& token : pair.target) token = static_cast<TokenId>(Vocabulary::specials + draw.integer(symbols));
    pair.source = pair.target;
    pair.source.push_back(Vocabulary::eos);
  }
  return pairs;
}

/// For pairs that never were text.
inline const TextCodec no_words{TextFormat(), Vocabulary(), Vocabulary()};

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
}

inline std::vector<Tensor> values_of(const ParameterSet& parameters) {
  std::vector<Tensor> values;
  for (const Parameter& parameter : parameters) values.push_back(parameter.value);
  return values;
}

inline std::vector<Tensor> gradients_of(const ParameterSet& parameters) {
  std::vector<Tensor> gradients;
  for (const Parameter& parameter : parameters) gradients.push_back(parameter.gradient.sum);
  return gradients;
}

inline bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i])) return false;
  return true;
}

inline bool same_bits(const Optimizer& a, const Optimizer& b) {
  if (a.updates() != b.updates() || a.slots().size() != b.slots().size()) return false;
  for (std::size_t i = 0; i < a.slots().size(); ++i)
    if (!same_bits(a.slots()[i].tensors, b.slots()[i].tensors)) return false;
  return true;
}

inline void set_gradient(Parameter& parameter, const Tensor& gradient) {
  parameter.gradient.sum = gradient;
  parameter.gradient.empty = false;
}

}  // namespace surd::test
