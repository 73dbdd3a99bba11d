#pragma once

#include "layers/attention.hpp"

namespace surd {

struct RelativeBiasOptions : MultiHeadOptions {
  std::size_t buckets = 32;
  std::size_t max_distance = 128;
  FixedScale bucket_std = Scale::Rule::inv_sqrt_dim;

  void fields(Fields& f) {
    MultiHeadOptions::fields(f);
    f("buckets", buckets,
      "ranges of distances that have a bias each, an even number; the encoder uses half of them for the keys before a "
      "query, and half for those behind it",
      between(4, 10'000));
    f("max_distance", max_distance, "from here on all distances share the last bucket; above half the buckets",
      Unit{"positions"}, between(2, 100'000));
    bias_std_field(f, "bucket_std", bucket_std,
                   "standard deviation of the initial biases, which are normal, over d_model");
    f.rule(buckets % 2 == 0, "buckets", "must be even");
    f.rule(max_distance > buckets / 2, "max_distance",
           fmt::format("must be above {}, half the buckets, which have a distance each", buckets / 2));
  }
};

/// The bucket of a key that stands `distance` positions behind its query (before it, if negative). One half of the
/// buckets have one distance each; the others grow in proportion to it, up to max_distance. Where a query sees both
/// ways, one half is for the keys before it and one for those behind it. Raffel et al., arXiv 1910.10683, section 2.1.
std::size_t distance_bucket(std::ptrdiff_t distance, bool both_ways, std::size_t buckets, std::size_t max_distance);

/// Attention with a learned bias on each score, one a head and bucket of distances: the parameter
/// "distance_bias.weight" [buckets, heads] of each stack, shared by all its blocks. It needs no other positions
/// (model.positions.kind: none). Attention to the source has none. Raffel et al., arXiv 1910.10683, section 2.1.
class RelativeBiasAttention : public MultiHeadAttention {
 public:
  using Options = RelativeBiasOptions;
  /// Throws Error unless heads divide d_model.
  RelativeBiasAttention(const Scope& scope, const AttentionPlace& place, const Options& options);

 protected:
  void adjust(AttentionArguments& arguments, Tape& tape, std::size_t queries, std::size_t keys) const override;

 private:
  std::size_t buckets_, max_distance_;
  bool both_ways_;
  Parameter* weight_;  // null to the source
};

}  // namespace surd
