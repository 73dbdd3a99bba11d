#include "layers/init.hpp"

#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <vector>

namespace surd {
namespace {

constexpr std::size_t rows = 600, columns = 400;

Tensor drawn(const InitOptions& options, std::size_t r = rows, std::size_t c = columns, double factor = 1,
             const char* name = "weight") {
  Tensor tensor(Shape{r, c});
  options.initializer(factor)(tensor, random::Stream(3, "init", name));
  return tensor;
}

struct Moments {
  double mean = 0, deviation = 0, largest = 0, kurtosis = 0;
};

Moments moments(const Tensor& tensor) {
  Moments m;
  double second = 0, fourth = 0;
  const auto n = static_cast<double>(tensor.size());
  for (const Real value : tensor) {
    const auto x = static_cast<double>(value);
    m.mean += x / n;
    second += x * x / n;
    fourth += x * x * x * x / n;
    m.largest = std::max(m.largest, std::fabs(x));
  }
  m.deviation = std::sqrt(second - m.mean * m.mean);
  m.kurtosis = fourth / (second * second);
  return m;
}

const std::vector<Distribution> distributions = {Distribution::normal, Distribution::uniform,
                                                 Distribution::xavier_normal, Distribution::xavier_uniform,
                                                 Distribution::unit_rows};

TEST_CASE("every distribution has the standard deviation it promises") {
  for (const Distribution distribution : distributions) {
    CAPTURE(name_of(distribution));
    const InitOptions options{distribution, FixedScale::constant(0.3), 0.7};
    const Moments m = moments(drawn(options));
    CHECK(m.deviation == doctest::Approx(options.deviation(rows, columns)).epsilon(0.02));
    CHECK(std::fabs(m.mean) < 0.01 * m.deviation);
    const bool normal = distribution == Distribution::normal || distribution == Distribution::xavier_normal;
    CHECK(m.kurtosis == doctest::Approx(normal ? 3 : 1.8).epsilon(0.02));
  }
}

TEST_CASE("an element is made of the draw of its place") {
  const random::Stream stream(3, "init", "weight");
  const Tensor normals = drawn({Distribution::normal, FixedScale::constant(0.3), 1}, 3, 201);
  const Tensor uniforms = drawn({Distribution::uniform, FixedScale::constant(0.3), 1}, 3, 201);
  bool same = true;
  for (std::size_t i = 0; i < normals.size(); ++i)
    same = same && normals.data()[i] == static_cast<Real>(0.3 * stream.normal(i)) &&
           uniforms.data()[i] == static_cast<Real>(std::sqrt(3.0) * 0.3 * (2 * stream.uniform(i) - 1));
  CHECK(same);
}

TEST_CASE("the standard deviations are those of the literature") {
  const auto deviation = [](Distribution distribution, const FixedScale& std, double gain) {
    return InitOptions{distribution, std, gain}.deviation(rows, columns);
  };
  CHECK(deviation(Distribution::normal, FixedScale::constant(0.02), 5) == 0.02);
  CHECK(deviation(Distribution::normal, Scale::Rule::inv_sqrt_dim, 1) == doctest::Approx(0.05));  // 400 columns
  CHECK(deviation(Distribution::uniform, Scale::Rule::one, 1) == 1);
  CHECK(deviation(Distribution::xavier_normal, Scale::Rule::one, 1) == doctest::Approx(std::sqrt(2.0 / 1000)));
  CHECK(deviation(Distribution::xavier_uniform, Scale::Rule::one, 3) == doctest::Approx(3 * std::sqrt(2.0 / 1000)));
  CHECK(deviation(Distribution::unit_rows, Scale::Rule::one, 1) == doctest::Approx(0.05));
}

TEST_CASE("uniform distributions keep to their bounds and reach them") {
  const double xavier_bound = 0.7 * std::sqrt(6.0 / (rows + columns));
  const Moments xavier = moments(drawn({Distribution::xavier_uniform, Scale::Rule::one, 0.7}));
  CHECK(xavier.largest <= xavier_bound * (1 + 1e-6));
  CHECK(xavier.largest > 0.999 * xavier_bound);
  const Moments uniform = moments(drawn({Distribution::uniform, FixedScale::constant(0.1 / std::sqrt(3.0)), 1}));
  CHECK(uniform.largest <= 0.1 * (1 + 1e-6));
  CHECK(uniform.largest > 0.0999);
}

TEST_CASE("unit_rows have norm 1, times the factor and its sign") {
  const InitOptions options{Distribution::unit_rows, Scale::Rule::one, 1};
  const Tensor plain = drawn(options);
  for (const double factor : {1.0, 0.25, -0.5, 1e-30}) {
    const Tensor tensor = drawn(options, rows, columns, factor);
    for (std::size_t r = 0; r < rows; ++r) {
      double squares = 0;
      for (std::size_t j = 0; j < columns; ++j) {
        const double value = static_cast<double>(tensor(r, j)) / factor;
        squares += value * value;
        if (std::fabs(value / static_cast<double>(plain(r, j)) - 1) > 1e-6) FAIL("another draw at ", r, ", ", j);
      }
      CHECK(std::fabs(squares - 1) < 1e-5);
    }
  }
  for (const Real value : drawn(options, 3, 5, 0)) CHECK(value == 0);
}

TEST_CASE("rules that differ by a power of two give values that differ by exactly that") {
  // 64 columns: 1/sqrt(64) and 1/64 are powers of two.
  for (const Distribution distribution : {Distribution::normal, Distribution::uniform}) {
    const Tensor one = drawn({distribution, Scale::Rule::one, 1}, 50, 64);
    const Tensor root = drawn({distribution, Scale::Rule::inv_sqrt_dim, 1}, 50, 64);
    const Tensor inverse = drawn({distribution, Scale::Rule::inv_dim, 1}, 50, 64);
    const Tensor absorbed = drawn({distribution, Scale::Rule::one, 1}, 50, 64, 0.125);
    for (std::size_t i = 0; i < one.size(); ++i) {
      CHECK(root[i] * 8 == one[i]);
      CHECK(inverse[i] * 64 == one[i]);
      CHECK(absorbed[i] == root[i]);
    }
  }
  for (const Distribution distribution : distributions) {
    const Tensor plain = drawn({distribution, Scale::Rule::one, 1}, 50, 64);
    const Tensor quarter = drawn({distribution, Scale::Rule::one, 1}, 50, 64, 0.25);
    for (std::size_t i = 0; i < plain.size(); ++i) CHECK(quarter[i] * 4 == plain[i]);
  }
}

TEST_CASE("a parameter's draws depend on the seed and its name, not on its neighbours") {
  TransformerOptions options = test::small_options();
  const test::Model small(options), other_seed(options, 2);
  options.encoder_layers = 2;
  options.decoder_layers = 3;
  options.norm.placement = NormPlacement::post;
  options.embedding.tie = Tie::none;
  options.embedding.norm = true;
  options.embedding.scale = Scale(Scale::Rule::sqrt_dim, 1, true);
  const test::Model large(options);
  std::size_t shared = 0;
  for (const Parameter& parameter : small.parameters) {
    if (!large.has(parameter.name)) continue;
    ++shared;
    CHECK(test::largest_difference(parameter.value,
                                   const_cast<ParameterSet&>(large.parameters).find(parameter.name).value) == 0);
    const Tensor& other = const_cast<ParameterSet&>(other_seed.parameters).find(parameter.name).value;
    const bool drawn_at_random = parameter.value.dimension() == 2;
    CHECK((test::largest_difference(parameter.value, other) > 0) == drawn_at_random);
  }
  CHECK(shared == small.parameters.size() - 4);  // pre has two last norms of two parameters each
}

TEST_CASE("no two parameters share their draws") {
  TransformerOptions options = test::small_options();
  options.encoder_layers = 2;
  options.embedding.tie = Tie::none;
  const test::Model model(options);
  std::set<Real> first;
  std::size_t matrices = 0;
  for (const Parameter& parameter : model.parameters) {
    if (parameter.value.dimension() != 2) continue;
    ++matrices;
    first.insert(parameter.value.data()[0]);
  }
  CHECK(matrices == 3 + 2 * 6 + 10);
  CHECK(first.size() == matrices);
}

TEST_CASE("an initialiser refuses what is no matrix") {
  Tensor vector(Shape{3});
  CHECK(test::message_of([&] {
          InitOptions{}.initializer()(vector, random::Stream(0, "init", "x"));
        }).find("init: takes a matrix [rows, columns]") == 0);
}

}  // namespace
}  // namespace surd
