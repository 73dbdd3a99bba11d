#include "train/batch_loss.hpp"

#include "layers/embedding.hpp"

namespace surd {

static_assert(Vocabulary::pad == padding_id, "the layers would take padding for text");

BatchHidden batch_hidden(const Transformer& model, Tape& tape, const Batch& batch) {
  const Tokens source{batch.source, batch.size, batch.source_length};
  const Tokens target{batch.target_input, batch.size, batch.target_length, batch.target_places};
  if (!target.places.empty() || !model.takes_ragged_rows())
    return {model.hidden(tape, source, batch.source_lengths, target), batch.target_output};
  return {model.ragged_hidden(tape, source, batch.source_lengths, target, batch.target_lengths),
          RaggedRows(batch.target_lengths, batch.target_length).taken_from(batch.target_output)};
}

Variable batch_loss(const Transformer& model, Tape& tape, const Batch& batch, Real label_smoothing, Real divisor) {
  const BatchHidden hidden = batch_hidden(model, tape, batch);
  return model.loss(hidden.states, hidden.targets, {label_smoothing, Vocabulary::pad, divisor});
}

}  // namespace surd
