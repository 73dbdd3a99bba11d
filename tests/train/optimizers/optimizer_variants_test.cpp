#include "tests/train/tiny_run.hpp"
#include "tests/train/toy.hpp"
#include "train/optimizers/adafactor.hpp"
#include "train/optimizers/lion.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace surd {
namespace {

using test::random_tensor;
using test::set_gradient;

constexpr double variant_tolerance = sizeof(Real) == 4 ? 5e-6 : 1e-13;

TEST_CASE("lion moves by the sign of what its formula says") {
  LionOptions options;
  options.learning_rate = 0.125;
  options.weight_decay = 0.5;
  options.beta1 = 0.75;
  options.beta2 = 0.5;
  ParameterSet parameters;
  Parameter& x = parameters.add("x", test::tensor_of({4}, {1, -1, 2, 0}));
  Lion lion(parameters, options);
  set_gradient(x, test::tensor_of({4}, {2, -8, 0, 0}));
  lion.step(0.5, 0.5);  // rate 1/16, g = 1, -4, 0, 0
  // x (1 - 1/32) - sign(g) / 16
  CHECK(test::values_of(x.value) == std::vector<double>{0.90625, -0.90625, 1.9375, 0});
  CHECK(test::values_of(lion.slots()[0].tensors[0]) == std::vector<double>{0.5, -2, 0, 0});
  set_gradient(x, test::tensor_of({4}, {-2, 4, -4, 0}));  // g = -1, 2, -2, 0
  lion.step(0.5, 0.5);
  // c = 3/8 - 1/4 > 0, -3/2 + 1/2 < 0, -1/2 < 0, 0
  CHECK(test::values_of(x.value) ==
        std::vector<double>{0.90625 * 0.96875 - 0.0625, -0.90625 * 0.96875 + 0.0625, 1.9375 * 0.96875 + 0.0625, 0});
  CHECK(test::values_of(lion.slots()[0].tensors[0]) == std::vector<double>{-0.25, 0, -1, 0});
}

/// Adafactor as the paper writes it, in double: a matrix as a vector of rows.
struct NaiveAdafactor {
  using Matrix = std::vector<std::vector<double>>;
  Matrix x;
  std::vector<double> row_sums, column_sums;

  static double rms(const Matrix& m) {
    double sum = 0;
    for (const auto& row : m)
      for (const double value : row) sum += value * value;
    return std::sqrt(sum / static_cast<double>(m.size() * m[0].size()));
  }
  void step(const Matrix& g, double rho, double t) {
    const std::size_t n = x.size(), m = x[0].size();
    const double beta = 1 - std::pow(t, -0.8);
    row_sums.resize(n);
    column_sums.resize(m);
    for (double& sum : row_sums) sum *= beta;
    for (double& sum : column_sums) sum *= beta;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j) {
        row_sums[i] += (1 - beta) * (g[i][j] * g[i][j] + 1e-30);
        column_sums[j] += (1 - beta) * (g[i][j] * g[i][j] + 1e-30);
      }
    double all = 0;
    for (const double sum : row_sums) all += sum;
    Matrix u = g;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j) u[i][j] /= std::sqrt(row_sums[i] * column_sums[j] / all);
    const double rate = rho * std::max(1e-3, rms(x)) / std::max(1.0, rms(u));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j) x[i][j] -= rate * u[i][j];
  }
};

