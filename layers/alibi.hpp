#pragma once

#include "layers/attention.hpp"

namespace surd {

struct AlibiOptions : MultiHeadOptions {
  double slope = 1;

  void fields(Fields& f) {
    MultiHeadOptions::fields(f);
    f("slope", slope,
      "head h loses slope 2^(-8 h / n) a position of distance, h = 1..n, n the largest power of two in the heads; more "
      "heads have h = 1/2, 3/2, ...; in self-attention only",
      at_least(0));
  }
};

/// Attention with linear biases: a score falls with the distance of query and key, in either direction, by a slope
/// of its head. It needs no other positions (model.positions.kind: none). Attention to the source is left as it is: a
/// distance between positions of two sequences means nothing there. Press et al., arXiv 2108.12409, section 3.
class AlibiAttention : public MultiHeadAttention {
 public:
  using Options = AlibiOptions;
  /// Throws Error unless heads divide d_model.
  AlibiAttention(const Scope& scope, const AttentionPlace& place, const Options& options);

 protected:
  void adjust(AttentionArguments& arguments, Tape& tape, std::size_t queries, std::size_t keys) const override;

 private:
  std::vector<double> slopes_;  // a head; none to the source
};

}  // namespace surd
