#pragma once

#include "data/batcher.hpp"
#include "data/dataset.hpp"
#include "layers/transformer.hpp"
#include "train/evaluation.hpp"
#include "train/optimizers/optimizer.hpp"
#include "train/ranks/ranks.hpp"
#include "train/schedule.hpp"
#include "train/train_state.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace surd {

/// What early stopping and the best checkpoint go by.
enum class Metric { loss, token_accuracy, sequence_accuracy, bleu };
std::vector<std::string> names_of(Metric);
/// Of BLEU that was not measured: 0.
double value_of(Metric metric, const Evaluation& evaluation);
/// Whether a value is better than `on`: a loss smaller, any other larger.
bool improves(Metric metric, double value, double on);

struct TrainOptions {
  std::size_t updates = 2000;
  std::optional<double> minutes;
  BatcherOptions batching = {64, std::nullopt, true, std::nullopt};
  std::size_t accumulate = 1;
  std::optional<double> clip_norm = 1.0;
  double label_smoothing = 0;
  std::size_t evaluate_every = 200;
  std::size_t evaluate_sequences = 200;
  bool evaluate_bleu = false;
  BleuTokenization bleu_tokenization = BleuTokenization::mteval_13a;
  bool evaluate_at_start = false;
  std::vector<std::string> evaluate_splits;  ///< by whoever calls train(), which knows two splits only
  Metric metric = Metric::loss;
  std::optional<std::size_t> patience;
  std::optional<double> stop_at;
  std::size_t stop_after = 1;
  std::size_t checkpoint_every = 200;
  std::size_t keep_checkpoints = 2;
  std::size_t log_every = 10;
  bool tensorboard = false;  ///< for whoever listens: train() itself writes nothing
  std::size_t replicas = 1;

  void fields(Fields& f);

  /// How a split is evaluated.
  EvaluationArguments evaluation() const;
};

/// Whether a run with these options is over where it stands, by its updates, stop_at or patience.
bool is_over(const TrainState& state, const TrainOptions& options);
/// Whether it saves everything where it stands, also if nobody interrupts it.
bool saves_after(const TrainState& state, const TrainOptions& options);
/// How often it does so at most.
std::size_t most_saves(const TrainOptions& options);

struct UpdateRecord {
  std::uint64_t update;
  std::uint64_t epoch;
  double loss;           ///< with label smoothing, nats a target token
  double gradient_norm;  ///< before clipping
  double learning_rate;
  std::size_t source_tokens, target_tokens;  ///< of this update, without padding
};

/// What happens beside the algorithm: logs, checkpoints, progress, interruption.
class TrainListener {
 public:
  virtual ~TrainListener() = default;
  /// Asked before the pass over the index-th batch of an update: who is to watch it; null: nobody, which costs nothing.
  virtual Observer* observer(std::uint64_t /*update*/, std::size_t /*index*/, const Batch&) { return nullptr; }
  /// The gradients of an update, before it is applied.
  virtual void gradients(std::uint64_t /*update*/, const ParameterSet&) {}
  virtual void updated(const UpdateRecord&) {}
  /// An evaluation on the validation split begins.
  virtual void evaluating() {}
  /// Where the run stands then; after 0 updates it is before the first, which is never the best.
  virtual void evaluated(const TrainState&, const Evaluation&, bool /*best*/) {}
  /// To save everything; called every checkpoint_every updates, after an evaluation with a new best, at the end, and
  /// where the run is interrupted or a rank is lost.
  virtual void checkpoint(const TrainState&, bool /*best*/) {}
  /// Asked after each update; true ends the run after a last checkpoint.
  virtual bool interrupted() { return false; }
  /// Asked after each update of a run with `minutes`; true makes it the last one.
  virtual bool time_is_up() { return false; }
};

/// Thrown before the update with a NaN or an infinity would be applied, or right after one that overflowed.
class Diverged : public Error {
 public:
  Diverged(std::uint64_t update, std::string where)
      : Error(fmt::format("diverged at update {}: {} is not finite", update, where)),
        update_(update),
        where_(std::move(where)) {}
  std::uint64_t update() const { return update_; }
  const std::string& where() const { return where_; }  ///< "encoder.0.self_attention: attention"

 private:
  std::uint64_t update_;
  std::string where_;
};

/// What is trained and on what.
struct Training {
  const Transformer& model;
  ParameterSet& parameters;
  Optimizer& optimizer;
  Schedule& schedule;
  const std::vector<SentencePair>& train_pairs;
  const std::vector<SentencePair>& valid_pairs;
  const TextCodec& codec;  ///< of these pairs
  std::uint64_t seed;
  Ranks* ranks = nullptr;  ///< the processes that train this model together, if there are several
};

/// Trains from `state` to the end. Deterministic: neither time nor chance enters, but for when a run with `minutes`
/// ends. All ranks do the same but for their parts of the batches. Throws Diverged, RankLost after saving what was
/// reached before, and Error where there is no thread for a replica, or ranks have a limit of minutes: their clocks
/// differ. The options must be in their ranges.
TrainState train(const Training& training, const TrainOptions& options, TrainState state, TrainListener& listener);

}  // namespace surd
