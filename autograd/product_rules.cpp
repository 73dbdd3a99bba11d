#include "autograd/product_rules.hpp"

#include "autograd/kernels/few_rows.hpp"
#include "autograd/kernels/simd.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace surd::blas {
namespace {

constexpr ProductRules table[] = {
#include "autograd/product_table.inc"
};

bool same(const ProcessorKind& x, const ProcessorKind& y) {
  return x.vendor == y.vendor && x.family == y.family && x.register_bits == y.register_bits && x.core == y.core;
}

std::string_view vendor() {
#if defined(__x86_64__)
  if (__builtin_cpu_is("amd")) return "amd";
  if (__builtin_cpu_is("intel")) return "intel";
#endif
  return "other";
}

std::size_t family() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) {
    const unsigned base = a >> 8 & 15;
    return base == 15 ? base + (a >> 20 & 255) : base;
  }
#endif
  return 0;
}

/// Bits of the registers that the kernels of an OpenBLAS core use, of its older cores for x86-64 as of Prescott.
std::size_t bits_of(std::string_view core) {
  if (core == "SkylakeX" || core == "Cooperlake" || core == "SapphireRapids") return 512;
  return core == "Haswell" || core == "Zen" ? 256 : 128;
}

/// What is likely of a processor that was not measured. The library's core has narrower registers where the library is
/// too old for the processor, or OPENBLAS_CORETYPE says so.
ProductRules likely_rules(const ProcessorKind& processor) {
  const std::size_t bits = processor.register_bits;
  const std::size_t of_library = processor.core == "unknown" ? bits : bits_of(processor.core);
  if (bits < 256) return {processor, none, none, none, none};
  if (bits < of_library) return {processor, none, {1, 10'000}, none, all};
  if (bits > of_library) return {processor, all, all, all, all};
  // As measured on a Xeon of the fifth generation, with the cores that the table has.
  if (processor.vendor == "intel" && bits == 512) return {processor, all, all, all, all};
  return {processor, {1, 32'000'000}, {1, 32'000'000}, {64, 1'000'000}, all};
}

std::string number(std::size_t x) { return x == unlimited ? "unlimited" : fmt::format("{}", x); }

std::string cells(const KernelShare& share) {
  if (share == all) return "all";
  if (share == none) return "none";
  return fmt::format("{{{}, {}}}", number(share.least_rows), number(share.most_multiplications));
}

std::string words(const KernelShare& share) {
  if (share == all) return "all";
  if (share == none) return "none";
  std::vector<std::string> limits;
  if (share.least_rows > 1) limits.push_back(fmt::format("from {} rows", share.least_rows));
  if (share.most_multiplications < unlimited)
    limits.push_back(
        fmt::format("up to {:.6g} million multiplications", static_cast<double>(share.most_multiplications) / 1e6));
  return fmt::format("{}", fmt::join(limits, " "));
}

}  // namespace

KernelShare ProductRules::*kind_of(Transpose a, Transpose b, std::size_t m, std::size_t k) {
  if (a == yes) return &ProductRules::tn;
  if (b == no) return &ProductRules::nn;
  return m <= kernels::few_rows(k) ? &ProductRules::few_rows : &ProductRules::nt;
}

bool ProductRules::by_kernel(Transpose a, Transpose b, std::size_t m, std::size_t n, std::size_t k) const {
  return (this->*kind_of(a, b, m, k)).holds(a == yes ? k : m, m * n * k);
}

ProcessorKind this_processor() {
  static const std::string core = core_name();
  return {vendor(), family(), 8 * sizeof(kernels::Batch), core};
}

std::optional<ProductRules> measured_rules(const ProcessorKind& processor) {
  const auto* const found = std::find_if(std::begin(table), std::end(table),
                                         [&](const ProductRules& rules) { return same(rules.processor, processor); });
  return found == std::end(table) ? std::nullopt : std::optional(*found);
}

ProductRules rules_for(const ProcessorKind& processor) {
  return measured_rules(processor).value_or(likely_rules(processor));
}

std::string described(const ProductRules& rules) {
  const KernelShare& nn = rules.nn;
  const bool alike = nn == rules.nt && nn == rules.tn && nn == rules.few_rows;
  if (alike && nn == all) return "all by surd's kernel";
  if (alike && nn == none) return "all by the library";
  return fmt::format("by surd's kernel NN {}, NT {}, TN {}, few rows {}; else by the library", words(nn),
                     words(rules.nt), words(rules.tn), words(rules.few_rows));
}

std::string evidence_of(const ProductRules& rules) {
  const auto& [vendor, family, bits, core] = rules.processor;
  const bool measured = measured_rules(rules.processor).has_value();
  return fmt::format("{} on {}, family {}, {} bits, {}", measured ? "measured" : "likely the fastest", vendor, family,
                     bits, core);
}

std::string table_line(const ProductRules& rules) {
  const auto& [vendor, family, bits, core] = rules.processor;
  return fmt::format("{{{{\"{}\", {}, {}, \"{}\"}}, {}, {}, {}, {}}},", vendor, family, bits, core, cells(rules.nn),
                     cells(rules.nt), cells(rules.tn), cells(rules.few_rows));
}

}  // namespace surd::blas
