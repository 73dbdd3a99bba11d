#include "layers/multi_query.hpp"

namespace surd {

MultiQueryAttention::MultiQueryAttention(const Scope& scope, std::size_t d_model, std::size_t heads,
                                         const Options& options)
    : MultiHeadAttention(scope, d_model, heads, options.key_value_heads, options) {}

}  // namespace surd
