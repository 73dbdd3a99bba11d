#include "train/train.hpp"

#include "train/updater.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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

/// On the validation split. Throws Diverged, at `update`, where the loss is not finite.
Evaluation measure(const Training& run, const TrainOptions& options, std::uint64_t update, TrainListener& listener) {
  listener.evaluating();
  Evaluation evaluation = evaluate(run.model, run.valid_pairs, run.codec, options.evaluation());
  if (!std::isfinite(evaluation.loss)) throw Diverged(update, "the validation loss");
  return evaluation;
}

/// Takes an evaluation into the state; whether it is a new best.
bool take(const Evaluation& evaluation, const TrainOptions& options, TrainState& state) {
  const double value = value_of(options.metric, evaluation);
  const bool enough = options.stop_at && !improves(options.metric, *options.stop_at, value);
  state.evaluations_good_enough = enough ? state.evaluations_good_enough + 1 : 0;
  if (state.best && !improves(options.metric, value, *state.best)) {
    ++state.evaluations_without_improvement;
    return false;
  }
  state.best = value;
  state.best_update = state.update;
  state.evaluations_without_improvement = 0;
  return true;
}

/// The update after `before`. Where another rank is lost, saves what was reached.
UpdateRecord make_update(Updater& updater, const std::vector<Batch>& batches, const TrainState& before,
                         TrainListener& listener) {
  try {
    return updater.update(batches, before.update + 1, before.epoch, listener);
  } catch (const RankLost&) {
    if (before.update > 0) listener.checkpoint(before, false);
    throw;
  }
}

}  // namespace

bool is_over(const TrainState& state, const TrainOptions& options) {
  const bool enough = options.stop_at && state.evaluations_good_enough >= options.stop_after;
  const bool patience_over = options.patience && state.evaluations_without_improvement >= *options.patience;
  return state.update >= options.updates || enough || patience_over;
}

bool saves_after(const TrainState& state, const TrainOptions& options) {
  return state.finished || state.best_update == state.update || state.update % options.checkpoint_every == 0;
}

std::size_t most_saves(const TrainOptions& options) {
  const std::size_t at_times =
      options.updates / options.checkpoint_every + options.updates / options.evaluate_every + 1;
  return std::min(options.updates, at_times);
}

TrainState train(const Training& run, const TrainOptions& options, TrainState state, TrainListener& listener) {
  expect(run.ranks == nullptr || !options.minutes, "train",
         "ranks cannot have a limit of minutes: their clocks differ");
  Batcher batcher(run.train_pairs, options.batching, run.seed, run.model.has_encoder() ? Sides::two : Sides::joined);
  Updater updater(run, options);

  if (options.evaluate_at_start && state.update == 0)
    listener.evaluated(state, measure(run, options, 1, listener), false);
  while (!state.finished) {
    const TrainState before = state;
    const std::vector<Batch> batches = next_batches(batcher, state, options.accumulate);
    ++state.update;

    const UpdateRecord record = make_update(updater, batches, before, listener);
    state.target_tokens += record.target_tokens;
    listener.updated(record);

    const bool last = state.update >= options.updates || (options.minutes && listener.time_is_up());
    bool best = false;
    if (state.update % options.evaluate_every == 0 || last) {
      const Evaluation evaluation = measure(run, options, state.update, listener);
      run.schedule.observe(evaluation.loss);
      best = take(evaluation, options, state);
      listener.evaluated(state, evaluation, best);
    }
    state.finished = last || is_over(state, options);
    // Ranks must agree: what one of them was told they all know with the next update.
    const bool interrupted = !state.finished && (run.ranks != nullptr ? updater.stop() : listener.interrupted());
    if (interrupted || saves_after(state, options)) listener.checkpoint(state, best);
    if (interrupted) break;
  }
  return state;
}

std::vector<std::string> names_of(Metric) { return {"loss", "token_accuracy", "sequence_accuracy", "bleu"}; }

double value_of(Metric metric, const Evaluation& evaluation) {
  switch (metric) {
    case Metric::loss: break;
    case Metric::token_accuracy: return evaluation.token_accuracy;
    case Metric::sequence_accuracy: return evaluation.sequence_accuracy;
    case Metric::bleu: return evaluation.bleu.value_or(0);
  }
  return evaluation.loss;
}

bool improves(Metric metric, double value, double on) { return metric == Metric::loss ? value < on : value > on; }