TEST_CASE("adafactor does what the paper's algorithm 4 says of matrices") {
  AdafactorOptions options;
  options.learning_rate = 0.1;
  ParameterSet parameters;
  Parameter& x = parameters.add("x", random_tensor({5, 3}, 1));
  Adafactor adafactor(parameters, options);
  CHECK(adafactor.slots()[0].tensors[0].shape() == Shape{5});
  CHECK(adafactor.slots()[1].tensors[0].shape() == Shape{3});
  const auto matrix = [](const Tensor& tensor, double factor) {
    NaiveAdafactor::Matrix rows(5, std::vector<double>(3));
    for (std::size_t i = 0; i < 15; ++i) rows[i / 3][i % 3] = factor * static_cast<double>(tensor.data()[i]);
    return rows;
  };
  NaiveAdafactor naive{matrix(x.value, 1), {}, {}};
  for (std::size_t t = 1; t <= 20; ++t) {
    const Tensor g = random_tensor({5, 3}, 100 + t);
    set_gradient(x, g);
    adafactor.step(0.7, 0.4);
    naive.step(matrix(g, 0.4), 0.1 * 0.7, static_cast<double>(t));
    double worst = 0;
    for (std::size_t i = 0; i < 15; ++i)
      worst = std::max(worst, std::fabs(naive.x[i / 3][i % 3] - static_cast<double>(x.value.data()[i])));
    CAPTURE(t);
    CHECK(worst < variant_tolerance);
  }
}

TEST_CASE("adafactor's first step of a vector is the rate by its root mean square, clipped") {
  for (const bool relative : {true, false}) {
    AdafactorOptions options;
    options.learning_rate = 0.5;
    options.relative = relative;
    options.clip_rms = 0.5;
    options.weight_decay = 0.25;
    ParameterSet parameters;
    Parameter& x = parameters.add("x", full({4}, 2));
    Parameter& zero = parameters.add("zero", zeros({4}));
    Adafactor adafactor(parameters, options);
    for (Parameter* parameter : {&x, &zero}) set_gradient(*parameter, test::tensor_of({4}, {1, -100, 0.01, 3}));
    adafactor.step(1, 1);
    // u = sign(g) has rms 1 and is clipped to a half.
    const double step = 0.5 * 0.5 * (relative ? 2 : 1), kept = 2 * (1 - 0.5 * 0.25);
    const double step_of_zero = 0.5 * 0.5 * (relative ? 1e-3 : 1);
    const std::vector<double> sign = {1, -1, 1, 1};
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(std::fabs(static_cast<double>(x.value[i]) - (kept - sign[i] * step)) < variant_tolerance);
      CHECK(std::fabs(static_cast<double>(zero.value[i]) + sign[i] * step_of_zero) < variant_tolerance);
    }
  }
}

TEST_CASE("a checkpoint keeps adafactor's means, whose shapes are not the parameters'") {
  const auto steps = [](ParameterSet& parameters, Adafactor& adafactor, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t t = first; t <= last; ++t) {
      for (Parameter& parameter : parameters)
        set_gradient(parameter, random_tensor(parameter.value.shape(), 10 * t + parameter.index));
      adafactor.step(1, 1);
    }
  };
  struct Parameters : ParameterSet {
    Parameters() {
      add("matrix", random_tensor({5, 3}, 1));
      add("vector", random_tensor({4}, 2));
    }
  };
  struct Trained {
    Parameters parameters;
    Adafactor adafactor{parameters, {}};
    PlateauSchedule schedule{10, {}};
  };
  const test::TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  Trained whole, resumed;
  steps(whole.parameters, whole.adafactor, 1, 3);
  checkpoints.save(whole.parameters, whole.adafactor, whole.schedule, {}, "0", false);
  steps(whole.parameters, whole.adafactor, 4, 6);
  CHECK(
      checkpoints
          .resume(resumed.parameters, resumed.adafactor, resumed.schedule, [](const std::string&) { FAIL("damaged"); })
          .has_value());
  steps(resumed.parameters, resumed.adafactor, 4, 6);
  CHECK(test::same_bits(test::values_of(whole.parameters), test::values_of(resumed.parameters)));
  CHECK(test::same_bits(whole.adafactor, resumed.adafactor));
}

TEST_CASE("options out of range are refused") {
  ParameterSet parameters;
  parameters.add("x", zeros({1}));
  LionOptions lion;
  lion.beta2 = 1;
  CHECK_THROWS_AS(Lion(parameters, lion), Error);
  AdafactorOptions adafactor;
  adafactor.clip_rms = 0;
  CHECK_THROWS_AS(Adafactor(parameters, adafactor), Error);
}

}  // namespace
}  // namespace surd
