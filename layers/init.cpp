#include "layers/init.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace surd {
namespace {

using Draws = void (random::Stream::*)(std::uint64_t first, std::size_t count, double* to) const;

/// Element i is value(draw i).
template <class Value>
void fill(Tensor& tensor, const random::Stream& stream, Draws draw, Value value) {
  double draws[256];
  for (std::size_t begin = 0; begin < tensor.size(); begin += std::size(draws)) {
    const std::size_t length = std::min(std::size(draws), tensor.size() - begin);
    (stream.*draw)(begin, length, draws);
    for (std::size_t i = 0; i < length; ++i) tensor.data()[begin + i] = static_cast<Real>(value(draws[i]));
  }
}

}  // namespace

std::vector<std::string> names_of(Distribution) {
  return {"normal", "uniform", "xavier_normal", "xavier_uniform", "unit_rows"};
}

Initializer constant(double value) {
  return [value](Tensor& tensor, const random::Stream&) { tensor.fill(static_cast<Real>(value)); };
}

Initializer uniform(double deviation) {
  return [half_width = std::sqrt(3.0) * deviation](Tensor& tensor, const random::Stream& stream) {
    fill(tensor, stream, &random::Stream::uniform, [=](double u) { return half_width * (2 * u - 1); });
  };
}

Initializer normal(double deviation) {
  return [deviation](Tensor& tensor, const random::Stream& stream) {
    fill(tensor, stream, &random::Stream::normal, [=](double z) { return deviation * z; });
  };
}

// Glorot & Bengio, AISTATS 2010, for xavier.
double InitOptions::deviation(std::size_t rows, std::size_t columns) const {
  switch (distribution) {
    case Distribution::normal:
    case Distribution::uniform: return std.value(columns);
    case Distribution::xavier_normal:
    case Distribution::xavier_uniform: return gain * std::sqrt(2.0 / static_cast<double>(rows + columns));
    case Distribution::unit_rows: break;
  }
  return 1 / std::sqrt(static_cast<double>(columns));
}

Initializer InitOptions::initializer(double factor) const {
  return [options = *this, factor](Tensor& tensor, const random::Stream& stream) {
    expect(tensor.dimension() == 2, "init", "takes a matrix [rows, columns]; got {}", tensor.shape());
    const std::size_t rows = tensor.shape()[0], columns = tensor.shape()[1];
    const bool unit_rows = options.distribution == Distribution::unit_rows;  // these are scaled at the end
    const double deviation = options.deviation(rows, columns) * (unit_rows ? 1 : factor);
    const bool is_normal =
        options.distribution == Distribution::normal || options.distribution == Distribution::xavier_normal;
    (is_normal ? surd::normal(deviation) : uniform(deviation))(tensor, stream);
    if (!unit_rows) return;
    for (std::size_t r = 0; r < rows; ++r) {
      Real* row = tensor.data() + r * columns;
      double squares = 0;
      for (std::size_t j = 0; j < columns; ++j) squares += static_cast<double>(row[j]) * row[j];
      for (std::size_t j = 0; j < columns; ++j) row[j] = static_cast<Real>(factor * row[j] / std::sqrt(squares));
    }
  };
}

}  // namespace surd
