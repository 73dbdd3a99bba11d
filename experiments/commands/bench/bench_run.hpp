#pragma once

#include "experiments/commands/bench/bench_shape.hpp"
#include "experiments/program/stopwatch.hpp"
#include "train/optimizers/adam.hpp"
#include "train/updater.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

namespace surd {

/// A model of a shape and all that an update of it needs.
struct BenchRun {
  BenchRun(const BenchShape& shape, double dropout, std::size_t replicas);

  ParameterSet parameters;
  Scope scope;
  Transformer model;
  Adam optimizer;
  ConstantSchedule schedule;
  std::vector<SentencePair> no_pairs;
  TextCodec no_words{TextFormat(), Vocabulary(), Vocabulary()};
  Training training;
  TrainOptions options;
  std::vector<Batch> batches;
};

/// Does the work again and again, for `seconds` and at least three times, and returns how long each time took.
template <class Work>
std::vector<double> times_of(Work work, double seconds) {
  std::vector<double> times;
  for (double elapsed = 0; elapsed < seconds || times.size() < 3; elapsed += times.back())
    times.push_back(seconds_of(work));
  return times;
}

/// Rounds to the nearest multiple of `unit`, which is one over a whole number, e.g. 0.1.
inline double rounded(double value, double unit) {
  const double inverse = std::round(1 / unit);  // to divide by: 3 / 10.0 is the double 0.3, 3 * 0.1 is not
  return std::round(value * inverse) / inverse;
}

}  // namespace surd
