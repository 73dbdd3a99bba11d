#include "autograd/blas.hpp"
#include "autograd/ops.hpp"

namespace surd {

using blas::gemm;
using blas::no;
using blas::yes;

// C = A B;  dA = dC B^T,  dB = A^T dC
Variable matmul(Variable a, Variable b) {
  expect(a.dimension() == 2 && b.dimension() == 2 && a.shape()[1] == b.shape()[0], a, "matmul",
         "takes [m, k] and [k, n]; got {} and {}", a.shape(), b.shape());
  const std::size_t m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
  Tensor c(Shape{m, n});
  gemm(no, no, m, n, k, 1, a.value().data(), b.value().data(), 0, c.data());
  return a.tape().record("matmul", std::move(c), {a, b}, [=](BackwardPass& pass) {
    const Real* dc = pass.gradient().data();
    if (pass.needs(a)) {
      const auto da = pass.slot(a);
      gemm(no, yes, m, k, n, 1, dc, b.value().data(), da.beta, da.data);
    }
    if (pass.needs(b)) {
      const auto db = pass.slot(b);
      gemm(yes, no, k, n, m, 1, a.value().data(), dc, db.beta, db.data);
    }
  });
}

// The same for each of B pairs of matrices.
Variable batched_matmul(Variable a, Variable b) {
  expect(a.dimension() == 3 && b.dimension() == 3 && a.shape()[0] == b.shape()[0] && a.shape()[2] == b.shape()[1], a,
         "batched_matmul", "takes [B, m, k] and [B, k, n]; got {} and {}", a.shape(), b.shape());
  const std::size_t batch = a.shape()[0], m = a.shape()[1], k = a.shape()[2], n = b.shape()[2];
  Tensor c(Shape{batch, m, n});
  for (std::size_t i = 0; i < batch; ++i)
    gemm(no, no, m, n, k, 1, a.value().data() + i * m * k, b.value().data() + i * k * n, 0, c.data() + i * m * n);
  return a.tape().record("batched_matmul", std::move(c), {a, b}, [=](BackwardPass& pass) {
    const Real* dc = pass.gradient().data();
    if (pass.needs(a)) {
      const auto da = pass.slot(a);
      for (std::size_t i = 0; i < batch; ++i)
        gemm(no, yes, m, k, n, 1, dc + i * m * n, b.value().data() + i * k * n, da.beta, da.data + i * m * k);
    }
    if (pass.needs(b)) {
      const auto db = pass.slot(b);
      for (std::size_t i = 0; i < batch; ++i)
        gemm(yes, no, k, n, m, 1, a.value().data() + i * m * k, dc + i * m * n, db.beta, db.data + i * k * n);
    }
  });
}

}  // namespace surd
