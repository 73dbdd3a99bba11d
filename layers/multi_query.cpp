#include "layers/multi_query.hpp"

namespace surd {

MultiQueryAttention::MultiQueryAttention(const Scope& scope, const AttentionPlace& place, const Options& options)
    : MultiHeadAttention(scope, place, options.key_value_heads, options) {}

}  // namespace surd
