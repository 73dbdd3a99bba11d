#pragma once

#include "autograd/tensor.hpp"

#include <cstddef>
#include <string>

/// The only door to matrix products, BLAS's and those of kernels/gemm.hpp. Matrices are row-major, given by a pointer
/// and a leading dimension (elements from one row to the next), so that one head of [B, T, H d_k] is a pointer offset
/// and never a copy.
namespace surd::blas {

enum class Transpose { no, yes };
inline constexpr Transpose no = Transpose::no, yes = Transpose::yes;

/// Whether a product is computed by kernels::gemm, because that is the faster, and not by the library: looked up by its
/// sizes and transpositions and by processor (product_rules.hpp), so that a machine always has the same bits.
bool by_kernel(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k);

/// C[m, n] = alpha op(A) op(B) + beta C, with op(A) [m, k] and op(B) [k, n], as by_kernel() says. beta = 0 overwrites
/// C, whatever it holds.
void gemm(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k, Real alpha,
          const Real* a, std::size_t lda, const Real* b, std::size_t ldb, Real beta, Real* c, std::size_t ldc);

/// The same product, always computed by the library.
void library_gemm(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k, Real alpha,
                  const Real* a, std::size_t lda, const Real* b, std::size_t ldb, Real beta, Real* c, std::size_t ldc);

/// gemm for whole matrices, whose leading dimensions are their row lengths.
inline void gemm(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k, Real alpha,
                 const Real* a, const Real* b, Real beta, Real* c) {
  gemm(transpose_a, transpose_b, m, n, k, alpha, a, transpose_a == Transpose::no ? k : m, b,
       transpose_b == Transpose::no ? n : k, beta, c, n);
}

/// y = x W^T + bias, and then its positive part if `relu`, with x [rows, in], W [out, in] and y [rows, out]; bias [out]
/// may be null.
void linear(std::size_t rows, std::size_t out, std::size_t in, const Real* x, const Real* weight, const Real* bias,
            bool relu, Real* y);

/// The same map, its product computed by the library.
void library_linear(std::size_t rows, std::size_t out, std::size_t in, const Real* x, const Real* weight,
                    const Real* bias, bool relu, Real* y);

/// Which library computes the products, e.g. "OpenBLAS 0.3.21 ... pthreads", and the core its kernels were chosen for.
std::string description();
std::string core_name();

/// Largest error of library_gemm and kernels::gemm, divided by the length of the inner axis, over transpositions and a
/// set of shapes, some of which have B packed or the inner axis cut into blocks; the factors are in [-1, 1]. A sound
/// build stays below self_test_tolerance. Takes about two milliseconds.
double self_test_error();
double self_test_tolerance();

/// Keeps BLAS on one thread, and ends OpenBLAS's others, as the first product would, which is faster for small products
/// and leaves the cores to replicas and runs side by side, and throws Error when the self-test fails: a wrong build
/// must not train silently.
void initialize();

}  // namespace surd::blas
