#include "autograd/base/subnormals.hpp"

#include <doctest/doctest.h>

#include <limits>

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
