#pragma once

#include "data/batch.hpp"
#include "layers/transformer.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace surd {

/// The sizes of a Transformer and its batch that speed is measured on.
struct BenchShape {
  std::string name;
  std::size_t vocabulary, d_model, heads, feed_forward_width, layers;  ///< layers: of the encoder, and of the decoder
  std::size_t batch_size, source_length, target_length;                ///< source_length 0: a decoder alone

  /// Positions of one batch, source and target.
  std::size_t positions() const { return batch_size * (source_length + target_length); }
};

const std::vector<BenchShape>& bench_shapes();

/// Throws UsageError, with the names there are, where there is no such shape.
const BenchShape& find_bench_shape(std::string_view name);

/// Throws UsageError where it has no sources, too.
const BenchShape& find_bench_shape_with_sources(std::string_view name);

/// The model whose speed is measured: pre-LN, one embedding matrix tied three ways, sinusoidal positions, ReLU; a
/// decoder alone where a batch has no sources.
TransformerOptions bench_model_options(const BenchShape& shape, double dropout);

/// A batch of random tokens without padding.
Batch bench_batch(const BenchShape& shape, std::uint64_t seed);

}  // namespace surd
