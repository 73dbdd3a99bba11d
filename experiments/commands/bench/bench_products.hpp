#pragma once

#include "autograd/blas.hpp"
#include "autograd/tensor.hpp"
#include "experiments/commands/bench/bench_shape.hpp"

#include <string>
#include <vector>

namespace surd {

/// The sizes of the matrix products of one training step.
struct StepProducts {
  explicit StepProducts(const BenchShape& shape);

  /// A product x W^T with x [rows, in] and W [out, in], and the two of its gradients, that a step makes `count` times.
  struct Projection {
    std::size_t rows, in, out, count;
  };
  /// The six products of each head, of `count` modules.
  struct Attention {
    std::size_t queries, keys, count;
  };

  std::vector<Projection> projections;
  std::vector<Attention> attentions;
};

/// op(A) [m, k] times op(B) [k, n], as a step makes it `count` times: of whole matrices, or of a head's columns of
/// wider ones, whose scores have rows of whole registers.
struct StepProduct {
  blas::Transpose a, b;
  std::size_t m, n, k, lda, ldb, ldc, count;
  bool of_short_head = false;  ///< which has a kernel of its own, kernels/attention.hpp

  /// E.g. "NT 768 x 64 x 32".
  std::string name() const;
  /// Who computes it in a step: "library", "kernel" or "head kernel".
  std::string computed_by() const;
  double floating_point_operations() const { return 2.0 * static_cast<double>(m * n * k); }
  std::size_t elements_of_a() const { return (a == blas::Transpose::no ? m : k) * lda; }
  std::size_t elements_of_b() const { return (b == blas::Transpose::no ? k : n) * ldb; }
};

/// N or T, as BLAS calls them.
char transpose_letter(blas::Transpose transpose);

/// Those of a step, each kind once.
std::vector<StepProduct> products_of(const BenchShape& shape);

/// The matrix products of one training step and nothing else: forward, and the two of backward, of every projection, of
/// attention head by head, and of the output. The BLAS library computes them all, while a step may use kernels::gemm
/// and so take less time. Inputs and results stay in the same few buffers, so they are as warm as they can be.
class LibraryProducts {
 public:
  explicit LibraryProducts(const BenchShape& shape);

  /// Computes all of them once.
  void run();

  double floating_point_operations() const { return operations_; }

 private:
  void run(const StepProducts::Projection& projection);
  void run(const StepProducts::Attention& attention);

  BenchShape shape_;
  StepProducts products_;
  double operations_ = 0;
  Tensor x_, dx_, y_, weight_, dweight_;     // of the largest projection
  Tensor q_, k_, v_, o_, dq_, scores_, dk_;  // of the longest attention
};

}  // namespace surd
