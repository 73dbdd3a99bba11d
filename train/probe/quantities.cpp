#include "train/probe/quantities.hpp"

#include "train/probe/statistics.hpp"

namespace surd {

std::vector<ProbeQuantity>& probe_quantities() {
  static std::vector<ProbeQuantity> table = {
      watch_coverage,        // how many of the update's pairs all of this is of
      watch_ops,             // every op's value and cotangent
      watch_attention,       // scores, weights and their gradients
      watch_embeddings,      // tokens beside positions
      watch_residuals,       // branches beside shortcuts
      watch_logits,          // their spread, and the logit of the decoder's own input
      watch_score_parts,     // what tokens and positions contribute to the encoder's first scores, where there is one
      watch_parameters,      // norms of parameters and their gradients
      watch_tied_gradients,  // the two parts of the gradient of a matrix that is input and output
      watch_update_ratios,   // steps beside parameters
  };
  return table;
}

void watch_coverage(ProbedUpdate& update) {
  struct Pairs {
    std::size_t of_update = 0, watched = 0;
  };
  Pairs& pairs = update.keep<Pairs>();
  update.on_batch([&pairs](std::size_t, const Batch& batch) { pairs.of_update += batch.size; });
  update.on("tokens", [&pairs](const Event& tokens) {
    if (tokens.side == ModelSide::source || tokens.side == ModelSide::joined) pairs.watched += tokens.tensor.shape()[0];
  });
  update.before_step([&update, &pairs](const ParameterSet&) {
    if (pairs.watched == 0 || pairs.of_update == 0) return;  // nobody announced the batches, or no model was watched
    update.record("model", "coverage", "pairs", static_cast<double>(pairs.watched));
    update.record("model", "coverage", "of_pairs", static_cast<double>(pairs.of_update));
  });
}

void watch_ops(ProbedUpdate& update) {
  update.on_value([&update](const Event& value) { update.record(value.path, value.what, "rms", rms(value.tensor)); });
  update.on_gradient([&update](const Event& gradient) {
    update.record(gradient.path, gradient.what, "gradient_rms", rms(gradient.tensor));
  });
}

}  // namespace surd
