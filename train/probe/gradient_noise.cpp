#include "train/probe/gradient_noise.hpp"

#include "autograd/kernels/elementwise.hpp"
#include "train/batch_loss.hpp"

#include <cmath>

namespace surd {
namespace {

double squared_norm(const GradientSum& gradient) {
  return gradient.empty ? 0 : kernels::sum_of_squares(gradient.sum.data(), gradient.sum.size());
}

/// Rows 0, 2, 4, ... of a batch.
Batch every_other_row(const Batch& batch) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < batch.size; row += 2) rows.push_back(row);
  return batch.select(rows);
}

}  // namespace

GradientNoise gradient_noise(double small_squares, double small_size, double large_squares, double large_size) {
  expect(small_size > 0 && small_size < large_size, "gradient_noise",
         "takes two sizes, the small one first; got {}, {}", small_size, large_size);
  return {(large_size * large_squares - small_size * small_squares) / (large_size - small_size),
          (small_squares - large_squares) / (1 / small_size - 1 / large_size)};
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
  TapeArguments options;
  options.seed = seed;
  options.step = step;
  options.gradients = &gradients_;
  tape_.reset(options);
  const Variable loss =
      batch_loss(model_, tape_, half_, static_cast<Real>(label_smoothing), static_cast<Real>(half_.target_tokens()));
  if (!std::isfinite(static_cast<double>(loss.value().data()[0]))) {
    tape_.clear();
    return std::nullopt;
  }
  tape_.backward(loss);
  tape_.clear();
  double small = 0, large = 0;
  for (const GradientSum& gradient : gradients_) small += squared_norm(gradient);
  for (const Parameter& parameter : parameters_) large += squared_norm(parameter.gradient);
  return gradient_noise(small, static_cast<double>(half_.size), large, static_cast<double>(pairs_));
}

}  // namespace surd