void TrainOptions::fields(Fields& f) {
  f("updates", updates, "length of the run", Unit{"updates"}, at_least(1));
  f("minutes", minutes,
    "end the run earlier, after the update by which it has trained for so long with this limit, evaluations included; "
    "schedules go by `updates` all the same, and two such runs end at different updates; null: no limit",
    above(0), Unit{"minutes"});
  batching.fields(f);
  f("accumulate", accumulate,
    "batches an update; its loss is the sum over the target tokens of them all, divided by their number: eos counts, "
    "padding does not",
    between(1, 10'000));
  f("clip_norm", clip_norm,
    "largest L2 norm of the gradient of an update's loss, over all parameters together; a larger one is scaled down to "
    "it, before weight decay; null: never",
    above(0));
  f("label_smoothing", label_smoothing,
    "share s of the target spread evenly over all V words of the vocabulary, special ones included (arXiv 1512.00567, "
    "section 7): s / V each, as in PyTorch, where fairseq gives s / (V - 1) to all but the true one",
    fraction());
  f("evaluate_every", evaluate_every, "evaluation on the validation split", Unit{"updates"}, at_least(1));
  f("evaluate_sequences", evaluate_sequences,
    "how many pairs, the first of each evaluated split, are translated for sequence_accuracy and BLEU; surd eval "
    "translates all",
    Unit{"pairs"});
  f("evaluate_bleu", evaluate_bleu, "measure BLEU and chrF2 of these translations, as surd bleu and surd chrf do");
  f("bleu_tokenization", bleu_tokenization, "what a word of BLEU is; see surd bleu",
    When{evaluate_bleu, "evaluate_bleu is true"});
  f("evaluate_at_start", evaluate_at_start,
    "evaluate before the first update as well, logged as update 0; it does not count for the best or for patience");
  f("evaluate_splits", evaluate_splits,
    "further splits of the task, e.g. [test, test_long], that are evaluated once the run is finished, into "
    "summary.json");
  f("metric", metric, "on the validation split: what the best checkpoint and early stopping go by");
  f("patience", patience, "stop after so many evaluations without improvement; null: never", Unit{"evaluations"},
    at_least(1));
  f("stop_at", stop_at, "stop once the metric is this good; null: never");
  f("stop_after", stop_after, "so many in a row must be that good", at_least(1), Unit{"evaluations"},
    When{stop_at.has_value(), "stop_at is a number"});
  f("checkpoint_every", checkpoint_every,
    "how often everything is saved, besides at each new best evaluation and at the end", Unit{"updates"}, at_least(1));
  f("keep_checkpoints", keep_checkpoints, "latest checkpoints kept beside the best", at_least(2));
  f("log_every", log_every, "how often metrics.jsonl gets a line, beside one for the last of `updates`",
    Unit{"updates"}, at_least(1));
  f("tensorboard", tensorboard,
    "write event files for TensorBoard as well: the numbers of metrics.jsonl and probe.jsonl, histograms of parameters "
    "and gradients where the probe watches, the config and sample translations");
  f("replicas", replicas, "threads that share each batch", between(1, 256));
  const double highest = metric == Metric::loss   ? std::numeric_limits<double>::infinity()
                         : metric == Metric::bleu ? 100
                                                  : 1;
  f.rule(!stop_at || (*stop_at > 0 && *stop_at <= highest), "stop_at",
         "is never reached: a loss is above 0, BLEU at most 100, an accuracy at most 1 (0.5, not 50)");
  const std::size_t evaluations = 1 + (updates - 1) / evaluate_every;  // the last at the end
  f.rule(!stop_at || stop_after <= evaluations, "stop_after",
         "are more evaluations than the run has; train longer, or evaluate more often");
  f.rule(
      metric != Metric::sequence_accuracy || evaluate_sequences > 0, "metric",
      "can be sequence_accuracy only if evaluate_sequences is above 0; set evaluate_sequences: 200, or another metric");
  f.rule(metric != Metric::bleu || evaluate_bleu, "metric", "bleu needs evaluate_bleu: true");
  f.rule(!evaluate_bleu || evaluate_sequences > 0, "evaluate_bleu",
         "needs evaluate_sequences above 0; set evaluate_sequences: 200");
}

EvaluationArguments TrainOptions::evaluation() const {
  EvaluationArguments arguments{evaluation_batch_size, evaluate_sequences};
  if (evaluate_bleu) arguments.bleu = bleu_tokenization;
  if (tensorboard) arguments.samples = 5;
  return arguments;
}

}  // namespace surd
