#include "experiments/commands/bench/product_fit.hpp"

#include "autograd/base/error.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>

#include <regex>
#include <set>
#include <sstream>
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

const blas::ProcessorKind somewhere{"amd", 25, 512, "Somewhere"};

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
  const std::string head = "// Whose products are which, by processor\n", line = R"({{"amd", 25, 512, "Somewhere"}, )",
                    other = R"({{"amd", 25, 512, "Somewhere else"}, all, all, all, all},)";
  const blas::ProductRules rules{somewhere, blas::none, blas::all, {1, 7}, blas::all};
  const std::string expected = head + line + "none, all, {1, 7}, all},\n" + other + "\n";
  CHECK(with_rules("t", head + line + "all, all, all, all},\n" + other + "\n", rules) == expected);
  CHECK(with_rules("t", head + "  {{\"amd\",25,512,\"Somewhere\"},all,all,all,all},\r\n" + other, rules) == expected);
  CHECK(with_rules("t", head + other + "\n", rules) == head + other + "\n" + line + "none, all, {1, 7}, all},\n");
  const std::string of_another_family = R"({{"amd", 26, 512, "Somewhere"}, all, all, all, all},)";
  CHECK(with_rules("t", head + of_another_family + "\n", rules) ==
        head + of_another_family + "\n" + line + "none, all, {1, 7}, all},\n");
  for (const char* text : {"", "a letter\n", "see `surd bench products --write`\n"})
    CHECK_THROWS_WITH_AS(with_rules("letter.txt", text, rules),
                         "letter.txt: is not autograd/product_table.inc of surd's sources; name that file", Error);
}

TEST_CASE("the table has a line for each of its processors, as it would be written") {
  std::istringstream table(read_file(SURD_SOURCE_DIR "/autograd/product_table.inc"));
  std::set<std::string> processors;
  for (std::string line; std::getline(table, line);) {
    if (line.rfind("//", 0) == 0) continue;
    CAPTURE(line);
    const std::regex parts(R"x(\{\{"(\w+)", (\d+), (\d+), "(\w+)"\}, .*)x");
    std::smatch match;
    REQUIRE(std::regex_match(line, match, parts));
    CHECK(processors.insert(line.substr(0, line.find('}'))).second);
    const std::string vendor = match[1], core = match[4];
    const auto rules = blas::measured_rules({vendor, std::stoul(match[2]), std::stoul(match[3]), core});
    REQUIRE(rules.has_value());
    CHECK(blas::table_line(*rules) == line);
  }
  CHECK(processors.size() >= 6);
}

}  // namespace
}  // namespace surd
