#include "autograd/base/subnormals.hpp"
#include "autograd/blas.hpp"
#include "autograd/kernels/elementwise.hpp"
#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"

#include <algorithm>

namespace surd {
namespace {

using Targets = std::vector<std::int32_t>;

void check(const char* op, const Targets& targets, std::size_t rows, std::size_t vocabulary,
           const CrossEntropyArguments& arguments) {
  expect(targets.size() == rows, op, "{} targets for {} rows", targets.size(), rows);
  expect(arguments.smoothing >= 0 && arguments.smoothing < 1, op, "label smoothing must be in [0, 1); got {}",
         arguments.smoothing);
  expect(arguments.divisor > 0, op, "the divisor must be positive; got {}", arguments.divisor);
  expect(arguments.logit_cap >= 0, op, "a cap on logits must not be negative; got {}", arguments.logit_cap);
  for (const std::int32_t target : targets)
    expect(target == arguments.ignore || (target >= 0 && static_cast<std::size_t>(target) < vocabulary), op,
           "target {} is not in [0, {})", target, vocabulary);
}

Tensor first_rows(const Tensor& x, std::size_t count) {
  Tensor rows(Shape{count, row_length(x)});
  std::copy_n(x.data(), rows.size(), rows.data());
  return rows;
}

}  // namespace

// loss = 1/divisor sum over rows of -sum_v q_v log softmax(logits)_v;  dlogits = (softmax(logits) - q) / divisor
Variable cross_entropy(Variable logits, const Targets& targets, const CrossEntropyArguments& arguments) {
  expect(logits.dimension() >= 1, logits, "cross_entropy", "takes logits [..., V]; got {}", logits.shape());
  const std::size_t rows = row_count(logits.value()), n = row_length(logits.value());
  check("cross_entropy", targets, rows, n, arguments);
  const bool needed = logits.tape().needs_gradient({logits});
  Tensor dlogits(needed ? logits.shape() : Shape{0});
  double total = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    Real* gradient = needed ? dlogits.data() + r * n : nullptr;
    if (targets[r] == arguments.ignore) {
      if (needed) std::fill_n(gradient, n, Real(0));
      continue;
    }
    total += kernels::cross_entropy_row(logits.value().data() + r * n, gradient, n, targets[r], arguments.smoothing);
  }
  const Real divisor = arguments.divisor;
  return logits.tape().record("cross_entropy", full({1}, static_cast<Real>(total / divisor)), {logits},
                              [=, dlogits = std::move(dlogits)](BackwardPass& pass) mutable {
                                kernels::scale(pass.gradient().data()[0] / divisor, dlogits.data(), dlogits.data(),
                                               dlogits.size());
                                pass.accumulate(logits, std::move(dlogits));
                              });
}

