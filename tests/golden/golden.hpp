#pragma once

#include "data/batch.hpp"
#include "layers/transformer.hpp"
#include "train/storage/safetensors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

/// The files that tests/golden/make_golden.py and make_presets.py wrote, and make_golden.py's model in surd.
namespace surd::test {

/// The variants there are.
inline const std::vector<std::string> golden_variants = {"pre_decoder", "pre_none", "post_decoder", "post_none",
                                                         "pre_all"};

/// Bounds on deviations from PyTorch's float64 numbers.
inline constexpr double golden_tolerance = sizeof(Real) == 4 ? 1e-5 : 1e-9;

/// Largest |a - b| over the largest |expected|; infinite where the shapes differ or something is NaN.
inline double relative_deviation(const Tensor& actual, const Tensor& expected) {
  if (actual.shape() != expected.shape()) return std::numeric_limits<double>::infinity();
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto a = static_cast<double>(actual.data()[i]), b = static_cast<double>(expected.data()[i]);
    if (!std::isfinite(a)) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::fabs(a - b));
    largest = std::max(largest, std::fabs(b));
  }
  return difference / largest;
}

/// One file, whose path begins at tests/golden.
struct GoldenFile {
  TensorFile file;

  explicit GoldenFile(const std::string& path)
      : file(read_safetensors(std::string(SURD_SOURCE_DIR) + "/tests/golden/" + path)) {}

  const std::string& metadata(const std::string& key) const { return file.metadata.at(key); }

  const Tensor& tensor(const std::string& name) const {
    const auto found = file.tensors.find(name);
    expect(found != file.tensors.end(), "golden", "the file has no '{}'", name);
    return found->second;
  }

  /// How many tensors the file has whose names begin with `prefix`.
  std::size_t count(const std::string& prefix) const {
    return static_cast<std::size_t>(std::count_if(file.tensors.begin(), file.tensors.end(), [&](const auto& entry) {
      return entry.first.compare(0, prefix.size(), prefix) == 0;
    }));
  }

  template <class Integer>
  std::vector<Integer> integers(const std::string& name) const {
    const Tensor& values = tensor(name);
    std::vector<Integer> result;
    for (std::size_t i = 0; i < values.size(); ++i) result.push_back(static_cast<Integer>(values.data()[i]));
    return result;
  }

  /// Gives the parameters the file's values. Throws Error unless names and shapes are the same, none more or less.
  void load(ParameterSet& parameters) const {
    for (Parameter& parameter : parameters) {
      const Tensor& value = tensor("parameter." + parameter.name);
      expect(value.shape() == parameter.value.shape(), "golden", "'{}' is {} here, {} there", parameter.name,
             parameter.value.shape(), value.shape());
      parameter.value = value;
    }
    expect(count("parameter.") == parameters.size(), "golden", "{} parameters here, {} there", parameters.size(),
           count("parameter."));
  }

  Batch batch(std::size_t index) const {
    const std::string name = fmt::format("batch.{}.", index);
    Batch batch;
    batch.source = integers<TokenId>(name + "source");
    batch.target_input = integers<TokenId>(name + "target_input");
    batch.target_output = integers<TokenId>(name + "target_output");
    batch.source_lengths = integers<std::size_t>(name + "source_lengths");
    batch.size = batch.source_lengths.size();
    batch.source_length = batch.source.size() / batch.size;
    batch.target_length = batch.target_input.size() / batch.size;
    for (std::size_t b = 0; b < batch.size; ++b) {
      const auto row = batch.target_output.begin() + static_cast<std::ptrdiff_t>(b * batch.target_length);
      const auto end = row + static_cast<std::ptrdiff_t>(batch.target_length);
      batch.target_lengths.push_back(batch.target_length -
                                     static_cast<std::size_t>(std::count(row, end, Vocabulary::pad)));
      batch.indices.push_back(b);
    }
    return batch;
  }
};

struct Golden : GoldenFile {
  ParameterSet parameters;
  std::unique_ptr<Transformer> model;

  explicit Golden(const std::string& variant) : GoldenFile(variant + ".safetensors") {
    TransformerOptions options;
    options.d_model = 16;
    options.heads = 4;
    options.encoder_layers = options.decoder_layers = 2;
    options.feed_forward.set<PositionWiseFeedForward>("position_wise", {32});
    options.norm.placement = metadata("placement") == "pre" ? NormPlacement::pre : NormPlacement::post;
    const std::string tie = metadata("tie");
    options.embedding.tie = tie == "all" ? Tie::all : tie == "decoder" ? Tie::decoder : Tie::none;
    model = std::make_unique<Transformer>(Scope(parameters, 0), options, std::stoul(metadata("source_vocabulary")),
                                          std::stoul(metadata("target_vocabulary")));
    load(parameters);
  }
};

}  // namespace surd::test
