#pragma once

#include "data/tasks/synthetic.hpp"

namespace surd {

struct ReverseOptions : SequenceOptions {
  std::size_t extra_length = 5;

  void fields(Fields& f);
};

/// The target is the source backwards: "c a b" -> "b a c". So what has to be learned is about positions. The further
/// split "test_long" has longer sources than any other split: max_length + 1 to max_length + extra_length tokens.
class ReverseTask : public Task {
 public:
  using Options = ReverseOptions;
  explicit ReverseTask(Options options);

  TextFormat format() const override { return one_language(); }
  Corpus load(std::uint64_t seed) const override;

 private:
  Options options_;
};

}  // namespace surd
