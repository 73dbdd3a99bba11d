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
  Training training;
  TrainOptions options;
  std::vector<Batch> batches;
};

/// How long each piece of work takes, one after the other for so many seconds, though at least three.
template <class Work>
std::vector<double> times_of(Work work, double seconds) {
  std::vector<double> times;
  for (double elapsed = 0; elapsed < seconds || times.size() < 3; elapsed += times.back())
    times.push_back(seconds_of(work));
  return times;
}

/// To the nearest multiple of `unit`, one over a whole number.
inline double rounded(double value, double unit) {
  const double inverse = std::round(1 / unit);  // a whole number: 0.1 times 3 is not 0.3, but 3 over 10 is
  return std::round(value * inverse) / inverse;
}

}  // namespace surd
