#include "autograd/tensor.hpp"

#include <doctest/doctest.h>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include <limits>
#include <type_traits>
#include <vector>

// Keeps watch on what the build relies on. Compiled as C++20 by g++ 12, xtensor 0.24 reads out of bounds in the
// reduction below; XTENSOR_USE_XSIMD changes types and must be the same everywhere.

static_assert(__cplusplus == 201703L, "the project is compiled as C++17: see cmake/SurdOptions.cmake");

#ifndef XTENSOR_USE_XSIMD
#error "XTENSOR_USE_XSIMD must be defined on every target that sees xtensor"
#endif

#ifdef SURD_DOUBLE
static_assert(std::is_same_v<surd::Real, double>);
#else
static_assert(std::is_same_v<surd::Real, float>);
#endif

namespace surd {
namespace {

Tensor numbered(const Shape& shape) {
  Tensor tensor(shape);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.data()[i] = static_cast<Real>((i * 7) % 12);
  return tensor;
}

TEST_CASE("an immediate reduction over one axis is right") {
  const Tensor a = numbered({4, 3});  // 0 7 2 | 9 4 11 | 6 1 8 | 3 10 5
  const Tensor rows = xt::amax(a, {1}, xt::evaluation_strategy::immediate);
  CHECK(rows.shape() == Shape{4});
  CHECK(std::vector<Real>(rows.begin(), rows.end()) == std::vector<Real>{7, 11, 8, 10});
  const Tensor columns = xt::amax(a, {0}, xt::evaluation_strategy::immediate);
  CHECK(std::vector<Real>(columns.begin(), columns.end()) == std::vector<Real>{9, 10, 11});
  const Tensor kept = xt::sum(a, {1}, xt::keep_dims | xt::evaluation_strategy::immediate);
  CHECK(kept.shape() == Shape{4, 1});
  CHECK(std::vector<Real>(kept.begin(), kept.end()) == std::vector<Real>{9, 24, 15, 18});
}

TEST_CASE("a tensor is row-major over the pool") {
  Tensor a = zeros({2, 3, 4});
  a(1, 2, 3) = 5;
  CHECK(a.data()[23] == 5);
  CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
  pool::trim();
  const std::size_t held = pool::statistics().bytes_held;
  const Tensor b(Shape{1000000});
  CHECK(pool::statistics().bytes_held >= held + b.size() * sizeof(Real));
  CHECK(b.size() == 1000000);
}

TEST_CASE("shapes and rows") {
  CHECK(element_count({}) == 1);
  CHECK(element_count({2, 0, 3}) == 0);
  CHECK(element_count({2, 5, 3}) == 30);
  CHECK(with_last_axis({2, 5, 3}, 7) == Shape{2, 5, 7});
  CHECK(row_count(zeros({2, 5, 3})) == 10);
  CHECK(row_length(zeros({2, 5, 3})) == 3);
  CHECK(row_count(zeros({7})) == 1);
  CHECK(row_count(zeros({0, 3})) == 0);
  CHECK(row_count(zeros({4, 0})) == 4);  // four empty rows
}

TEST_CASE("all_finite") {
  for (std::size_t n = 1; n < 40; ++n) {
    Tensor a = full({n}, std::numeric_limits<Real>::max());
    CHECK(all_finite(a));
    for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity(),
                           -std::numeric_limits<Real>::infinity()}) {
      a(n - 1) = bad;
      CHECK_FALSE(all_finite(a));
    }
  }
  CHECK(all_finite(zeros({0})));
}

}  // namespace
}  // namespace surd
