#include "train/train.hpp"

#include "autograd/kernels/elementwise.hpp"
#include "train/replicas.hpp"

#include <cmath>

namespace surd {
namespace {

/// The batches of one update, and where the one after them stands.
std::vector<Batch> next_batches(Batcher& batcher, TrainState& state, std::size_t count) {
  std::vector<Batch> batches;
  while (batches.size() < count) {
    batches.push_back(batcher.batch(state.epoch, state.next_batch++));
    if (state.next_batch < batcher.batches_per_epoch(state.epoch)) continue;
    ++state.epoch;
    state.next_batch = 0;
  }
  return batches;
}

/// Global norm of the gradients. Throws Diverged naming the first parameter whose gradient is not finite.
double gradient_norm(const ParameterSet& parameters, std::uint64_t update) {
  double squares = 0;
  for (const Parameter& parameter : parameters) {
    if (parameter.gradient.empty) continue;
    const Tensor& gradient = parameter.gradient.sum;
    const auto contribution = static_cast<double>(kernels::dot(gradient.data(), gradient.data(), gradient.size()));
    if (!std::isfinite(contribution)) throw Diverged(update, "the gradient of " + parameter.name);
    squares += contribution;
  }
  return std::sqrt(squares);
}

/// Throws Diverged where the update itself overflowed, so that it does not go into a checkpoint.
void expect_finite(const ParameterSet& parameters, std::uint64_t update) {
  for (const Parameter& parameter : parameters)
    if (!all_finite(parameter.value)) throw Diverged(update, parameter.name);
}

double clip_scale(double norm, const std::optional<double>& clip_norm) {
  return clip_norm && norm > *clip_norm ? *clip_norm / (norm + 1e-6) : 1;
}

/// Takes an evaluation into the state; whether it is a new best.
bool take(const Evaluation& evaluation, Metric metric, TrainState& state) {
  const double value = value_of(metric, evaluation);
  if (state.best && !improves(metric, value, *state.best)) {
    ++state.evaluations_without_improvement;
    return false;
  }
  state.best = value;
  state.best_update = state.update;
  state.evaluations_without_improvement = 0;
  return true;
}

bool is_finished(const TrainState& state, const TrainOptions& options) {
  const bool enough = options.stop_at && state.best && !improves(options.metric, *options.stop_at, *state.best);
  const bool patience_over = options.patience && state.evaluations_without_improvement >= *options.patience;
  return state.update >= options.updates || enough || patience_over;
}

}  // namespace

TrainState train(const Training& run, const TrainOptions& options, TrainState state, TrainListener& listener) {
  Batcher batcher(run.train_pairs, options.batching, run.seed);
  Replicas replicas(run.model, run.parameters, options.replicas);

  while (!state.finished) {
    const std::uint64_t epoch = state.epoch;
    const std::vector<Batch> batches = next_batches(batcher, state, options.accumulate);
    ++state.update;

    std::size_t source_tokens = 0, target_tokens = 0;
    for (const Batch& batch : batches) {
      source_tokens += batch.source_tokens();
      target_tokens += batch.target_tokens();
    }

    run.parameters.clear_gradients();
    double loss = 0;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      PassOptions pass;
      pass.label_smoothing = static_cast<Real>(options.label_smoothing);
      pass.divisor = static_cast<Real>(target_tokens);
      pass.seed = run.seed;
      pass.step = state.update * options.accumulate + i;
      pass.observer = listener.observer(state.update, i, batches[i]);
      loss += replicas.accumulate(batches[i], pass);
      if (!std::isfinite(loss)) throw Diverged(state.update, replicas.non_finite());
    }

    listener.gradients(state.update, run.parameters);
    const double norm = gradient_norm(run.parameters, state.update);
    const double factor = run.schedule.factor(state.update);
    run.optimizer.step(factor, clip_scale(norm, options.clip_norm));
    expect_finite(run.parameters, state.update);
    state.target_tokens += target_tokens;
    listener.updated(
        {state.update, epoch, loss, norm, run.optimizer.learning_rate() * factor, source_tokens, target_tokens});

    bool best = false;
    if (state.update % options.evaluate_every == 0 || state.update == options.updates) {
      const Evaluation evaluation =
          evaluate(run.model, run.valid_pairs, {evaluation_batch_size, options.evaluate_sequences});
      if (!std::isfinite(evaluation.loss)) throw Diverged(state.update, "the validation loss");
      run.schedule.observe(evaluation.loss);
      best = take(evaluation, options.metric, state);
      listener.evaluated(state.update, evaluation, best);
    }
    state.finished = is_finished(state, options);
    const bool interrupted = !state.finished && listener.interrupted();
    if (best || state.finished || interrupted || state.update % options.checkpoint_every == 0)
      listener.checkpoint(state, best);
    if (interrupted) break;
  }
  return state;
}

std::vector<std::string> names_of(Metric) { return {"loss", "token_accuracy", "sequence_accuracy"}; }

double value_of(Metric metric, const Evaluation& evaluation) {
  switch (metric) {
    case Metric::loss: break;
    case Metric::token_accuracy: return evaluation.token_accuracy;
    case Metric::sequence_accuracy: return evaluation.sequence_accuracy;
  }
  return evaluation.loss;
}

bool improves(Metric metric, double value, double on) { return metric == Metric::loss ? value < on : value > on; }

void TrainOptions::fields(Fields& f) {
  f("updates", updates, "length of the run", Unit{"updates"}, at_least(1));
  batching.fields(f);
  f("accumulate", accumulate, "batches an update", at_least(1));
  f("clip_norm", clip_norm, "gradients are scaled down to this global norm; null: never", above(0));
  f("label_smoothing", label_smoothing, "share of the target spread evenly over the vocabulary (arXiv 1512.00567)",
    fraction());
  f("evaluate_every", evaluate_every, "evaluation on the validation split", Unit{"updates"}, at_least(1));
  f("evaluate_sequences", evaluate_sequences, "validation pairs that are translated for sequence_accuracy",
    Unit{"pairs"});
  f("metric", metric, "on the validation split: what the best checkpoint and early stopping go by");
  f("patience", patience, "stop after so many evaluations without improvement; null: never", Unit{"evaluations"},
    at_least(1));
  f("stop_at", stop_at, "stop once the metric is this good; null: never");
  f("checkpoint_every", checkpoint_every, "how often everything is saved", Unit{"updates"}, at_least(1));
  f("keep_checkpoints", keep_checkpoints, "latest checkpoints kept beside the best", at_least(2));
  f("log_every", log_every, "how often metrics.jsonl gets a line", Unit{"updates"}, at_least(1));
  f("replicas", replicas, "threads that share each batch", between(1, 256));
  f.rule(metric != Metric::sequence_accuracy || evaluate_sequences > 0, "metric",
         "sequence_accuracy needs evaluate_sequences above 0; set evaluate_sequences: 200, or another metric");
}

}  // namespace surd
