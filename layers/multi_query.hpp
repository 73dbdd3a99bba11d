#pragma once

#include "layers/attention.hpp"

namespace surd {

struct MultiQueryOptions : MultiHeadOptions {
  std::size_t key_value_heads = 1;

  void fields(Fields& f) {
    MultiHeadOptions::fields(f);
    f("key_value_heads", key_value_heads,
      "heads of keys and values, each shared by as many heads of queries in a row: with 4 heads and 2, the first two "
      "share the first; must divide model.heads; more than one is grouped-query attention (arXiv 2305.13245)",
      at_least(1));
  }
};

/// Attention whose heads share their keys and values, so that decoding remembers less: its cache holds
/// [B, T, key_value_heads d_k]. Shazeer, arXiv 1911.02150, section 3.
class MultiQueryAttention : public MultiHeadAttention {
 public:
  using Options = MultiQueryOptions;
  /// Throws Error unless key_value_heads divides heads and heads divide d_model.
  MultiQueryAttention(const Scope& scope, const AttentionPlace& place, const Options& options);
};

}  // namespace surd
