#include "autograd/blas.hpp"

#include "autograd/base/random.hpp"
#include "autograd/kernels/elementwise.hpp"
#include "autograd/kernels/gemm.hpp"
#include "autograd/product_rules.hpp"

#include <xtensor-blas/xblas.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

// These functions belong to OpenBLAS and not to the BLAS standard. They are weak, so that the program also links with
// another BLAS.
extern "C" {
char* openblas_get_config() __attribute__((weak));
char* openblas_get_corename() __attribute__((weak));
void openblas_set_num_threads(int) __attribute__((weak));
int blas_thread_shutdown_() __attribute__((weak));
}

namespace surd::blas {
namespace {

/// Once: OpenBLAS would begin its threads again.
void keep_on_one_thread() {
  static const bool kept = [] {
    if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
    if (blas_thread_shutdown_ != nullptr) blas_thread_shutdown_();  // a thread that nobody needs waits busily for 0.1 s
    return true;
  }();
  (void)kept;
}

}  // namespace

bool by_kernel(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k) {
  static const ProductRules rules = [] {
    keep_on_one_thread();  // a program of one's own may forget initialize()
    return rules_for(this_processor());
  }();
  return rules.by_kernel(transpose_a, transpose_b, m, n, k);
}

void gemm(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k, Real alpha,
          const Real* a, std::size_t lda, const Real* b, std::size_t ldb, Real beta, Real* c, std::size_t ldc) {
  if (by_kernel(transpose_a, transpose_b, m, n, k))
    kernels::gemm(transpose_a == Transpose::yes, transpose_b == Transpose::yes, m, n, k, alpha, a, lda, b, ldb, beta, c,
                  ldc);
  else
    library_gemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void library_gemm(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k, Real alpha,
                  const Real* a, std::size_t lda, const Real* b, std::size_t ldb, Real beta, Real* c, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  const auto op = [](Transpose t) { return t == Transpose::no ? cxxblas::NoTrans : cxxblas::Trans; };
  const auto index = [](std::size_t i) { return static_cast<xt::blas_index_t>(i); };
  // BLAS wants leading dimensions of at least 1 even where an axis is empty.
  const auto leading = [&](std::size_t i) { return index(std::max<std::size_t>(i, 1)); };
  cxxblas::gemm<xt::blas_index_t>(cxxblas::RowMajor, op(transpose_a), op(transpose_b), index(m), index(n), index(k),
                                  alpha, a, leading(lda), b, leading(ldb), beta, c, leading(ldc));
}

void linear(std::size_t rows, std::size_t out, std::size_t in, const Real* x, const Real* weight, const Real* bias,
            bool relu, Real* y) {
  if (in > 0 && by_kernel(Transpose::no, Transpose::yes, rows, out, in))
    return kernels::linear(rows, out, in, x, weight, bias, relu, y);
  library_linear(rows, out, in, x, weight, bias, relu, y);
}

void library_linear(std::size_t rows, std::size_t out, std::size_t in, const Real* x, const Real* weight,
                    const Real* bias, bool relu, Real* y) {
  library_gemm(Transpose::no, Transpose::yes, rows, out, in, 1, x, in, weight, in, 0, y, out);
  if (bias != nullptr) kernels::add_bias(y, bias, y, rows, out);
  if (relu) kernels::relu(y, y, rows * out);
}

std::string description() { return openblas_get_config != nullptr ? openblas_get_config() : "unknown BLAS"; }
std::string core_name() { return openblas_get_corename != nullptr ? openblas_get_corename() : "unknown"; }

double self_test_error() {
  struct Case {
    std::size_t m, n, k;
  };
  double worst = 0;
  for (const Case& c : {Case{1, 1, 1}, Case{3, 5, 7}, Case{16, 16, 16}, Case{33, 17, 65}, Case{92, 33, 24},
                        Case{14, 17, 520}, Case{7, 200, 6}}) {
    const random::Stream stream(0, "self-test", "gemm");
    const auto draw = [&](std::size_t count, std::uint64_t first) {
      std::vector<Real> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<Real>(2 * stream.uniform(first + i) - 1);
      return values;
    };
    const auto a = draw(c.m * c.k, 0), b = draw(c.k * c.n, 1 << 20), start = draw(c.m * c.n, 2 << 20);
    for (const Transpose ta : {Transpose::no, Transpose::yes}) {
      for (const Transpose tb : {Transpose::no, Transpose::yes}) {
        const bool transpose_a = ta == Transpose::yes, transpose_b = tb == Transpose::yes;
        const std::size_t lda = transpose_a ? c.m : c.k, ldb = transpose_b ? c.k : c.n;
        auto result = start, ours = start;
        library_gemm(ta, tb, c.m, c.n, c.k, Real(1.5), a.data(), lda, b.data(), ldb, Real(0.5), result.data(), c.n);
        kernels::gemm(transpose_a, transpose_b, c.m, c.n, c.k, Real(1.5), a.data(), lda, b.data(), ldb, Real(0.5),
                      ours.data(), c.n);
        for (std::size_t i = 0; i < c.m; ++i) {
          for (std::size_t j = 0; j < c.n; ++j) {
            double exact = 0;
            for (std::size_t l = 0; l < c.k; ++l)
              exact += static_cast<double>(a[transpose_a ? l * lda + i : i * lda + l]) *
                       b[transpose_b ? j * ldb + l : l * ldb + j];
            exact = 1.5 * exact + 0.5 * start[i * c.n + j];
            for (const Real value : {result[i * c.n + j], ours[i * c.n + j]}) {
              const double error = std::fabs(value - exact) / static_cast<double>(c.k);
              worst = std::isfinite(error) ? std::max(worst, error) : std::numeric_limits<double>::infinity();
            }
          }
        }
      }
    }
  }
  return worst;
}

double self_test_tolerance() { return 8 * std::numeric_limits<Real>::epsilon(); }

void initialize() {
  keep_on_one_thread();
  const double error = self_test_error();
  expect(
      error <= self_test_tolerance(), "BLAS self-test",
      "matrix products of {} or of kernels::gemm are wrong: their error is {:.3g}, allowed are {:.3g}; install another "
      "BLAS or compiler",
      description(), error, self_test_tolerance());
}

}  // namespace surd::blas
