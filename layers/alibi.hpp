#pragma once

#include "layers/attention.hpp"

namespace surd {

struct AlibiOptions : MultiHeadOptions {
  double slope = 1;

  void fields(Fields& f) {
    MultiHeadOptions::fields(f);
    f("slope", slope, "head h of H loses slope 2^(-8 h / H) a position of distance, h = 1..H", at_least(0));
  }
};

/// Attention with linear biases: a score falls with the distance of query and key, in either direction, by a slope
/// of its head. It needs no other positions (model.positions.kind: none). Across to the source the distance is that of
/// target position t and source position j. Press et al., arXiv 2108.12409, section 3.
class AlibiAttention : public MultiHeadAttention {
 public:
  using Options = AlibiOptions;
  /// Throws Error unless heads divide d_model.
  AlibiAttention(const Scope& scope, std::size_t d_model, std::size_t heads, const Options& options);

 protected:
  void adjust(AttentionArguments& arguments) const override;

 private:
  std::vector<double> slopes_;  // a head
};

}  // namespace surd
