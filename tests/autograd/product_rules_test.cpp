#include "autograd/product_rules.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

namespace surd::blas {
namespace {

TEST_CASE("rules say which products are the kernel's") {
  const ProductRules rules{{"amd", 26, 512, "Zen"}, {1, 1000}, {20, unlimited}, {64, 1'000'000}, {1, 5000}};
  CHECK(rules.by_kernel(no, no, 10, 10, 10));
  CHECK_FALSE(rules.by_kernel(no, no, 10, 10, 11));
  CHECK(rules.by_kernel(no, yes, 20, 10'000, 10'000));
  CHECK_FALSE(rules.by_kernel(no, yes, 19, 10, 10));
  CHECK(rules.by_kernel(no, yes, 5, 10, 100));  // few rows
  CHECK_FALSE(rules.by_kernel(no, yes, 5, 11, 100));
  CHECK(rules.by_kernel(yes, no, 8, 8, 64));  // a transposed A [8, 64] has 64 rows in memory
  CHECK_FALSE(rules.by_kernel(yes, no, 64, 64, 63));
  CHECK_FALSE(rules.by_kernel(yes, no, 128, 128, 64));
  CHECK(rules.by_kernel(yes, yes, 8, 8, 64));
  CHECK_FALSE(rules.by_kernel(yes, yes, 8, 8, 63));
}

TEST_CASE("a processor that was measured has its rules, another what is likely") {
  const auto nt_4096 = [](const ProcessorKind& processor) {
    return rules_for(processor).by_kernel(no, yes, 4096, 4096, 4096);
  };
  const auto nt_64 = [](const ProcessorKind& processor) { return rules_for(processor).by_kernel(no, yes, 64, 64, 64); };
  const ProcessorKind measured{"amd", 26, 512, "Cooperlake"}, equal{"other", 0, 512, "Cooperlake"},
      narrower{"other", 0, 512, "Prescott"}, wider{"other", 0, 256, "Cooperlake"}, unknown{"other", 0, 256, "unknown"},
      old{"other", 0, 128, "Prescott"};
  CHECK(measured_rules(measured).has_value());
  CHECK(nt_4096(measured));
  CHECK(nt_64(measured));
  const ProcessorKind of_another_family{"amd", 99, 512, "Cooperlake"};
  for (const ProcessorKind& processor : {equal, narrower, wider, unknown, old, of_another_family})
    CHECK_FALSE(measured_rules(processor).has_value());
  CHECK_FALSE(nt_4096(equal));
  CHECK(nt_64(equal));
  CHECK(nt_4096(narrower));
  CHECK_FALSE(nt_64(wider));
  CHECK(rules_for(wider).by_kernel(no, yes, 10, 10, 16));
  CHECK(rules_for(wider).by_kernel(no, yes, 1, 8000, 256));
  CHECK(nt_64(unknown));
  CHECK_FALSE(rules_for(old).by_kernel(no, yes, 10, 10, 16));
  CHECK(rules_for(equal).by_kernel(yes, no, 64, 64, 64));
  CHECK_FALSE(rules_for(equal).by_kernel(yes, no, 64, 64, 63));
  CHECK(measured_rules({"intel", 6, 512, "SkylakeX"}).has_value());
  const ProcessorKind of_intel{"intel", 6, 512, "SapphireRapids"};
  CHECK_FALSE(measured_rules(of_intel).has_value());
  CHECK(nt_4096(of_intel));
}

TEST_CASE("whose products are which is told in words, and written as a line") {
  const ProcessorKind measured{"amd", 26, 512, "Cooperlake"}, unmeasured{"intel", 99, 512, "Prescott"};
  const ProductRules mixed{measured, all, {12, unlimited}, {64, 1'500'000}, none};
  CHECK(described(mixed) ==
        "by surd's kernel NN all, NT from 12 rows, TN from 64 rows up to 1.5 million multiplications, "
        "few rows none; else by the library");
  CHECK(evidence_of(mixed) == "measured on amd, family 26, 512 bits, Cooperlake");
  CHECK(described({unmeasured, all, all, all, all}) == "all by surd's kernel");
  CHECK(described({unmeasured, none, none, none, none}) == "all by the library");
  CHECK(evidence_of({unmeasured, all, all, all, all}) == "likely the fastest on intel, family 99, 512 bits, Prescott");
  // Other processors may have the same products, and then round alike.
  const ProcessorKind fourth{"amd", 25, 512, "Cooperlake"};
  CHECK(described(rules_for(fourth)) == described(rules_for(measured)));
  CHECK(table_line({measured, all, {12, unlimited}, none, all}) ==
        R"({{"amd", 26, 512, "Cooperlake"}, all, {12, unlimited}, none, all},)");
}

TEST_CASE("this processor is known by its family, and by what its program and library were made for") {
  const ProcessorKind here = this_processor();
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);)
    if (line.rfind("cpu family", 0) == 0) CHECK(std::stoul(line.substr(line.find(':') + 1)) == here.family);
  CHECK(here.register_bits >= 128);
  CHECK(here.core == core_name());
  CHECK(by_kernel(no, yes, 300, 200, 100) == rules_for(here).by_kernel(no, yes, 300, 200, 100));
}

}  // namespace
}  // namespace surd::blas
