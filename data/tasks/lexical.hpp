#pragma once

#include "data/tasks/synthetic.hpp"

namespace surd {

struct LexicalOptions : SequenceOptions {
  LexicalOptions() { vocabulary = 128; }
  double zipf_exponent = 0;

  void fields(Fields& f);
};

/// Each token is replaced by its partner in a fixed bijection, drawn from the seed: "w3 w1 w3" -> "w9 w4 w9". So what
/// has to be learned is about tokens. The symbol of rank r = 1, 2, ... is drawn with probability proportional to
/// r^-zipf_exponent.
class LexicalTask : public Task {
 public:
  using Options = LexicalOptions;
  explicit LexicalTask(Options options);

  TextFormat format() const override { return one_language(); }
  Corpus load(std::uint64_t seed) const override;

  /// The bijection: symbol i of a source becomes symbol bijection(seed)[i] of the target.
  std::vector<std::size_t> bijection(std::uint64_t seed) const;

 private:
  Options options_;
};

}  // namespace surd
