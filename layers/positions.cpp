#include "layers/positions.hpp"

#include <cmath>

namespace surd {
namespace {

Tensor sinusoids(const SinusoidalOptions& options, std::size_t d) {
  const std::size_t half = d / 2;
  const double denominator =
      static_cast<double>(options.denominator == SinusoidDenominator::half_dim ? half : half - 1);
  Tensor table(Shape{options.max_length, d});
  for (std::size_t p = 0; p < options.max_length; ++p) {
    for (std::size_t i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(p + options.offset) / std::pow(10000.0, static_cast<double>(i) / denominator);
      const bool interleaved = options.layout == SinusoidLayout::interleaved;
      table(p, interleaved ? 2 * i : i) = static_cast<Real>(std::sin(angle));
      table(p, interleaved ? 2 * i + 1 : half + i) = static_cast<Real>(std::cos(angle));
    }
  }
  return table;
}

void remove_mean(Tensor& table, std::size_t length) {
  for (std::size_t j = 0; j < table.shape()[1]; ++j) {
    double mean = 0;
    for (std::size_t p = 0; p < length; ++p) mean += static_cast<double>(table(p, j)) / static_cast<double>(length);
    for (std::size_t p = 0; p < table.shape()[0]; ++p) table(p, j) -= static_cast<Real>(mean);
  }
}

void expect_fits(const std::string& path, std::size_t length, std::size_t max_length) {
  expect(length <= max_length, path, "a sequence of {} positions exceeds positions.max_length = {}", length,
         max_length);
}

}  // namespace

std::vector<std::string> names_of(SinusoidLayout) { return {"interleaved", "sin_then_cos"}; }
std::vector<std::string> names_of(SinusoidDenominator) { return {"half_dim", "half_dim_minus_one"}; }

SinusoidalPositions::SinusoidalPositions(const Scope& scope, std::size_t d_model, const Options& options)
    : Positions(scope), options_(options), factor_(scope, "positions", options.scale, d_model) {
  const bool minus_one = options.denominator == SinusoidDenominator::half_dim_minus_one;
  expect_option(d_model % 2 == 0 && d_model >= (minus_one ? 4 : 2), "model.d_model",
                "must be even and at least {} for sinusoidal positions{}; got {}", minus_one ? 4 : 2,
                minus_one ? " with model.positions.denominator: half_dim_minus_one" : "", d_model);
  if (scope.only_counts()) return;
  table_ = sinusoids(options, d_model);
  if (options.centred) remove_mean(table_, options.centred_length);
  for (Real& value : table_) value *= factor_.number();
}

Variable SinusoidalPositions::table(Tape& tape, std::size_t length) const {
  expect_fits(path(), length, options_.max_length);
  const Variable fixed = tape.constant(table_);
  return options_.scale.learned() ? factor_.times_parameter(slice(fixed, 0, 0, length)) : fixed;
}

LearnedPositions::LearnedPositions(const Scope& scope, std::size_t d_model, const Options& options)
    : Positions(scope),
      options_(options),
      factor_(scope, "positions", options.scale, d_model),
      target_(scope.parameter(options.shared ? "weight" : "target", {options.max_length, d_model},
                              options.init.initializer())),
      source_(options.shared ? target_
                             : scope.parameter("source", {options.max_length, d_model}, options.init.initializer())) {}

Variable LearnedPositions::table(Tape& tape, std::size_t length) const {
  expect_fits(path(), length, options_.max_length);
  const Variable weight = tape.parameter(tape.side() == ModelSide::source ? source_ : target_);
  return factor_.number() == 1 ? weight : factor_(slice(weight, 0, 0, length));
}

PositionsRegistry& positions() {
  static PositionsRegistry table = [] {
    PositionsRegistry built_in("positional encoding");
    built_in.add<SinusoidalPositions>("sinusoidal", "fixed sines and cosines of geometric wavelengths");
    built_in.add<LearnedPositions>("learned", "a trained row a position");
    built_in.add<NoPositions>("none", "nothing added");
    return built_in;
  }();
  return table;
}

}  // namespace surd
