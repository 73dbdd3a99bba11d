#include "train/schedule.hpp"

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

constexpr double pi = 3.14159265358979323846;

double warmup_factor(std::uint64_t update, std::size_t warmup) {
  return update < warmup ? static_cast<double>(update) / static_cast<double>(warmup) : 1;
}

/// 0 up to the first update after the warm-up, 1 only after the last update.
double progress(std::uint64_t update, std::size_t warmup, std::size_t updates) {
  if (update <= warmup) return 0;
  if (update > updates) return 1;
  return static_cast<double>(update - 1 - warmup) / static_cast<double>(updates - warmup);
}

}  // namespace

double LinearSchedule::factor(std::uint64_t update) const {
  const double decay = 1 - (1 - options_.final_factor) * progress(update, options_.warmup, updates_);
  return warmup_factor(update, options_.warmup) * decay;
}

double CosineSchedule::factor(std::uint64_t update) const {
  const double fall = (1 - std::cos(pi * progress(update, options_.warmup, updates_))) / 2;
  return warmup_factor(update, options_.warmup) * (1 - (1 - options_.final_factor) * fall);
}

double InverseSqrtSchedule::factor(std::uint64_t update) const {
  const auto u = static_cast<double>(update), warmup = static_cast<double>(options_.warmup);
  return std::min(u / warmup, std::sqrt(warmup / u));
}

double PlateauSchedule::factor(std::uint64_t update) const { return warmup_factor(update, options_.warmup) * factor_; }

void PlateauSchedule::observe(double validation_loss) {
  if (evaluations_without_ < 0 || validation_loss < lowest_) {
    lowest_ = validation_loss;
    evaluations_without_ = 0;
    return;
  }
  if (++evaluations_without_ < static_cast<double>(options_.patience)) return;
  factor_ = std::max(factor_ * options_.decrease, options_.min_factor);
  evaluations_without_ = 0;
}

std::map<std::string, double> PlateauSchedule::state() const {
  return {{"factor", factor_}, {"lowest", lowest_}, {"evaluations_without", evaluations_without_}};
}

void PlateauSchedule::restore(const std::map<std::string, double>& state) {
  const double factor = state.at("factor"), lowest = state.at("lowest"), without = state.at("evaluations_without");
  factor_ = factor;
  lowest_ = lowest;
  evaluations_without_ = without;
}

ScheduleRegistry& schedules() {
  static ScheduleRegistry table = [] {
    ScheduleRegistry built_in("schedule");
    built_in.add<ConstantSchedule>("constant", "the same rate throughout");
    built_in.add<LinearSchedule>("linear", "warm-up, then a straight line down");
    built_in.add<InverseSqrtSchedule>("inverse_sqrt", "warm-up, then 1/sqrt(update); 'noam' in other tools");
    built_in.add<CosineSchedule>("cosine", "warm-up, then half a cosine down");
    built_in.add<PlateauSchedule>("plateau", "lower when the validation loss stops falling");
    return built_in;
  }();
  return table;
}

}  // namespace surd
