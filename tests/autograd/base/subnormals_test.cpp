#include "autograd/base/subnormals.hpp"

#include "autograd/parameter.hpp"
#include "tests/tensors.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace surd;

namespace {

// Volatile, so that it is not the compiler that computes.

float with_subnormal_operand() {
  volatile float subnormal = std::numeric_limits<float>::denorm_min(), large = 1e30F;
  return subnormal * large;
}

float with_subnormal_result() {
  volatile float smallest = std::numeric_limits<float>::min(), half = 0.5F;
  return smallest * half;
}

}  // namespace

TEST_CASE("subnormal numbers count as zeros for a while") {
  const float operand = with_subnormal_operand(), result = with_subnormal_result();
  CHECK(operand > 0);
  CHECK(result > 0);
#ifdef __SSE__
  {
    const FlushSubnormals flush;
    { const FlushSubnormals again; }
    CHECK(with_subnormal_operand() == 0);
    CHECK(with_subnormal_result() == 0);
  }
#endif
  CHECK(with_subnormal_operand() == operand);
  CHECK(with_subnormal_result() == result);
}

#ifdef __SSE__
TEST_CASE("a sum of two passes' gradients that is subnormal is zero, as a sum in one pass is") {
  const double smallest = static_cast<double>(std::numeric_limits<Real>::min());
  GradientSum sum{test::tensor_of({2}, {1.5 * smallest, 1}), false};
  GradientSum other{test::tensor_of({2}, {-1.25 * smallest, 1}), false};
  sum.take(other);
  CHECK(test::values_of(sum.sum) == std::vector<double>{0, 2});
}
#endif
