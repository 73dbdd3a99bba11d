#pragma once

#include "data/tasks/synthetic.hpp"

namespace surd {

struct AdditionOptions : SplitSizes {
  std::size_t max_digits = 3;

  void fields(Fields& f);
};

/// Adds two numbers whose digits are written least significant first, so that a carry goes from left to right:
/// "1 2 + 3 4" -> "4 6" is 21 + 43 = 64. The number of digits of each summand is uniform from 1 to max_digits; neither
/// has leading zeros.
class AdditionTask : public Task {
 public:
  using Options = AdditionOptions;
  explicit AdditionTask(Options options);

  TextFormat format() const override { return one_language(); }
  Corpus load(std::uint64_t seed) const override;

 private:
  Options options_;
};

}  // namespace surd
