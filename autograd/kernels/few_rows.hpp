#pragma once

#include "autograd/tensor.hpp"

#include <cstddef>

namespace surd::kernels {

/// Up to how many rows multiply_few_rows() is faster than packing B. Adding up the parts of an element takes as long
/// for a short sum as for a long one.
inline std::size_t few_rows(std::size_t k) { return k < 128 ? 6 : 12; }

/// C[m, n] = alpha A B^T + beta C + bias with A [m, k] and B [n, k], or its positive part if `relu`; bias [n] may be
/// null. B is read as it stands, so an element is a sum of as many parts as a register holds.
void multiply_few_rows(std::size_t m, std::size_t n, std::size_t k, Real alpha, const Real* a, std::size_t lda,
                       const Real* b, std::size_t ldb, Real beta, Real* c, std::size_t ldc, const Real* bias,
                       bool relu);

}  // namespace surd::kernels
