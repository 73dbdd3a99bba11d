#pragma once

#include "layers/attention.hpp"

namespace surd {

struct RotaryOptions : MultiHeadOptions {
  double base = 10000;
  std::optional<std::size_t> key_value_heads;

  void fields(Fields& f) {
    MultiHeadOptions::fields(f);
    f("base", base,
      "pair i of a head, its columns 2i and 2i + 1, turns by base^(-2i / d_k) a position; in self-attention only",
      above(1));
    f("key_value_heads", key_value_heads,
      "heads of keys and values, each shared by as many heads of queries in a row; must divide model.heads [as many]",
      at_least(1));
  }
};

/// Attention whose queries and keys are turned by their positions, so that a score depends on the distance of the two.
/// It needs no other positions (model.positions.kind: none). Attention to the source is left as it is: a distance
/// between positions of two sequences means nothing there. Su et al., arXiv 2104.09864, section 3.2.
class RotaryAttention : public MultiHeadAttention {
 public:
  using Options = RotaryOptions;
  /// Throws Error unless heads divide d_model into an even width, and key_value_heads divide heads.
  RotaryAttention(const Scope& scope, const AttentionPlace& place, const Options& options);

 protected:
  Variable at_positions(Variable x, std::size_t count, std::size_t first_position) const override;

 private:
  bool turns_;
  double base_;
};

}  // namespace surd
