#pragma once

#include "data/batch.hpp"
#include "layers/transformer.hpp"
#include "train/ranks/ranks.hpp"
#include "train/replica_threads.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace surd {

/// What a pass over a batch is asked for.
struct PassArguments {
  Real label_smoothing;
  Real divisor;        ///< of the summed loss: the target tokens of the whole update
  std::uint64_t seed;  ///< with `step`, of the dropout masks
  std::uint64_t step;
  Observer* observer = nullptr;  ///< of the first replica
  Profile* profile = nullptr;    ///< of the first replica
  bool stop = false;             ///< this process was told to stop, which all ranks are to know
};

/// Computes gradients of one batch on several threads: each replica runs forward and backward over its slice of the
/// rows on a tape of its own, and the gradients are added in the order of the replicas. So a given number of replicas
/// always gives the same bits, and different numbers agree up to rounding. With ranks, each has so many replicas, and
/// the sum goes over all of them, in the order of the ranks.
class Replicas {
 public:
  /// `ranks`, if there are any, must outlive it. Throws Error where the system has not so many threads, std::bad_alloc
  /// where it has not the memory.
  Replicas(const Transformer& model, ParameterSet& parameters, std::size_t count, Ranks* ranks = nullptr);
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  /// Adds the batch's gradients to the parameters' own; returns its share of the loss. Where that is not finite, the
  /// gradients are not to be used, and non_finite() names the first value that is not. Throws RankLost.
  double accumulate(const Batch& batch, const PassArguments& arguments);

  /// work(parameter) for each parameter: in their order on this thread or, where there are at least `least_shared`
  /// elements, by the threads of all replicas in any order. Throws what one of these calls has thrown; others may have
  /// been made nevertheless.
  void each_parameter(const std::function<void(Parameter&)>& work);

  /// With fewer elements it takes longer to wake the other threads than to pass over the parameters alone.
  static constexpr std::size_t least_shared = std::size_t{1} << 18;

  const std::string& non_finite() const { return non_finite_; }
  /// Whether a process was told to stop, as the last pass said; the same on all ranks.
  bool stop() const { return stop_; }

 private:
  struct Replica {
    Tape tape;
    std::vector<GradientSum> gradients;  // of the first replica: none, it adds to the parameters' own
    double loss = 0;
    std::string non_finite;
  };

  void run(std::size_t index);

  const Transformer& model_;
  ParameterSet& parameters_;
  Ranks* ranks_;
  bool share_parameters_;                           // among the threads
  std::function<void(std::size_t)> gradient_done_;  // sends gradients while backward goes on
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::string non_finite_;
  bool stop_ = false;

  // The pass under way.
  std::vector<Batch> slices_;
  PassArguments arguments_{};

  ReplicaThreads threads_;  // last: they use the others until they end
};

}  // namespace surd
