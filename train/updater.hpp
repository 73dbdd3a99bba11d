#pragma once

#include "autograd/profile.hpp"
#include "train/replicas.hpp"
#include "train/train.hpp"

#include <cstdint>
#include <vector>

namespace surd {

/// Makes one update after another: gradients on replicas, clipping, the optimizer's step.
class Updater {
 public:
  /// Both must outlive it. `profile`, if there is one, is given the time of each op of the first replica and of the
  /// rest of the update.
  Updater(const Training& training, const TrainOptions& options, Profile* profile = nullptr)
      : training_(training),
        options_(options),
        replicas_(training.model, training.parameters, options.replicas, training.ranks),
        profile_(profile) {}

  /// Update `number`, the first being 1, from the gradients of these batches together. Throws Diverged before anything
  /// that is not finite is applied, or right after the update itself overflowed.
  UpdateRecord update(const std::vector<Batch>& batches, std::uint64_t number, std::uint64_t epoch,
                      TrainListener& listener);

  /// Whether any rank was told to stop before the last update; the same on all of them.
  bool stop() const { return replicas_.stop(); }

 private:
  /// Global norm of the gradients. Throws Diverged naming the first parameter whose gradient is not finite.
  double gradient_norm(std::uint64_t update);
  /// The optimizer's step. Throws Diverged where it overflowed, so that it does not go into a checkpoint.
  void step(double schedule_factor, double gradient_scale, std::uint64_t update);
  void book(const char* what) {
    if (profile_ != nullptr) profile_->book(what);
  }

  const Training& training_;
  const TrainOptions& options_;
  Replicas replicas_;
  Profile* profile_;
};

}  // namespace surd
