#pragma once

#include "autograd/tensor.hpp"

#include <cstddef>

namespace surd::kernels {

/// C = alpha A B + beta C + bias, or its positive part if `relu`, with C [m, n] and an inner axis of length k; with a
/// bias or relu alpha is 1 and beta 0. Rows stand lda, ldb and ldc apart; who takes a product says which of A and B is
/// given as its transpose.
struct Product {
  std::size_t m, n, k;
  Real alpha;
  const Real* a;
  std::size_t lda;
  const Real* b;
  std::size_t ldb;
  Real beta;
  Real* c;
  std::size_t ldc;
  const Real* bias = nullptr;  // [n]; null for 0
  bool relu = false;
};

}  // namespace surd::kernels
