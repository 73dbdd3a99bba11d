#pragma once

#include "tests/train/toy.hpp"
#include "train/batch_loss.hpp"
#include "train/probe/probe.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <string>

/// One pass over a batch, watched by the probe as training would have it watched.
namespace surd::test {

inline Batch batch_of(const std::vector<SentencePair>& pairs) {
  std::vector<std::size_t> rows(pairs.size());
  std::iota(rows.begin(), rows.end(), 0);
  return make_batch(pairs, rows);
}

/// Pairs of random tokens, the targets independent of the sources.
inline std::vector<SentencePair> random_pairs(std::size_t count, std::size_t min_length, std::size_t max_length,
                                              std::size_t symbols) {
  auto pairs = copy_pairs(count, min_length, max_length, symbols, 1);
  const auto others = copy_pairs(count, min_length, max_length, symbols, 2);
  for (std::size_t i = 0; i < count; ++i) pairs[i].target = others[i].target;
  return pairs;
}

/// Gradients go to the parameters. Returns the loss.
inline double pass(Toy& toy, const Batch& batch, Observer* observer) {
  toy.parameters.clear_gradients();
  TapeArguments options;
  options.observer = observer;
  Tape tape(options);
  const Variable loss = batch_loss(toy.transformer, tape, batch, 0, static_cast<Real>(batch.target_tokens()));
  const auto number = static_cast<double>(loss.value().data()[0]);
  tape.backward(loss);
  return number;
}

struct WatchedPass {
  WatchedPass(Toy& toy, const Batch& batch) {
    loss = pass(toy, batch, probe.watch(0, batch));
    probe.parameters(toy.parameters);
  }
  std::size_t count(const std::string& path, const std::string& what, const std::string& statistic) const {
    std::size_t found = 0;
    for (const Probe::Record& r : probe.records())
      found += r.path == path && r.what == what && r.statistic == statistic ? 1 : 0;
    return found;
  }
  double number(const std::string& path, const std::string& what, const std::string& statistic) const {
    CAPTURE(path);
    CAPTURE(what);
    CAPTURE(statistic);
    REQUIRE(count(path, what, statistic) == 1);
    for (const Probe::Record& r : probe.records())
      if (r.path == path && r.what == what && r.statistic == statistic) return r.number;
    return 0;
  }
  Probe probe;
  double loss;
};

}  // namespace surd::test
