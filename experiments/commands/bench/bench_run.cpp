#include "experiments/commands/bench/bench_run.hpp"

namespace surd {

BenchRun::BenchRun(const BenchShape& shape, double dropout, std::size_t replicas)
    : scope(parameters, 0),
      model(scope, bench_model_options(shape, dropout), shape.vocabulary, shape.vocabulary),
      optimizer(parameters, AdamOptions()),
      schedule(1, ConstantOptions()),
      training{model, parameters, optimizer, schedule, no_pairs, no_pairs, no_words, 0},
      batches{bench_batch(shape, 0)} {
  options.replicas = replicas;
  options.label_smoothing = 0.1;
}

}  // namespace surd
