#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"

namespace surd {
namespace {

void expect_rows(const char* op, Variable x) { expect(x.dimension() >= 1, x, op, "takes [..., n]; got {}", x.shape()); }

void expect_vector(const char* op, const char* what, Variable x, Variable vector) {
  expect(vector.shape() == Shape{x.shape().back()}, x, op, "takes a {} [n] = [{}]; got {}", what, x.shape().back(),
         vector.shape());
}

const Real* data_of(Variable vector) { return vector ? vector.value().data() : nullptr; }

/// Where a kernel is to add a gradient; null if nobody needs it.
BackwardPass::Slot slot_or_none(BackwardPass& pass, Variable variable) {
  return pass.needs(variable) ? pass.slot(variable) : BackwardPass::Slot{nullptr, 0};
}

}  // namespace

// y = exp(x) / sum exp(x);  dx = y (dy - sum(y dy))
Variable softmax(Variable x, SubtractMax subtract_max) {
  expect_rows("softmax", x);
  const std::size_t rows = row_count(x.value()), n = row_length(x.value());
  Tensor y = empty_like(x.value());
  for (std::size_t r = 0; r < rows; ++r)
    kernels::softmax_row(x.value().data() + r * n, y.data() + r * n, n, subtract_max == SubtractMax::yes);
  return x.tape().record("softmax", std::move(y), {x}, [=](BackwardPass& pass) {
    Tensor dx = pass.take_gradient();
    for (std::size_t r = 0; r < rows; ++r)
      kernels::softmax_row_backward(pass.value().data() + r * n, dx.data() + r * n, dx.data() + r * n, n);
    pass.accumulate(x, std::move(dx));
  });
}

// y = x - log sum exp(x);  dx = dy - exp(y) sum(dy)
Variable log_softmax(Variable x) {
  expect_rows("log_softmax", x);
  const std::size_t rows = row_count(x.value()), n = row_length(x.value());
  Tensor y = empty_like(x.value());
  for (std::size_t r = 0; r < rows; ++r) kernels::log_softmax_row(x.value().data() + r * n, y.data() + r * n, n);
  return x.tape().record("log_softmax", std::move(y), {x}, [=](BackwardPass& pass) {
    Tensor dx = pass.take_gradient();
    for (std::size_t r = 0; r < rows; ++r)
      kernels::log_softmax_row_backward(pass.value().data() + r * n, dx.data() + r * n, dx.data() + r * n, n);
    pass.accumulate(x, std::move(dx));
  });
}

Variable layer_norm(Variable x, Variable gain, Variable bias, Real epsilon) {
  expect_rows("layer_norm", x);
  if (gain) expect_vector("layer_norm", "gain", x, gain);
  if (bias) expect_vector("layer_norm", "bias", x, bias);
  const std::size_t rows = row_count(x.value()), n = row_length(x.value());
  Tensor y = empty_like(x.value()), mean(Shape{rows}), inverse_deviation(Shape{rows});
  kernels::layer_norm(x.value().data(), data_of(gain), data_of(bias), epsilon, y.data(), mean.data(),
                      inverse_deviation.data(), rows, n);
  return x.tape().record(
      "layer_norm", std::move(y), {x, gain, bias},
      [=, mean = std::move(mean), inverse_deviation = std::move(inverse_deviation)](BackwardPass& pass) {
        Real* const dgain = pass.cleared_slot(gain);
        Real* const dbias = pass.cleared_slot(bias);
        const BackwardPass::Slot dx = slot_or_none(pass, x);
        kernels::layer_norm_backward(pass.gradient().data(), data_of(gain), x.value().data(), mean.data(),
                                     inverse_deviation.data(), dx.beta, dx.data, dgain, dbias, rows, n);
      });
}

Variable rms_norm(Variable x, Variable gain, Real epsilon) {
  expect_rows("rms_norm", x);
  if (gain) expect_vector("rms_norm", "gain", x, gain);
  const std::size_t rows = row_count(x.value()), n = row_length(x.value());
  Tensor y = empty_like(x.value()), inverse_rms(Shape{rows});
  kernels::rms_norm(x.value().data(), data_of(gain), epsilon, y.data(), inverse_rms.data(), rows, n);
  return x.tape().record("rms_norm", std::move(y), {x, gain},
                         [=, inverse_rms = std::move(inverse_rms)](BackwardPass& pass) {
                           Real* const dgain = pass.cleared_slot(gain);
                           const BackwardPass::Slot dx = slot_or_none(pass, x);
                           kernels::rms_norm_backward(pass.gradient().data(), data_of(gain), x.value().data(),
                                                      inverse_rms.data(), dx.beta, dx.data, dgain, rows, n);
                         });
}

}  // namespace surd
