#include "experiments/commands/bench/bench_products.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace surd {
namespace {

TEST_CASE("the products of a step, each kind counted, are as many operations as those that the library computes") {
  for (const BenchShape& shape : bench_shapes()) {
    CAPTURE(shape.name);
    double operations = 0;
    for (const StepProduct& p : products_of(shape))
      operations += p.floating_point_operations() * static_cast<double>(p.count);
    CHECK(operations == LibraryProducts(shape).floating_point_operations());
  }
}

TEST_CASE("short heads are computed by a kernel of their own") {
  const auto product = [](const char* shape, const char* name) {
    const std::vector<StepProduct> products = products_of(find_bench_shape(shape));
    const auto found =
        std::find_if(products.begin(), products.end(), [&](const StepProduct& p) { return p.name() == name; });
    REQUIRE(found != products.end());
    return *found;
  };
  CHECK(product("toy-64", "NT 12 x 12 x 16").computed_by() == "head kernel");
  CHECK_FALSE(product("text-256", "NT 128 x 128 x 32").of_short_head);
  CHECK_FALSE(product("toy-64", "NT 768 x 64 x 64").of_short_head);
}

}  // namespace
}  // namespace surd
