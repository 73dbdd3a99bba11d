#pragma once

#include "autograd/tensor.hpp"

#include <cstddef>

namespace surd::kernels {

/// What of a processor's caches decides how a product is cut into strips and blocks. No sum depends on it.
struct Caches {
  std::size_t l1_ways;  // lines that a set of the L1 cache holds; taken as 8 if they are less or not known
  std::size_t l1_size;  // bytes; taken as 32 KB if it is less or not known
  std::size_t l2_size;  // bytes; taken as 512 KB if it is less or not known, and as 2 MB if it is more
};

const Caches& this_processors_caches();

/// C[m, n] = alpha op(A) op(B) + beta C, row-major, with op(A) [m, k] and op(B) [k, n]; a matrix that is transposed is
/// given as its transpose. beta = 0 overwrites C, whatever it holds; alpha = 0 reads neither A nor B. Each element is a
/// sum over k in ascending order, in blocks that depend on k, and if A is transposed on whether n is large; but of a
/// few rows with a transposed B, which are decoded a sentence at a time, as few_rows.hpp has it. blas::by_kernel knows
/// when this is the fastest.
void gemm(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, Real alpha, const Real* a,
          std::size_t lda, const Real* b, std::size_t ldb, Real beta, Real* c, std::size_t ldc,
          const Caches& caches = this_processors_caches());

/// y = x W^T + bias, and then its positive part if `relu`, with x [rows, in], W [out, in], in > 0, and y [rows, out];
/// bias [out] may be null. Unless the inner axis is long, bias and cut join the sums of a tile before they leave the
/// registers, and y is written once and not read. blas::by_kernel knows when this is the fastest.
void linear(std::size_t rows, std::size_t out, std::size_t in, const Real* x, const Real* weight, const Real* bias,
            bool relu, Real* y);

}  // namespace surd::kernels
