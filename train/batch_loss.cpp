#include "train/batch_loss.hpp"

namespace surd {

Variable batch_hidden(const Transformer& model, Tape& tape, const Batch& batch) {
  return model.hidden(tape, {batch.source, batch.size, batch.source_length}, batch.source_lengths,
                      {batch.target_input, batch.size, batch.target_length, batch.target_places});
}

Variable batch_loss(const Transformer& model, Tape& tape, const Batch& batch, Real label_smoothing, Real divisor) {
  return model.loss(batch_hidden(model, tape, batch), batch.target_output, {label_smoothing, Vocabulary::pad, divisor});
}

}  // namespace surd
