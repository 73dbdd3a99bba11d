#pragma once

#include "autograd/tensor.hpp"

#include <cstddef>

namespace surd::kernels {

/// C[m, n] = alpha op(A) op(B) + beta C, row-major, with op(A) [m, k] and op(B) [k, n]; a matrix that is turned is
/// given as its transpose. beta = 0 overwrites C, whatever it holds; alpha = 0 reads neither A nor B. Each element is a
/// sum over k in ascending order, in blocks that depend on k alone. blas::gemm knows when this is the fastest.
void gemm(bool turn_a, bool turn_b, std::size_t m, std::size_t n, std::size_t k, Real alpha, const Real* a,
          std::size_t lda, const Real* b, std::size_t ldb, Real beta, Real* c, std::size_t ldc);

}  // namespace surd::kernels
