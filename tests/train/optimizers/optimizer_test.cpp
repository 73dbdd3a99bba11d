#include "train/optimizers/adam.hpp"
#include "train/optimizers/sgd.hpp"

#include "tests/train/toy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace surd {
namespace {

using test::random_tensor;
using test::same_bits;
using test::set_gradient;

constexpr std::size_t largest_size = 40;  // every remainder by a SIMD register's length
constexpr std::size_t steps = 20;
constexpr double schedule_factor = 0.7, gradient_scale = 0.4;
constexpr double tolerance = sizeof(Real) == 4 ? 2e-6 : 1e-14;

struct Sizes {
  Sizes() {
    for (std::size_t n = 1; n <= largest_size; ++n) parameters.add(fmt::format("of_{}", n), random_tensor({n}, n));
  }
  /// Gradients of one step, other ones each time.
  void draw_gradients(std::size_t step) {
    for (Parameter& parameter : parameters)
      set_gradient(parameter, random_tensor(parameter.value.shape(), 1000 * step + parameter.index));
  }
  ParameterSet parameters;
};

/// Runs the optimizer beside `naive(x, g, m, v, t)`, which changes one element and its two slots in double.
template <class Naive>
void compare(Sizes& sizes, Optimizer& optimizer, Naive naive) {
  struct Element {
    double x, m = 0, v = 0;
  };
  std::vector<std::vector<Element>> expected;
  for (const Parameter& parameter : sizes.parameters) {
    expected.emplace_back();
    for (const Real x : parameter.value) expected.back().push_back({static_cast<double>(x)});
  }
  for (std::size_t t = 1; t <= steps; ++t) {
    sizes.draw_gradients(t);
    optimizer.step(schedule_factor, gradient_scale);
    CHECK(optimizer.updates() == t);
    for (const Parameter& parameter : sizes.parameters) {
      double worst = 0;
      for (std::size_t i = 0; i < parameter.value.size(); ++i) {
        Element& e = expected[parameter.index][i];
        naive(e.x, gradient_scale * static_cast<double>(parameter.gradient.sum.data()[i]), e.m, e.v,
              static_cast<double>(t));
        worst = std::max(worst, std::fabs(e.x - static_cast<double>(parameter.value.data()[i])));
      }
      CAPTURE(parameter.name);
      CAPTURE(t);
      CHECK(worst <= tolerance);
    }
  }
}

TEST_CASE("sgd, plain, with momentum and with Nesterov's, does what its formula says") {
  for (const double momentum : {0.0, 0.9})
    for (const bool nesterov : {false, true}) {
      if (nesterov && momentum == 0) continue;
      CAPTURE(momentum);
      CAPTURE(nesterov);
      SgdOptions options;
      options.learning_rate = 0.1;
      options.weight_decay = 0.01;
      options.momentum = momentum;
      options.nesterov = nesterov;
      Sizes sizes;
      Sgd sgd(sizes.parameters, options);
      compare(sizes, sgd, [&](double& x, double g, double& velocity, double&, double) {
        g += options.weight_decay * x;
        velocity = momentum * velocity + g;
        const double step = nesterov ? g + momentum * velocity : velocity;
        x -= options.learning_rate * schedule_factor * step;
      });
    }
}

TEST_CASE("adam and adamw do what their formulas say") {
  for (const double beta2 : {0.98, 0.999})
    for (const bool decoupled : {false, true}) {
      CAPTURE(beta2);
      CAPTURE(decoupled);
      AdamOptions options;
      options.learning_rate = 0.05;
      options.weight_decay = 0.1;
      options.beta2 = beta2;
      options.epsilon = 1e-3;
      Sizes sizes;
      const std::unique_ptr<Optimizer> adam = decoupled ? std::make_unique<AdamW>(sizes.parameters, options)
                                                        : std::make_unique<Adam>(sizes.parameters, options);
      compare(sizes, *adam, [&](double& x, double g, double& m, double& v, double t) {
        const double rate = options.learning_rate * schedule_factor;
        if (decoupled)
          x -= rate * options.weight_decay * x;
        else
          g += options.weight_decay * x;
        m = options.beta1 * m + (1 - options.beta1) * g;
        v = beta2 * v + (1 - beta2) * g * g;
        const double m_hat = m / (1 - std::pow(options.beta1, t)), v_hat = v / (1 - std::pow(beta2, t));
        x -= rate * m_hat / (std::sqrt(v_hat) + options.epsilon);
      });
    }
}

TEST_CASE("adam's first step is the rate, whatever the gradient and the betas") {
  for (const double beta2 : {0.9, 0.98, 0.999, 0.9999}) {
    CAPTURE(beta2);
    ParameterSet parameters;
    Parameter& x = parameters.add("x", zeros({3}));
    AdamOptions options;
    options.learning_rate = 1;
    options.beta2 = beta2;
    Adam adam(parameters, options);
    set_gradient(x, test::tensor_of({3}, {1, -0.01, 100}));
    adam.step(1, 1);
    const std::vector<double> expected{-1, 1, -1};
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(std::fabs(static_cast<double>(x.value[i]) - expected[i]) <= (sizeof(Real) == 4 ? 1e-6 : 2e-7));  // epsilon
  }
}

/// Steps of one sgd update by the parameter's name, for a gradient of one and values of one.
struct Steps {
  explicit Steps(const SgdOptions& options, double multiplier_of_b = 1) {
    ParameterSet parameters;
    for (const char* name : {"encoder.0.a.weight", "encoder.0.b.bias", "decoder.0.a.weight", "decoder.0.c.bias"}) {
      Parameter& parameter = parameters.add(name, full({1}, 1));
      if (parameter.name == "encoder.0.b.bias") parameter.learning_rate_multiplier = multiplier_of_b;
      set_gradient(parameter, full({1}, 1));
    }
    Sgd(parameters, options).step(1, 1);
    for (const Parameter& parameter : parameters) taken.push_back(1 - static_cast<double>(parameter.value[0]));
  }
  std::vector<double> taken;
};

SgdOptions with_groups(std::vector<ParameterGroupOptions> groups) {
  SgdOptions options;
  options.learning_rate = 0.125;
  options.groups = std::move(groups);
  return options;
}

using Taken = std::vector<double>;

TEST_CASE("the first matching group sets a parameter's rate and decay, on top of its own multiplier") {
  CHECK(Steps(with_groups({})).taken == Taken{0.125, 0.125, 0.125, 0.125});
  CHECK(Steps(with_groups({{"encoder.*", 2, {}, {}}, {"*.bias", 0, {}, {}}})).taken == Taken{0.25, 0.25, 0.125, 0});
  CHECK(Steps(with_groups({{"*.bias", 0, {}, {}}, {"encoder.*", 2, {}, {}}})).taken == Taken{0.25, 0, 0.125, 0});
  CHECK(Steps(with_groups({{"encoder.*", 2, {}, {}}}), 4).taken == Taken{0.25, 1, 0.125, 0.125});
  CHECK(Steps(with_groups({{"*.weight", 1, {}, 1.0}})).taken == Taken{0.25, 0.125, 0.25, 0.125});
  SgdOptions decayed = with_groups({{"*.bias", 1, {}, 0.0}});
  decayed.weight_decay = 2;
  CHECK(Steps(decayed).taken == Taken{0.375, 0.125, 0.375, 0.125});
}

TEST_CASE("a group's epsilon takes the place of the optimizer's") {
  ParameterSet parameters;
  Parameter& a = parameters.add("a", zeros({1}));
  Parameter& b = parameters.add("b", zeros({1}));
  AdamOptions options;
  options.learning_rate = 1;
  options.epsilon = 1;
  options.groups = {{"b", 1, 3.0, {}}};
  Adam adam(parameters, options);
  set_gradient(a, full({1}, 1));
  set_gradient(b, full({1}, 1));
  adam.step(1, 1);
  CHECK(static_cast<double>(a.value[0]) == doctest::Approx(-0.5).epsilon(1e-5));
  CHECK(static_cast<double>(b.value[0]) == doctest::Approx(-0.25).epsilon(1e-5));
}

TEST_CASE("a group without parameters is refused") {
  ParameterSet parameters;
  parameters.add("encoder.weight", zeros({1}));
  CHECK_THROWS_WITH_AS(Sgd(parameters, with_groups({{"*.wieght", 2, {}, {}}})),
                       "optimizer.groups[0].match: must match the name of a parameter, such as 'encoder.weight'; "
                       "'*.wieght' matches none; did you mean '*.weight'?",
                       Error);
  // The first group leaves nothing to the second.
  CHECK_THROWS_WITH_AS(Sgd(parameters, with_groups({{"*", 1, {}, {}}, {"encoder.*", 1, {}, {}}})),
                       "optimizer.groups[1].match: 'encoder.*' matches only what earlier groups have taken; move it "
                       "before them or remove it",
                       OptionError);
  CHECK_THROWS_AS(Sgd(parameters, with_groups({{"", 1, {}, {}}})), Error);
  CHECK_THROWS_AS(Sgd(parameters, with_groups({{"*", -1, {}, {}}})), Error);
}

TEST_CASE("options out of range are refused") {
  ParameterSet parameters;
  parameters.add("x", zeros({1}));
  SgdOptions nesterov;
  nesterov.nesterov = true;
  CHECK_THROWS_AS(Sgd(parameters, nesterov), Error);
  AdamOptions beta;
  beta.beta2 = 1;
  CHECK_THROWS_AS(Adam(parameters, beta), Error);
  AdamOptions rate;
  rate.learning_rate = 0;
  CHECK_THROWS_AS(AdamW(parameters, rate), Error);
}

TEST_CASE("parameters without a gradient stay, with their slots") {
  ParameterSet parameters;
  Parameter& still = parameters.add("still", full({5}, 3));
  Parameter& moved = parameters.add("moved", full({5}, 3));
  AdamOptions options;
  options.weight_decay = 0.5;
  AdamW adam(parameters, options);
  set_gradient(moved, full({5}, 1));
  adam.step(1, 1);
  CHECK(same_bits(still.value, full({5}, 3)));
  CHECK(same_bits(adam.slots()[0].tensors[still.index], zeros({5})));
  CHECK_FALSE(same_bits(moved.value, full({5}, 3)));
  CHECK(same_bits(moved.gradient.sum, full({5}, 1)));
  CHECK_FALSE(moved.gradient.empty);
}

#ifdef __SSE__
TEST_CASE("the moment of a parameter without gradients ends at zero, not at the smallest number of the type") {
  ParameterSet parameters;
  Parameter& parameter = parameters.add("parameter", full({5}, 3));
  Adam adam(parameters, AdamOptions());  // 0.9 times the four smallest numbers would be rounded to four again
  set_gradient(parameter, full({5}, 1));
  adam.step(1, 1);
  CHECK_FALSE(same_bits(adam.slots()[0].tensors[0], zeros({5})));
  set_gradient(parameter, zeros({5}));
  for (int update = 0; update < 7000; ++update) adam.step(1, 1);
  CHECK(same_bits(adam.slots()[0].tensors[0], zeros({5})));
}

TEST_CASE("beside a tiny epsilon a subnormal second moment bounds the step") {
  if (sizeof(Real) > sizeof(float)) return;  // no option may be as small as it would take
  ParameterSet parameters;
  Parameter& parameter = parameters.add("parameter", zeros({5}));
  const double root = std::sqrt(static_cast<double>(std::numeric_limits<Real>::min()));
  AdamOptions options;
  options.learning_rate = 1;
  options.epsilon = 1e-30;
  Adam adam(parameters, options);
  set_gradient(parameter, full({5}, static_cast<Real>(root / 10)));
  adam.step(1, 1);
  for (const Real x : parameter.value) CHECK(std::fabs(static_cast<double>(x) + 1) < 0.01);
}
#endif

TEST_CASE("a star in a pattern stands for any text, and for none") {
  CHECK(matches("*", ""));
  CHECK(matches("*", "a.b"));
  CHECK(matches("", ""));
  CHECK_FALSE(matches("", "a"));
  CHECK(matches("a.b", "a.b"));
  CHECK_FALSE(matches("a.b", "a.bc"));
  CHECK_FALSE(matches("a.b", "xa.b"));
  CHECK_FALSE(matches("a.b", "aXb"));  // a dot is a dot
  CHECK(matches("*.bias", "encoder.0.bias"));
  CHECK_FALSE(matches("*.bias", "bias"));
  CHECK_FALSE(matches("*.bias", "encoder.bias.x"));
  CHECK(matches("encoder.*.bias", "encoder.0.norm.bias"));
  CHECK_FALSE(matches("encoder.*.bias", "encoder.bias"));
  CHECK(matches("*a*a*", "aa"));
  CHECK_FALSE(matches("*a*a*", "bab"));
  CHECK(matches("**", "x"));
  CHECK(matches("*ab", "aab"));
  CHECK(matches("a*b*c", "a.b.b.c"));
  CHECK_FALSE(matches("a*b*c", "a.c.b"));
}

TEST_CASE("many stars do not make a pattern slow") {
  std::string stars;
  for (int i = 0; i < 30; ++i) stars += "*a";
  CHECK_FALSE(matches(stars + "*b", std::string(60, 'a')));
  CHECK(matches(stars, std::string(60, 'a')));
}

// A factor alpha on an embedding is a change of its learning rate: with x = alpha E, E trained at the rate r moves x as
// training x itself at alpha^2 r (SGD) or alpha r (Adam) does. Exact where alpha is a power of two.
struct Equivalence {
  /// Trains E from sigma z under dL/dE = alpha g, and x from alpha sigma z under g; g depends on x. Compares alpha E
  /// and x.
  template <class MakeScaled, class MakePlain>
  static void check(double alpha, MakeScaled make_scaled, MakePlain make_plain) {
    CAPTURE(alpha);
    const auto factor = static_cast<Real>(alpha);
    const auto times = [](const Tensor& tensor, Real by) {
      Tensor result = tensor;
      for (Real& value : result) value *= by;
      return result;
    };
    const Tensor start = times(random_tensor({largest_size - 1}), Real(0.3));
    ParameterSet scaled, plain;
    Parameter& e = scaled.add("e", start);
    Parameter& x = plain.add("x", times(start, factor));
    const auto scaled_optimizer = make_scaled(scaled);
    const auto plain_optimizer = make_plain(plain);
    for (std::size_t t = 1; t <= steps; ++t) {
      const auto gradient_at = [&](const Tensor& at) {
        Tensor g = random_tensor(at.shape(), t);
        for (std::size_t i = 0; i < g.size(); ++i) g.data()[i] = g.data()[i] * at.data()[i] + std::sin(at.data()[i]);
        return g;
      };
      set_gradient(e, times(gradient_at(times(e.value, factor)), factor));
      set_gradient(x, gradient_at(x.value));
      scaled_optimizer->step(schedule_factor, 1);
      plain_optimizer->step(schedule_factor, 1);
      CAPTURE(t);
      CHECK(same_bits(times(e.value, factor), x.value));
    }
    CHECK(test::largest_difference(x.value, times(start, factor)) > 0.1);  // it did move
  }
};

TEST_CASE("an embedding factor is a change of the learning rate, bit for bit") {
  for (const double alpha : {4.0, 8.0, 16.0}) {
    for (const double momentum : {0.0, 0.9}) {
      SgdOptions scaled, plain;
      scaled.learning_rate = 0.003;
      scaled.momentum = plain.momentum = momentum;
      plain.learning_rate = alpha * alpha * scaled.learning_rate;
      Equivalence::check(
          alpha, [&](ParameterSet& set) { return std::make_unique<Sgd>(set, scaled); },
          [&](ParameterSet& set) { return std::make_unique<Sgd>(set, plain); });
    }
    AdamOptions scaled, plain;
    scaled.learning_rate = 0.01;
    scaled.epsilon = 1e-3;
    plain.learning_rate = alpha * scaled.learning_rate;
    plain.epsilon = scaled.epsilon / alpha;
    Equivalence::check(
        alpha, [&](ParameterSet& set) { return std::make_unique<Adam>(set, scaled); },
        [&](ParameterSet& set) { return std::make_unique<Adam>(set, plain); });
    scaled.weight_decay = 0.1;
    plain.weight_decay = scaled.weight_decay / alpha;
    Equivalence::check(
        alpha, [&](ParameterSet& set) { return std::make_unique<AdamW>(set, scaled); },
        [&](ParameterSet& set) { return std::make_unique<AdamW>(set, plain); });
  }
}

}  // namespace
}  // namespace surd
