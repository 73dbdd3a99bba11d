#include "train/batch_loss.hpp"

namespace surd {

Variable batch_hidden(const Transformer& model, Tape& tape, const Batch& batch) {
  const Variable encoded = model.encode(tape, {batch.source, batch.size, batch.source_length}, batch.source_lengths);
  return model.decode({batch.target_input, batch.size, batch.target_length}, encoded, batch.source_lengths);
}

Variable batch_loss(const Transformer& model, Tape& tape, const Batch& batch, Real label_smoothing, Real divisor) {
  return model.loss(batch_hidden(model, tape, batch), batch.target_output, {label_smoothing, Vocabulary::pad, divisor});
}

}  // namespace surd
