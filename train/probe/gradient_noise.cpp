#include "train/probe/gradient_noise.hpp"

#include "autograd/kernels/elementwise.hpp"
#include "data/vocabulary.hpp"

#include <cmath>

namespace surd {
namespace {

double squares(const GradientSum& gradient) {
  if (gradient.empty) return 0;
  return static_cast<double>(kernels::dot(gradient.sum.data(), gradient.sum.data(), gradient.sum.size()));
}

/// Every other one of rows of `width` elements.
template <class T>
std::vector<T> every_other(const std::vector<T>& rows, std::size_t width) {
  std::vector<T> kept;
  for (std::size_t begin = 0; begin < rows.size(); begin += 2 * width)
    kept.insert(kept.end(), rows.begin() + static_cast<std::ptrdiff_t>(begin),
                rows.begin() + static_cast<std::ptrdiff_t>(begin + width));
  return kept;
}

}  // namespace

GradientNoise gradient_noise(double small_squares, double small_size, double large_squares, double large_size) {
  expect(small_size > 0 && small_size < large_size, "gradient_noise",
         "takes two sizes, the small one first; got {}, {}", small_size, large_size);
  return {(large_size * large_squares - small_size * small_squares) / (large_size - small_size),
          (small_squares - large_squares) / (1 / small_size - 1 / large_size)};
}

Batch every_other_row(const Batch& batch) {
  Batch half;
  half.source_length = batch.source_length;
  half.target_length = batch.target_length;
  half.source = every_other(batch.source, batch.source_length);
  half.target_input = every_other(batch.target_input, batch.target_length);
  half.target_output = every_other(batch.target_output, batch.target_length);
  half.source_lengths = every_other(batch.source_lengths, 1);
  half.target_lengths = every_other(batch.target_lengths, 1);
  half.indices = every_other(batch.indices, 1);
  half.size = half.source_lengths.size();
  return half;
}

NoiseMeter::NoiseMeter(const Transformer& model, const ParameterSet& parameters)
    : model_(model), parameters_(parameters), gradients_(parameters.make_gradients()) {}

void NoiseMeter::watch(std::size_t index, const Batch& batch) {
  if (index == 0) {
    half_ = every_other_row(batch);
    pairs_ = 0;
  }
  pairs_ += batch.size;
}

std::optional<GradientNoise> NoiseMeter::measure(double label_smoothing, std::uint64_t seed, std::uint64_t step) {
  if (half_.size == 0 || half_.size == pairs_) return std::nullopt;
  for (GradientSum& gradient : gradients_) gradient.empty = true;
  TapeOptions options;
  options.seed = seed;
  options.step = step;
  options.gradients = &gradients_;
  tape_.reset(options);
  ++passes_;
  const Batch& batch = half_;
  const Variable encoded = model_.encode(tape_, {batch.source, batch.size, batch.source_length}, batch.source_lengths);
  const Variable hidden =
      model_.decode({batch.target_input, batch.size, batch.target_length}, encoded, batch.source_lengths);
  const Variable loss =
      model_.loss(hidden, batch.target_output,
                  {static_cast<Real>(label_smoothing), Vocabulary::pad, static_cast<Real>(batch.target_tokens())});
  if (!std::isfinite(static_cast<double>(loss.value().data()[0]))) {
    tape_.clear();
    return std::nullopt;
  }
  tape_.backward(loss);
  tape_.clear();
  double small = 0, large = 0;
  for (const GradientSum& gradient : gradients_) small += squares(gradient);
  for (const Parameter& parameter : parameters_) large += squares(parameter.gradient);
  return gradient_noise(small, static_cast<double>(batch.size), large, static_cast<double>(pairs_));
}

}  // namespace surd
