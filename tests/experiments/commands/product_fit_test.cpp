#include "experiments/commands/bench/product_fit.hpp"

#include "autograd/base/error.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace surd {
namespace {

using blas::no;
using blas::yes;

TimedProduct timed(blas::Transpose a, blas::Transpose b, std::size_t m, std::size_t n, std::size_t k, double library,
                   double kernel) {
  return {{a, b, m, n, k, a == no ? k : m, b == no ? n : k, n, 1}, library, kernel};
}

const blas::ProcessorKind somewhere{"amd", 512, "Somewhere"};

TEST_CASE("the rules that are fitted give each product to the faster, where rules can") {
  const TimedWork step{
      "a step",
      {timed(no, no, 100, 100, 100, 3, 2), timed(no, no, 1000, 1000, 1000, 90, 100), timed(no, yes, 4, 100, 100, 1, 2),
       timed(no, yes, 50, 100, 100, 9, 6), timed(yes, no, 100, 100, 100, 1, 2)}};
  CHECK(step.seconds_by_library() == 104);
  CHECK(step.seconds_by_kernel() == 112);
  CHECK(step.seconds_by_faster() == 100);
  const blas::ProductRules rules = fitted_rules(somewhere, {step});
  CHECK(step.seconds_by(rules) == 100);
  CHECK(rules.nn.least_rows == 1);
  CHECK(rules.tn == blas::none);
  CHECK(rules.few_rows == blas::none);
  CHECK_FALSE(rules.by_kernel(no, yes, 4, 100, 100));
}

TEST_CASE("a gain that may be noise makes no rule more complicated") {
  const TimedWork step{"a step", {timed(no, no, 100, 100, 100, 10, 9), timed(no, no, 500, 500, 500, 99.9, 100.3)}};
  CHECK(fitted_rules(somewhere, {step}).nn == blas::all);
}

TEST_CASE("short works count as much as long ones") {
  const TimedWork small{"small", {timed(no, yes, 20, 10, 10, 1e-6, 2e-6)}};
  const TimedWork large{"large", {timed(no, yes, 20, 10, 20, 10, 9)}};
  const blas::ProductRules rules = fitted_rules(somewhere, {small, large});
  CHECK_FALSE(rules.by_kernel(no, yes, 20, 10, 10));  // no rule tells the two apart
}

TEST_CASE("a line is written into the table, in the place of the processor's") {
  const std::string table =
      "// `surd bench products --write` writes it.\n"
      "{{\"amd\", 512, \"Somewhere\"}, all, all, all},\n"
      "{{\"amd\", 512, \"Somewhere else\"}, all, all, all},\n";
  CHECK(with_rules(table, {somewhere, blas::none, blas::all, {1, 7}, blas::all}) ==
        "// `surd bench products --write` writes it.\n"
        "{{\"amd\", 512, \"Somewhere\"}, none, all, {1, 7}, all},\n"
        "{{\"amd\", 512, \"Somewhere else\"}, all, all, all},\n");
  CHECK(with_rules(table, {{"intel", 256, "Haswell"}, blas::none, blas::all, blas::all, blas::all}) ==
        table + "{{\"intel\", 256, \"Haswell\"}, none, all, all, all},\n");
  CHECK_THROWS_WITH_AS(with_rules("a letter\n", {somewhere, blas::all, blas::all, blas::all, blas::all}),
                       "table: is not autograd/product_table.inc of surd's sources; name that file", Error);
}

}  // namespace
}  // namespace surd
