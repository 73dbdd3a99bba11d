#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"

#include <cmath>

namespace surd {
namespace {

/// cos and sin of position t's angle i, [T, d_k / 2, 2].
Tensor rotations(std::size_t length, std::size_t width, std::size_t first_position, double base) {
  Tensor table(Shape{length, width / 2, 2});
  for (std::size_t t = 0; t < length; ++t) {
    for (std::size_t i = 0; i < width / 2; ++i) {
      const double frequency = std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(width));
      const double angle = static_cast<double>(first_position + t) * frequency;
      table(t, i, 0) = static_cast<Real>(std::cos(angle));
      table(t, i, 1) = static_cast<Real>(std::sin(angle));
    }
  }
  return table;
}

}  // namespace

// y = R x, R a rotation in the plane of each pair;  dx = R^T dy, the turn back
Variable rotary(Variable x, std::size_t heads, std::size_t first_position, double base) {
  constexpr const char* op = "rotary";
  expect(x.dimension() == 3, x, op, "takes x [B, T, H d_k]; got {}", x.shape());
  const std::size_t batch = x.shape()[0], length = x.shape()[1], row = x.shape()[2];
  expect(heads > 0 && row % heads == 0 && row / heads % 2 == 0, x, op, "{} heads do not divide x {} into an even width",
         heads, x.shape());
  expect(base > 1, x, op, "the base must be above 1; got {}", base);
  const std::size_t pairs = row / heads / 2;
  const RaggedRows* const rows = x.tape().ragged_rows(x.value());
  std::vector<std::int32_t> places = rows != nullptr ? rows->places() : std::vector<std::int32_t>();
  Tensor table = rotations(rows != nullptr ? rows->longest() : length, row / heads, first_position, base);
  const auto turn = [=](const Tensor& by, const std::vector<std::int32_t>& at, bool back, const Real* from, Real* to) {
    for (std::size_t i = 0; i < batch * length; ++i) {
      const std::size_t t = at.empty() ? i % length : static_cast<std::size_t>(at[i]);
      for (std::size_t h = 0; h < heads; ++h, from += 2 * pairs, to += 2 * pairs)
        kernels::rotate_pairs(from, by.data() + 2 * pairs * t, back, to, pairs);
    }
  };
  Tensor y = empty_like(x.value());
  turn(table, places, false, x.value().data(), y.data());
  return x.tape().record(op, std::move(y), {x},
                         [x, turn, table = std::move(table), places = std::move(places)](BackwardPass& pass) {
                           Tensor dx = pass.take_gradient();
                           turn(table, places, true, dx.data(), dx.data());
                           pass.accumulate(x, std::move(dx));
                         });
}

}  // namespace surd
