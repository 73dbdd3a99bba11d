#include "experiments/commands/bench/bench_shape.hpp"

#include "autograd/base/random.hpp"
#include "data/vocabulary.hpp"
#include "experiments/program/usage_error.hpp"
#include "layers/feed_forward.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace surd {

const std::vector<BenchShape>& bench_shapes() {
  static const std::vector<BenchShape> shapes = {
      {"toy-32", 64, 32, 4, 128, 2, 64, 12, 13},        {"toy-64", 64, 64, 4, 256, 2, 64, 12, 13},
      {"toy-128", 64, 128, 4, 512, 2, 64, 12, 13},      {"toy-256", 64, 256, 8, 1024, 2, 64, 12, 13},
      {"m30k-256", 8000, 256, 8, 1024, 3, 128, 16, 17}, {"base-512", 8000, 512, 8, 2048, 6, 32, 32, 33},
      {"text-128", 5000, 128, 4, 512, 4, 256, 0, 16},   {"text-256", 8000, 256, 8, 1024, 6, 32, 0, 128}};
  return shapes;
}

const BenchShape& find_bench_shape(std::string_view name) {
  const auto& shapes = bench_shapes();
  const auto found = std::find_if(shapes.begin(), shapes.end(), [&](const auto& shape) { return shape.name == name; });
  if (found != shapes.end()) return *found;
  std::vector<std::string> names;
  for (const BenchShape& shape : shapes) names.push_back(shape.name);
  throw UsageError(fmt::format("--config: there is no shape '{}'; there are {}", name, fmt::join(names, ", ")));
}

const BenchShape& find_bench_shape_with_sources(std::string_view name) {
  const BenchShape& shape = find_bench_shape(name);
  expect_usage(shape.source_length > 0, "--config", "'{}' has no sources, which this needs; choose another", name);
  return shape;
}

TransformerOptions bench_model_options(const BenchShape& shape, double dropout) {
  TransformerOptions options;
  if (shape.source_length == 0) options.kind = ModelKind::decoder_only;
  options.d_model = shape.d_model;
  options.heads = shape.heads;
  options.encoder_layers = options.decoder_layers = shape.layers;
  options.dropout = dropout;
  options.embedding.tie = Tie::all;
  PositionWiseOptions feed_forward;
  feed_forward.width = shape.feed_forward_width;
  options.feed_forward.set<PositionWiseFeedForward>("position_wise", feed_forward);
  MultiHeadOptions attention;
  attention.dropout = dropout;
  options.attention.set<MultiHeadAttention>("multi_head", attention);
  return options;
}

Batch bench_batch(const BenchShape& shape, std::uint64_t seed) {
  random::Sequence draw(random::Stream(seed, "bench", "tokens"));
  const auto tokens = [&](std::size_t count) {
    std::vector<TokenId> ids(count);
    const auto first = static_cast<double>((Vocabulary::unk + 1)), span = static_cast<double>(shape.vocabulary) - first;
    for (TokenId& id : ids) id = static_cast<TokenId>(first + draw.uniform() * span);
    return ids;
  };
  std::vector<SentencePair> pairs(shape.batch_size);
  std::vector<std::size_t> indices;
  for (SentencePair& pair : pairs) {
    pair.source = tokens(shape.source_length);      // none, where a decoder alone learns texts
    pair.target = tokens(shape.target_length - 1);  // bos and eos come with the batch
    indices.push_back(indices.size());
  }
  return make_batch(pairs, indices);
}

}  // namespace surd
