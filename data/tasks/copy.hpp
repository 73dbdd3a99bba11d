#pragma once

#include "data/tasks/synthetic.hpp"

namespace surd {

/// The target is the source: "c a b" -> "c a b". A baseline that needs tokens and positions alike.
class CopyTask : public Task {
 public:
  using Options = SequenceOptions;
  explicit CopyTask(Options options);

  TextFormat format() const override { return one_language(); }
  Corpus load(std::uint64_t seed) const override;

 private:
  Options options_;
};

}  // namespace surd
