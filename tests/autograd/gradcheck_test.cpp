#include "autograd/gradcheck.hpp"

#include "autograd/ops.hpp"
#include "tests/tensors.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

namespace surd {
namespace {

using V = const std::vector<Variable>&;

/// y = x^2 with a backward that multiplies the true gradient by `factor`.
Variable square_with_gradient_times(Variable x, Real factor) {
  Tensor y = x.value();
  for (std::size_t i = 0; i < y.size(); ++i) y.data()[i] *= y.data()[i];
  return x.tape().record("square", std::move(y), {x}, [=](BackwardPass& pass) {
    Tensor dx = pass.take_gradient();
    for (std::size_t i = 0; i < dx.size(); ++i) dx.data()[i] *= 2 * factor * x.value().data()[i];
    pass.accumulate(x, std::move(dx));
  });
}

GradcheckResult check_square(Real factor, const Tensor& x) {
  return gradcheck([=](Tape&, V v) { return square_with_gradient_times(v[0], factor); }, {x});
}

TEST_CASE("gradcheck passes a right gradient and fails a slightly wrong one") {
  for (const double size : {1.0, 1e-3, 100.0}) {
    Tensor x = test::random_tensor({3, 5});
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] *= size;
    CHECK(check_square(1, x).passed);
    CHECK_FALSE(check_square(Real(1.00001), x).passed);
    CHECK_FALSE(check_square(0, x).passed);
    CHECK_FALSE(check_square(-1, x).passed);
  }
  CHECK(check_square(Real(1.01), test::tensor_of({2}, {1, 3})).where.find("input 0[1]") == 0);
}

TEST_CASE("gradcheck fails on NaN") {
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  CHECK_FALSE(check_square(nan, test::random_tensor({3})).passed);
  CHECK_FALSE(check_square(1, test::tensor_of({3}, {1, nan, 2})).passed);
}

TEST_CASE("gradcheck fails where an input's gradient is missing") {
  const auto detached = [](Tape& tape, V v) {
    const Variable copy = tape.input(v[0].value());
    return add(copy, scale(v[1], 2));
  };
  const auto result = gradcheck(detached, {test::random_tensor({3}, 1), test::random_tensor({3}, 2)});
  CHECK_FALSE(result.passed);
  CHECK(result.where.find("input 0") == 0);
}

TEST_CASE("gradcheck checks parameters") {
  ParameterSet parameters;
  Parameter& weight = parameters.add("layer.weight", test::random_tensor({3}));
  const auto f = [&](Real factor) {
    return [&, factor](Tape& tape, V) { return square_with_gradient_times(tape.parameter(weight), factor); };
  };
  CHECK(gradcheck(f(1), {}, &parameters).passed);
  const auto wrong = gradcheck(f(2), {}, &parameters);
  CHECK_FALSE(wrong.passed);
  CHECK(wrong.where.find("layer.weight[") == 0);
}

TEST_CASE("gradcheck tries some elements of a large tensor") {
  // 1 wrong element of 2 in a tensor of 2000 is found by 64 probes.
  const auto f = [](Tape&, V v) {
    return concat({square_with_gradient_times(slice(v[0], 0, 0, 1000), 1),
                   square_with_gradient_times(slice(v[0], 0, 1000, 2000), 2)},
                  0);
  };
  CHECK_FALSE(gradcheck(f, {test::random_tensor({2000})}).passed);
}

}  // namespace
}  // namespace surd
