#include "train/probe/gradient_noise.hpp"

#include "autograd/kernels/elementwise.hpp"
#include "train/batch_loss.hpp"

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

double squared_norm(const GradientSum& gradient) {
  return gradient.empty ? 0 : kernels::sum_of_squares(gradient.sum.data(), gradient.sum.size());
}

}  // namespace

std::vector<std::size_t> rows_for_noise(std::size_t batch_size) {
  // Of B independent normal gradients, a share c of which is measured, the variance of the trace is
  // 2 (1 + c) / (1 - c) tr(Sigma^2) + 4 c B / (1 - c) g' Sigma g, and that of |g|^2
  // 4 / (1 - c) (tr(Sigma^2) / B^2 + g' Sigma g / B): the fewer, the less. Of heavier tails a few more are better.
  const std::size_t count = std::max({std::size_t{1}, batch_size / 8, std::min(std::size_t{4}, batch_size / 2)});
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < count; ++i) rows.push_back((2 * i + 1) * batch_size / (2 * count));
  return rows;
}

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
    small_ = batch.select(rows_for_noise(batch.size));
    pairs_ = 0;
  }
  pairs_ += batch.size;
}

std::optional<GradientNoise> NoiseMeter::measure(double label_smoothing, std::uint64_t seed, std::uint64_t step) {
  if (small_.size == 0 || small_.size == pairs_) return std::nullopt;
  for (GradientSum& gradient : gradients_) gradient.empty = true;
  TapeArguments options;
  options.seed = seed;
  options.step = step;
  options.gradients = &gradients_;
  tape_.reset(options);
  const Variable loss =
      batch_loss(model_, tape_, small_, static_cast<Real>(label_smoothing), static_cast<Real>(small_.target_tokens()));
  if (!std::isfinite(static_cast<double>(loss.value().data()[0]))) {
    tape_.clear();
    return std::nullopt;
  }
  tape_.backward(loss);
  tape_.clear();
  double small = 0, large = 0;
  for (const GradientSum& gradient : gradients_) small += squared_norm(gradient);
  for (const Parameter& parameter : parameters_) large += squared_norm(parameter.gradient);
  return gradient_noise(small, static_cast<double>(small_.size), large, static_cast<double>(pairs_));
}

}  // namespace surd
