#pragma once

#include "data/batch.hpp"
#include "layers/transformer.hpp"

namespace surd {

/// The last hidden states [..., d_model] of a model that is given a batch and its targets' true prefixes, and the
/// target of each: those of the batch in their order, without padding where the model can do without.
struct BatchHidden {
  Variable states;
  std::vector<TokenId> targets;
};
BatchHidden batch_hidden(const Transformer& model, Tape& tape, const Batch& batch);

/// The loss of a batch: cross-entropy summed over its target tokens and divided by `divisor`, e.g. the number of target
/// tokens of the whole update -> [1], nats.
Variable batch_loss(const Transformer& model, Tape& tape, const Batch& batch, Real label_smoothing, Real divisor);

}  // namespace surd
