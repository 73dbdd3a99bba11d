#pragma once

#include "autograd/base/registry.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace surd {

/// Factor on the learning rate over the run. Updates count from 1: the first update is made with factor(1), the last
/// one of a run of `updates` with factor(updates).
class Schedule {
 public:
  virtual ~Schedule() = default;
  virtual double factor(std::uint64_t update) const = 0;
  /// Told the validation loss of each evaluation after an update.
  virtual void observe(double /*validation_loss*/) {}
  /// State to be saved with a checkpoint, by name.
  virtual std::map<std::string, double> state() const { return {}; }
  /// Throws std::out_of_range where a name is missing.
  virtual void restore(const std::map<std::string, double>& /*state*/) {}
};

struct ConstantOptions {
  void fields(Fields&) {}
};
/// 1 throughout.
class ConstantSchedule : public Schedule {
 public:
  using Options = ConstantOptions;
  ConstantSchedule(std::size_t, const Options&) {}
  double factor(std::uint64_t) const override { return 1; }
};

/// Of a linear warm-up. fairseq and transformers count from 0, so that their first update does nothing.
inline constexpr const char* warmup_help =
    "update u = 1, 2, ... up to this one has the factor u / warmup; fairseq and transformers give it (u - 1) / warmup";

/// Both schedules below are at 1 in the updates `warmup` and `warmup` + 1 and would be at final_factor in update
/// `updates` + 1, so that the last update still moves something. After the warm-up, and throughout where there is none,
/// these are the factors of fairseq's polynomial_decay, of transformers' schedules with warm-up and of PyTorch's
/// CosineAnnealingLR with T_max = updates: they count updates from 0.
struct DecayOptions {
  std::size_t warmup = 0;
  double final_factor = 0;
  void fields(Fields& f) {
    f("warmup", warmup, warmup_help, Unit{"updates"});
    f("final_factor", final_factor,
      "update u > warmup has final_factor + (1 - final_factor) s, with s = 1 - p (linear) or (1 + cos(pi p)) / 2 "
      "(cosine), p = (u - 1 - warmup) / (updates - warmup); it would be reached one update after the last, as in "
      "fairseq, transformers and PyTorch",
      between(0, 1));
  }
};
/// Linear warm-up, then a straight line down: final_factor + (1 - final_factor) (1 - p), where
/// p = (u - 1 - warmup) / (updates - warmup).
class LinearSchedule : public Schedule {
 public:
  using Options = DecayOptions;
  LinearSchedule(std::size_t updates, const Options& options) : updates_(updates), options_(options) {}
  double factor(std::uint64_t update) const override;

 private:
  std::size_t updates_;
  Options options_;
};
/// Linear warm-up, then half a cosine down: final_factor + (1 - final_factor) (1 + cos(pi p)) / 2, with the same p.
/// Loshchilov & Hutter, arXiv 1608.03983, equation 5, without restarts.
class CosineSchedule : public Schedule {
 public:
  using Options = DecayOptions;
  CosineSchedule(std::size_t updates, const Options& options) : updates_(updates), options_(options) {}
  double factor(std::uint64_t update) const override;

 private:
  std::size_t updates_;
  Options options_;
};

struct InverseSqrtOptions {
  std::size_t warmup = 400;
  void fields(Fields& f) {
    f("warmup", warmup,
      "update u has the factor min(u / warmup, sqrt(warmup / u)), which fairseq and transformers give to update u + 1; "
      "'noam' elsewhere is (d_model * warmup)^-1/2 times that",
      Unit{"updates"}, at_least(1));
  }
};
/// min(u / warmup, sqrt(warmup / u)): the schedule of Vaswani et al., section 5.3, equation 3, with its peak, in update
/// `warmup`, at the configured rate instead of d_model^-1/2 warmup^-1/2. The inverse_sqrt of fairseq and of
/// transformers gives update u + 1 what update u has here.
class InverseSqrtSchedule : public Schedule {
 public:
  using Options = InverseSqrtOptions;
  InverseSqrtSchedule(std::size_t, const Options& options) : options_(options) {}
  double factor(std::uint64_t update) const override;

 private:
  Options options_;
};

struct PlateauOptions {
  std::size_t warmup = 0;
  double decrease = 0.5;
  std::size_t patience = 3;
  double min_factor = 0.01;
  void fields(Fields& f) {
    f("warmup", warmup, warmup_help, Unit{"updates"});
    f("decrease", decrease, "factor on the rate when the validation loss stops falling", fraction());
    f("patience", patience, "evaluations without a new lowest validation loss before that", Unit{"evaluations"},
      at_least(1));
    f("min_factor", min_factor, "the rate falls no lower than this share", between(0, 1));
  }
};
/// Linear warm-up, then 1 until the validation loss stops falling: after `patience` evaluations without a new lowest
/// one the factor is multiplied by `decrease`, and they are counted anew.
class PlateauSchedule : public Schedule {
 public:
  using Options = PlateauOptions;
  PlateauSchedule(std::size_t, const Options& options) : options_(options) {}
  double factor(std::uint64_t update) const override;
  void observe(double validation_loss) override;
  std::map<std::string, double> state() const override;
  void restore(const std::map<std::string, double>& state) override;

 private:
  Options options_;
  double factor_ = 1;
  double lowest_ = 0;
  double evaluations_without_ = -1;  // -1: nothing observed yet
};

/// The schedules a config can name: made from (updates of the run, options).
using ScheduleRegistry = Registry<Schedule(std::size_t)>;
using ScheduleChoice = Choice<Schedule(std::size_t)>;
ScheduleRegistry& schedules();

}  // namespace surd
