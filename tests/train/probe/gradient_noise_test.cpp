#include "train/probe/gradient_noise.hpp"

#include "tests/train/probe/watched_pass.hpp"
#include "train/batch_loss.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace surd {
namespace {

using doctest::Approx;
using test::batch_of;

constexpr std::size_t symbols = 5;

Variable loss_of(const Transformer& model, Tape& tape, const Batch& batch) {
  return batch_loss(model, tape, batch, Real(0.1), static_cast<Real>(batch.target_tokens()));
}

TEST_CASE("signal and noise follow from two sizes") {
  // |g|^2 = 2 and tr(Sigma) = 6: on average 2 + 6 / 4 at 4 pairs, 2 + 6 / 8 at 8.
  const GradientNoise noise = gradient_noise(3.5, 4, 2.75, 8);
  CHECK(noise.squared_norm == Approx(2));
  CHECK(noise.trace == Approx(6));
  CHECK(noise.scale() == Approx(3));
  CHECK_THROWS_WITH_AS(gradient_noise(1, 8, 1, 8), "gradient_noise: takes two sizes, the small one first; got 8, 8",
                       Error);
}

TEST_CASE("the meter finds the noise of the pairs' own gradients, and leaves everything else as it was") {
  constexpr std::size_t pairs = 16;  // of one length, so that a batch's gradient is the mean of its pairs'
  test::Toy toy(Vocabulary::specials + symbols);
  const Batch batch = batch_of(test::copy_pairs(pairs, 3, 3, symbols));

  std::vector<std::vector<double>> gradients;  // a pair
  for (std::size_t i = 0; i < pairs; ++i) {
    toy.parameters.clear_gradients();
    Tape tape;
    tape.backward(loss_of(toy.transformer, tape, batch.slice(i, i + 1)));
    gradients.emplace_back();
    for (const Parameter& parameter : toy.parameters)
      for (const Real value : parameter.gradient.sum) gradients.back().push_back(static_cast<double>(value));
  }
  const auto squared_mean = [&](const std::vector<std::size_t>& rows) {
    double total = 0;
    for (std::size_t j = 0; j < gradients[0].size(); ++j) {
      double sum = 0;
      for (const std::size_t row : rows) sum += gradients[row][j];
      total += sum * sum;
    }
    return total / static_cast<double>(rows.size() * rows.size());
  };
  std::vector<std::size_t> all(pairs);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::vector<std::size_t> some{2, 6, 10, 14};
  const GradientNoise expected = gradient_noise(squared_mean(some), 4, squared_mean(all), pairs);

  NoiseMeter meter(toy.transformer, toy.parameters);
  toy.parameters.clear_gradients();
  Tape tape;
  tape.backward(loss_of(toy.transformer, tape, batch));
  const auto before = test::gradients_of(toy.parameters), values = test::values_of(toy.parameters);
  for (int i = 0; i < 2; ++i) {  // the second like the first
    meter.watch(0, batch);
    const auto noise = meter.measure(0.1, 1, 1);
    REQUIRE(noise);
    CHECK(noise->squared_norm == Approx(expected.squared_norm).epsilon(1e-3));
    CHECK(noise->trace == Approx(expected.trace).epsilon(1e-3));
  }
  CHECK(test::same_bits(before, test::gradients_of(toy.parameters)));
  CHECK(test::same_bits(values, test::values_of(toy.parameters)));

  // Twice the same batch: the same gradient counts as that of twice the pairs.
  meter.watch(0, batch);
  meter.watch(1, batch);
  const GradientNoise twice = gradient_noise(squared_mean(some), 4, squared_mean(all), 2 * pairs);
  CHECK(meter.measure(0.1, 1, 1)->trace == Approx(twice.trace).epsilon(1e-3));
}

TEST_CASE("the masks of the meter's pass are those of its seed and step") {
  test::Toy toy(Vocabulary::specials + symbols, test::toy_options(0.3));
  const Batch batch = batch_of(test::copy_pairs(8, 3, 3, symbols));
  const auto noise_of = [&](std::uint64_t seed, std::uint64_t step) {
    NoiseMeter meter(toy.transformer, toy.parameters);
    meter.watch(0, batch);
    return meter.measure(0.1, seed, step)->trace;
  };
  const Batch some = batch.select(rows_for_noise(batch.size));
  TapeArguments options;
  options.seed = 7;
  options.step = 3;
  Tape tape;
  tape.reset(options);
  toy.parameters.clear_gradients();
  tape.backward(loss_of(toy.transformer, tape, some));
  // The parameters hold the same gradient as the meter finds, as if it were that of the whole batch.
  CHECK(std::fabs(noise_of(7, 3)) < 1e-4);
  CHECK(std::fabs(noise_of(7, 4)) > 1e-3);
  CHECK(std::fabs(noise_of(3, 7)) > 1e-3);
}

TEST_CASE("the rows that are measured are an eighth, or some, and spread evenly") {
  using Rows = std::vector<std::size_t>;
  CHECK(rows_for_noise(1) == Rows{0});
  CHECK(rows_for_noise(2) == Rows{1});
  CHECK(rows_for_noise(3) == Rows{1});
  CHECK(rows_for_noise(7) == Rows{1, 3, 5});
  CHECK(rows_for_noise(8) == Rows{1, 3, 5, 7});
  CHECK(rows_for_noise(13) == Rows{1, 4, 8, 11});
  CHECK(rows_for_noise(39) == Rows{4, 14, 24, 34});
  CHECK(rows_for_noise(40) == Rows{4, 12, 20, 28, 36});
}

TEST_CASE("one pair has no part, and a loss that is not finite no gradient") {
  test::Toy toy(Vocabulary::specials + symbols);
  NoiseMeter meter(toy.transformer, toy.parameters);
  CHECK_FALSE(meter.measure(0, 1, 1));  // nothing announced
  const auto pairs = test::copy_pairs(4, 3, 3, symbols);
  meter.watch(0, batch_of(pairs).slice(0, 1));
  CHECK_FALSE(meter.measure(0, 1, 1));
  toy.parameters.find("decoder.norm.weight").value.data()[0] = std::numeric_limits<Real>::infinity();
  meter.watch(0, batch_of(pairs));
  CHECK_FALSE(meter.measure(0, 1, 1));
}

}  // namespace
}  // namespace surd
