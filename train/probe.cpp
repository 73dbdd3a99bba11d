#include "train/probe.hpp"

#include "autograd/kernels/elementwise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace surd {
namespace {

double norm(const Tensor& x) { return std::sqrt(static_cast<double>(kernels::dot(x.data(), x.data(), x.size()))); }
double rms(const Tensor& x) { return x.size() == 0 ? 0 : norm(x) / std::sqrt(static_cast<double>(x.size())); }

struct Moments {
  double std, max;
};
/// Over the elements that are not NaN: attention marks scores of hidden keys so. Only of rows that count.
template <class Counts>
Moments moments(const Tensor& x, Counts counts) {
  double n = 0, sum = 0, squares = 0, max = -std::numeric_limits<double>::infinity();
  const std::size_t width = row_length(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto value = static_cast<double>(x.data()[i]);
    if (std::isnan(value) || !counts(i / width)) continue;
    ++n;
    sum += value;
    squares += value * value;
    max = std::max(max, value);
  }
  if (n == 0) return {0, 0};
  return {std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n))), max};
}

/// Mean over rows that count of -sum p ln p / ln n, where n is the number of keys with any weight; rows that see one
/// key are left out.
template <class Counts>
double entropy(const Tensor& weights, Counts counts) {
  const std::size_t n = row_length(weights);
  double total = 0;
  std::size_t rows = 0;
  for (std::size_t r = 0; r < row_count(weights); ++r) {
    if (!counts(r)) continue;
    const Real* row = weights.data() + r * n;
    double row_entropy = 0;
    std::size_t visible = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (row[i] <= 0) continue;
      row_entropy -= static_cast<double>(row[i]) * std::log(static_cast<double>(row[i]));
      ++visible;
    }
    if (visible < 2) continue;
    total += row_entropy / std::log(static_cast<double>(visible));
    ++rows;
  }
  return rows == 0 ? 0 : total / static_cast<double>(rows);
}

}  // namespace

void Probe::add(const std::string& path, std::string_view what, const char* statistic, double number) {
  records_.push_back({path, std::string(what), statistic, number});
}

void Probe::set_lengths(std::vector<std::size_t> source, std::vector<std::size_t> target) {
  source_lengths_ = std::move(source);
  target_lengths_ = std::move(target);
}

bool Probe::counts(const std::string& path, const Tensor& attention, std::size_t row) const {
  // The encoder's queries are source positions, the decoder's are target positions, in cross-attention too.
  const auto& lengths = path.rfind("encoder", 0) == 0 ? source_lengths_ : target_lengths_;
  if (attention.dimension() != 4 || lengths.size() < attention.shape()[0]) return true;
  const std::size_t heads = attention.shape()[1], queries = attention.shape()[2];
  return row % queries < lengths[row / queries / heads];
}

void Probe::value(const std::string& path, std::string_view what, const Tensor& value) {
  if (what == "parameter" || what == "constant" || value.size() == 0) return;
  const auto of_row = [&](std::size_t row) { return counts(path, value, row); };
  if (what == "scores") {
    const Moments of_scores = moments(value, of_row);
    add(path, what, "std", of_scores.std);
    add(path, what, "max", of_scores.max);
  } else if (what == "weights") {
    add(path, what, "entropy", entropy(value, of_row));
  } else {
    add(path, what, "rms", rms(value));
  }
}

void Probe::gradient(const std::string& path, std::string_view what, const Tensor& gradient) {
  add(path, what, "gradient_rms", rms(gradient));
}

void Probe::parameters(const ParameterSet& parameters) {
  for (const Parameter& parameter : parameters) {
    add(parameter.name, "parameter", "norm", norm(parameter.value));
    if (!parameter.gradient.empty) add(parameter.name, "parameter", "gradient_norm", norm(parameter.gradient.sum));
  }
}

}  // namespace surd