// The loss is a sum over rows, so the gradient of a tile of logits G = softmax - q (times the derivative of a cap) is
// known as soon as the tile is:
// dx = factor G W / divisor, dW = factor G^T x / divisor and the sum over rows of G are made on the way, up to the
// loss's own cotangent (and, of db, the divisor).
Variable projection_cross_entropy(Variable x, Variable weight, Variable bias, Real factor, const Targets& targets,
                                  const CrossEntropyArguments& arguments) {
  constexpr const char* op = "projection_cross_entropy";
  using blas::no;
  using blas::yes;
  constexpr std::size_t tile_rows = logit_rows_at_once;
  expect(x.dimension() >= 1 && weight.dimension() == 2 && x.shape().back() == weight.shape()[1], x, op,
         "takes x [..., d] and weight [V, d]; got {} and {}", x.shape(), weight.shape());
  const std::size_t rows = row_count(x.value()), d = weight.shape()[1], n = weight.shape()[0];
  expect(!bias || bias.shape() == Shape{n}, x, op, "takes a bias [V] = [{}]; got {}", n, bias ? bias.shape() : Shape{});
  check(op, targets, rows, n, arguments);

  std::vector<std::size_t> kept;  // rows whose target counts
  for (std::size_t r = 0; r < rows; ++r)
    if (targets[r] != arguments.ignore) kept.push_back(r);

  const bool needs_x = x.tape().needs_gradient({x}), needs_weight = x.tape().needs_gradient({weight}),
             needs_bias = x.tape().needs_gradient({bias});
  Tensor dx(needs_x ? x.shape() : Shape{0}), dw(needs_weight ? weight.shape() : Shape{0}),
      db(needs_bias ? bias.shape() : Shape{0});
  for (Tensor* gradient : {&dx, &dw, &db}) std::fill_n(gradient->data(), gradient->size(), Real(0));
  const std::size_t tile = std::min(tile_rows, kept.size());
  const bool capped = arguments.logit_cap > 0, needed = needs_x || needs_weight || needs_bias;
  Tensor tile_x(Shape{tile, d}), logits(Shape{tile, n}), capped_logits(Shape{capped && needed ? tile : 0, n});
  double total = 0;
  for (std::size_t first = 0; first < kept.size(); first += tile) {
    const std::size_t count = std::min(tile, kept.size() - first);
    for (std::size_t i = 0; i < count; ++i)
      std::copy_n(x.value().data() + kept[first + i] * d, d, tile_x.data() + i * d);
    for (std::size_t i = 0; bias && i < count; ++i) std::copy_n(bias.value().data(), n, logits.data() + i * n);
    blas::gemm(no, yes, count, n, d, factor, tile_x.data(), weight.value().data(), bias ? 1 : 0, logits.data());
    if (capped) kernels::soft_cap(arguments.logit_cap, logits.data(), logits.data(), count * n);
    if (capped && needed) std::copy_n(logits.data(), count * n, capped_logits.data());
    if (x.tape().observed()) x.tape().observe("logits", first_rows(logits, count));
    for (std::size_t i = 0; i < count; ++i) {
      Real* row = logits.data() + i * n;
      total +=
          kernels::cross_entropy_row(row, needed ? row : nullptr, n, targets[kept[first + i]], arguments.smoothing);
    }
    const FlushSubnormals flush;  // what follows makes gradients
    if (capped && needed)
      kernels::soft_cap_backward(arguments.logit_cap, capped_logits.data(), logits.data(), logits.data(), count * n);
    for (std::size_t i = 0; needs_bias && i < count; ++i) kernels::accumulate(logits.data() + i * n, db.data(), n);
    const Real step = factor / arguments.divisor;
    if (needs_weight) blas::gemm(yes, no, n, d, count, step, logits.data(), tile_x.data(), 1, dw.data());
    if (needs_x) {
      blas::gemm(no, no, count, d, n, step, logits.data(), weight.value().data(), 0, tile_x.data());
      for (std::size_t i = 0; i < count; ++i) std::copy_n(tile_x.data() + i * d, d, dx.data() + kept[first + i] * d);
    }
  }
  return x.tape().record(op, full({1}, static_cast<Real>(total / arguments.divisor)), {x, weight, bias},
                         [=, dx = std::move(dx), dw = std::move(dw), db = std::move(db)](BackwardPass& pass) mutable {
                           const Real cotangent = pass.gradient().data()[0];
                           if (needs_x) {
                             kernels::scale(cotangent, dx.data(), dx.data(), dx.size());
                             pass.accumulate(x, std::move(dx));
                           }
                           if (needs_weight) {
                             kernels::scale(cotangent, dw.data(), dw.data(), dw.size());
                             x.tape().observe(weight, "gradient_from_logits", dw);
                             pass.accumulate(weight, std::move(dw));
                           }
                           if (needs_bias) {
                             kernels::scale(cotangent / arguments.divisor, db.data(), db.data(), db.size());
                             pass.accumulate(bias, std::move(db));
                           }
                         });
}

}  // namespace surd
