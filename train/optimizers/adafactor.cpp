#include "train/optimizers/adafactor.hpp"

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

double root_mean_square(const Real* x, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return std::sqrt(sum / static_cast<double>(n));
}

void decay_towards(Real& mean, double keep, double value) {
  mean = static_cast<Real>(keep * static_cast<double>(mean) + (1 - keep) * value);
}

}  // namespace

Adafactor::Adafactor(ParameterSet& parameters, const Options& options)
    : Optimizer(parameters, options, options.epsilon), options_(options) {
  check_options("adafactor", options);
  const auto is_matrix = [](const Shape& shape) { return shape.size() == 2; };
  rows_ = add_slot("row_mean", [&](const Shape& shape) { return is_matrix(shape) ? Shape{shape[0]} : shape; });
  columns_ = add_slot("column_mean", [&](const Shape& shape) { return Shape{is_matrix(shape) ? shape[1] : 1}; });
}

void Adafactor::update(Parameter& parameter, const Step& step) {
  Real* x = parameter.value.data();
  const std::size_t size = parameter.value.size();
  if (size == 0) return;
  const bool matrix = parameter.value.dimension() == 2;
  const std::size_t columns = matrix ? parameter.value.shape()[1] : 1, rows = size / columns;
  const double keep = 1 - std::pow(static_cast<double>(updates()), -options_.decay_exponent);
  const auto gradient = [&](std::size_t i) {
    return step.gradient_scale * static_cast<double>(parameter.gradient.sum.data()[i]);
  };
  const auto square = [&](std::size_t i) { return gradient(i) * gradient(i) + step.epsilon; };

  Real* row = slot(rows_, parameter);
  Real* column = slot(columns_, parameter);
  double row_mean = 0;
  std::vector<double> column_sums(columns, 0);
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      sum += square(r * columns + c);
      column_sums[c] += square(r * columns + c);
    }
    decay_towards(row[r], keep, sum / static_cast<double>(columns));
    row_mean += static_cast<double>(row[r]) / static_cast<double>(rows);
  }
  if (matrix)
    for (std::size_t c = 0; c < columns; ++c)
      decay_towards(column[c], keep, column_sums[c] / static_cast<double>(rows));

  Tensor u = empty_like(parameter.value);
  for (std::size_t i = 0; i < size; ++i) {
    const double r = static_cast<double>(row[i / columns]);
    const double v = matrix ? r / row_mean * static_cast<double>(column[i % columns]) : r;
    u.data()[i] = static_cast<Real>(gradient(i) / std::sqrt(v));
  }
  const double scale = options_.relative ? std::max(options_.smallest_scale, root_mean_square(x, size)) : 1;
  const double rate = step.rate * scale;
  const double clipped = rate / std::max(1.0, root_mean_square(u.data(), size) / options_.clip_rms);
  const auto shrink = static_cast<Real>(1 - step.rate * step.weight_decay);
  for (std::size_t i = 0; i < size; ++i) x[i] = shrink * x[i] - static_cast<Real>(clipped) * u.data()[i];
}

}  // namespace surd
