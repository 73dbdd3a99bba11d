#pragma once

#include "data/tasks/synthetic.hpp"

namespace surd {

/// The target is the source in ascending order: "9 17 3 9" -> "3 9 9 17". The symbols are the numbers from 0 to
/// vocabulary - 1. A negative control: the positions of the source do not matter.
class SortTask : public Task {
 public:
  using Options = SequenceOptions;
  explicit SortTask(Options options);

  TextFormat format() const override { return one_language(); }
  Corpus load(std::uint64_t seed) const override;

 private:
  Options options_;
};

}  // namespace surd
