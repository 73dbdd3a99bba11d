#include "layers/positions.hpp"

#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace surd {
namespace {

using test::Bench;
using test::message_of;

/// The rows [0, length) of an encoding.
Tensor table(const PositionsChoice& choice, std::size_t d, std::size_t length) {
  Bench bench;
  const auto positions = choice.make(bench.scope / "positions", d);
  Tape tape;
  return slice((*positions)(tape, length), 0, 0, length).value();
}

double rms(const Tensor& tensor) {
  double squares = 0;
  for (const Real value : tensor) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares / static_cast<double>(tensor.size()));
}

TEST_CASE("the sinusoidal encoding has rms 1/sqrt(2), and so has every row") {
  for (const auto layout : {SinusoidLayout::interleaved, SinusoidLayout::sin_then_cos}) {
    for (const auto denominator : {SinusoidDenominator::half_dim, SinusoidDenominator::half_dim_minus_one}) {
      for (const std::size_t d : {4, 16, 64, 512}) {
        SinusoidalOptions options;
        options.layout = layout;
        options.denominator = denominator;
        options.offset = d;
        const Tensor encoding = table(test::sinusoidal(options), d, 100);
        CHECK(std::fabs(rms(encoding) - std::sqrt(0.5)) < 1e-6);
        Tensor row(Shape{d});
        for (std::size_t p = 0; p < 100; p += 33) {
          std::copy_n(encoding.data() + p * d, d, row.data());
          CHECK(std::fabs(rms(row) - std::sqrt(0.5)) < 1e-6);
        }
      }
    }
  }
}

void check_rows(const SinusoidalOptions& options, const std::vector<std::vector<double>>& expected) {
  const Tensor encoding = table(test::sinusoidal(options), 4, expected.size());
  for (std::size_t p = 0; p < expected.size(); ++p)
    for (std::size_t j = 0; j < 4; ++j)
      CHECK(std::fabs(static_cast<double>(encoding(p, j)) - expected[p][j]) < (sizeof(Real) == 4 ? 1e-7 : 1e-15));
}

TEST_CASE("the sinusoidal encoding, computed by hand for d = 4") {
  // Wavelengths 10000^(0/2) = 1 and 10000^(1/2) = 100; with the denominator 2 - 1: 1 and 10000.
  const double s1 = 0.8414709848078965, c1 = 0.5403023058681398;    // of 1
  const double s2 = 0.9092974268256817, c2 = -0.4161468365471424;   // of 2
  const double t1 = 0.009999833334166664, u1 = 0.9999500004166653;  // of 0.01
  const double t2 = 0.01999866669333308, u2 = 0.9998000066665778;   // of 0.02
  SinusoidalOptions options;
  check_rows(options, {{0, 1, 0, 1}, {s1, c1, t1, u1}, {s2, c2, t2, u2}});
  options.layout = SinusoidLayout::sin_then_cos;
  check_rows(options, {{0, 0, 1, 1}, {s1, t1, c1, u1}, {s2, t2, c2, u2}});
  options.offset = 1;
  check_rows(options, {{s1, t1, c1, u1}, {s2, t2, c2, u2}});
  options.offset = 0;
  options.denominator = SinusoidDenominator::half_dim_minus_one;
  const double v1 = 9.999999983333334e-05, w1 = 0.999999995;  // of 0.0001
  check_rows(options, {{0, 0, 1, 1}, {s1, v1, c1, w1}});
}

TEST_CASE("an offset shifts the rows") {
  SinusoidalOptions options;
  const Tensor plain = table(test::sinusoidal(options), 16, 12);
  options.offset = 2;
  const Tensor shifted = table(test::sinusoidal(options), 16, 10);
  for (std::size_t i = 0; i < shifted.size(); ++i) CHECK(shifted.data()[i] == plain.data()[i + 2 * 16]);
}

TEST_CASE("a centred encoding has mean 0 over its first positions, and most of a short one is gone") {
  const std::vector<std::pair<std::size_t, double>> expected = {{10, 0.29}, {20, 0.35}, {50, 0.41}};
  for (const auto& [length, value] : expected) {
    SinusoidalOptions options;
    options.centred = true;
    options.centred_length = length;
    const Tensor encoding = table(test::sinusoidal(options), 64, length);
    CHECK(std::fabs(rms(encoding) - value) < 0.005);
    for (std::size_t j = 0; j < 64; ++j) {
      double mean = 0;
      for (std::size_t p = 0; p < length; ++p)
        mean += static_cast<double>(encoding(p, j)) / static_cast<double>(length);
      CHECK(std::fabs(mean) < 1e-6);
    }
    // Later positions have the same vector taken away.
    const Tensor longer = table(test::sinusoidal(options), 64, length + 1);
    options.centred = false;
    const Tensor plain = table(test::sinusoidal(options), 64, length + 1);
    for (std::size_t j = 0; j < 64; ++j)
      CHECK(std::fabs(static_cast<double>((plain(length, j) - longer(length, j)) - (plain(0, j) - longer(0, j)))) <
            1e-6);
  }
}

TEST_CASE("learned positions are a parameter with the promised deviation") {
  Bench bench;
  LearnedPositionsOptions options;
  options.max_length = 300;
  const LearnedPositions positions(bench.scope / "positions", 64, options);
  const Parameter& weight = bench.parameters.find("positions.weight");
  CHECK(weight.value.shape() == Shape{300, 64});
  CHECK(rms(weight.value) == doctest::Approx(0.125).epsilon(0.02));
  Tape tape;
  CHECK(&positions(tape, 5).value() == &weight.value);
}

TEST_CASE("no positions are absent") {
  Bench bench;
  const NoPositions positions(bench.scope / "positions", 16, {});
  Tape tape;
  CHECK_FALSE(positions(tape, 1000000));
  CHECK(bench.parameters.size() == 0);
}

TEST_CASE("a sequence that is too long is refused with the option's name") {
  Bench bench;
  SinusoidalOptions sinusoidal;
  sinusoidal.max_length = 7;
  LearnedPositionsOptions learned;
  learned.max_length = 7;
  sinusoidal.scale = Scale(Scale::Rule::one, 1, true);
  const SinusoidalPositions fixed(bench.scope / "fixed", 16, sinusoidal);
  const LearnedPositions trained(bench.scope / "trained", 16, learned);
  Tape tape;
  fixed(tape, 7);
  trained(tape, 7);
  CHECK(message_of([&] { fixed(tape, 8); }) == "fixed: a sequence of 8 positions exceeds positions.max_length = 7");
  CHECK(message_of([&] { trained(tape, 9); }) == "trained: a sequence of 9 positions exceeds positions.max_length = 7");
}

TEST_CASE("a width that has no sinusoids is refused") {
  const auto message = [](std::size_t d, SinusoidDenominator denominator) {
    return message_of([&] {
      Bench bench;
      SinusoidalOptions options;
      options.denominator = denominator;
      SinusoidalPositions(bench.scope / "positions", d, options);
    });
  };
  CHECK(message(7, SinusoidDenominator::half_dim) ==
        "model.d_model: must be even and at least 2 for sinusoidal positions; got 7");
  CHECK(message(2, SinusoidDenominator::half_dim_minus_one) ==
        "model.d_model: must be even and at least 4 for sinusoidal positions with model.positions.denominator: "
        "half_dim_minus_one; got 2");
  CHECK(message(2, SinusoidDenominator::half_dim).empty());
  CHECK(message(4, SinusoidDenominator::half_dim_minus_one).empty());
}

}  // namespace
}  // namespace surd
