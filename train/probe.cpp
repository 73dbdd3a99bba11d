#include "train/probe.hpp"

#include "autograd/kernels/elementwise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace surd {
namespace {

double norm(const Tensor& x) { return std::sqrt(static_cast<double>(kernels::dot(x.data(), x.data(), x.size()))); }
double rms(const Tensor& x) { return x.size() == 0 ? 0 : norm(x) / std::sqrt(static_cast<double>(x.size())); }

struct Moments {
  double std, max;
};
/// Over the elements that are not NaN: attention marks scores of hidden keys so.
Moments moments(const Tensor& x) {
  double n = 0, sum = 0, squares = 0, max = -std::numeric_limits<double>::infinity();
  for (const Real element : x) {
    const auto value = static_cast<double>(element);
    if (std::isnan(value)) continue;
    ++n;
    sum += value;
    squares += value * value;
    max = std::max(max, value);
  }
  if (n == 0) return {0, 0};
  return {std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n))), max};
}

/// Mean over rows of -sum p ln p / ln n, where n counts the keys with any weight; rows that see one key are left out.
double entropy(const Tensor& weights) {
  const std::size_t n = row_length(weights);
  double total = 0;
  std::size_t rows = 0;
  for (std::size_t r = 0; r < row_count(weights); ++r) {
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

void Probe::value(const std::string& path, std::string_view what, const Tensor& value) {
  if (what == "parameter" || what == "constant" || value.size() == 0) return;
  if (what == "scores") {
    const Moments of_scores = moments(value);
    add(path, what, "std", of_scores.std);
    add(path, what, "max", of_scores.max);
  } else if (what == "weights") {
    add(path, what, "entropy", entropy(value));
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
