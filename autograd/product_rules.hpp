#pragma once

#include "autograd/blas.hpp"

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

/// Which matrix products kernels::gemm computes, because it is the faster, and which the library: a table by processor.
namespace surd::blas {

/// Those of one kind that are the kernel's: with so many rows of A in memory or more (m, or k if A is transposed), and
/// so many multiplications (m n k) or fewer.
struct KernelShare {
  std::size_t least_rows, most_multiplications;

  bool holds(std::size_t rows, std::size_t multiplications) const {
    return rows >= least_rows && multiplications <= most_multiplications;
  }
  friend bool operator==(const KernelShare& x, const KernelShare& y) {
    return x.least_rows == y.least_rows && x.most_multiplications == y.most_multiplications;
  }
};

inline constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
inline constexpr KernelShare all{1, unlimited}, none{unlimited, 0};

/// What tells processors apart here.
struct ProcessorKind {
  std::string_view vendor;    ///< amd, intel or other
  std::size_t family;         ///< as CPUID has it (AMD's 25 is Zen 3 and 4, 26 is Zen 5); 0 without CPUID
  std::size_t register_bits;  ///< of the registers that this program was built for
  std::string_view core;      ///< what OpenBLAS takes the processor for
};

/// The kernel's share of each kind of products. NN: neither matrix is transposed, as in the gradient of a linear map's
/// input. NT: B is, as in the map. TN: A is, as in the gradient of its weight. Few rows: NT with no more than
/// kernels::few_rows(), as in the map when a sentence is decoded, which a kernel of its own computes.
struct ProductRules {
  ProcessorKind processor;
  KernelShare nn, nt, tn, few_rows;

  bool by_kernel(Transpose a, Transpose b, std::size_t m, std::size_t n, std::size_t k) const;
};

/// The kind of a product with op(A) [m, k].
KernelShare ProductRules::*kind_of(Transpose a, Transpose b, std::size_t m, std::size_t k);

/// The processor that this program runs on.
ProcessorKind this_processor();

/// The line of product_table.inc, if it has one of that kind.
std::optional<ProductRules> measured_rules(const ProcessorKind& processor);

/// The measured ones, or else what is likely: all are the kernel's where its registers are wider than the library's,
/// the least where they are narrower, and small ones where they are as wide, or all on an Intel with 512 bits.
ProductRules rules_for(const ProcessorKind& processor);

/// In words, as `surd doctor` has it.
std::string described(const ProductRules& rules);
/// "measured on amd, family 26, 512 bits, Cooperlake", or only likely there.
std::string evidence_of(const ProductRules& rules);

/// As a line of product_table.inc.
std::string table_line(const ProductRules& rules);

}  // namespace surd::blas
