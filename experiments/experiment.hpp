#pragma once

#include "data/dataset.hpp"
#include "experiments/config.hpp"

#include <memory>
#include <string>
#include <vector>

namespace surd {

/// A model with its parameters, as a config and two vocabularies make it.
class Model {
 public:
  Model(const RunConfig& config, const TextCodec& codec);

  const Transformer& transformer() const { return *transformer_; }
  ParameterSet& parameters() { return parameters_; }
  const Scope::Factors& factors() const { return scope_.factors(); }

 private:
  ParameterSet parameters_;
  Scope scope_;
  std::unique_ptr<Transformer> transformer_;
};

/// The lines a run begins with: task, model, parameters, every factor with its resolved value, tying, optimizer,
/// schedule.
std::vector<std::string> describe(const RunConfig& config, const Corpus& corpus, const TextCodec& codec, Model& model,
                                  double learning_rate, double padding_share);

}  // namespace surd
