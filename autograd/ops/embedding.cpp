#include "autograd/kernels/elementwise.hpp"
#include "autograd/ops.hpp"

#include <algorithm>

namespace surd {
namespace {

using Ids = std::vector<std::int32_t>;

void check(const char* op, Variable weight, const Ids& ids, std::size_t count) {
  expect(weight.dimension() == 2, weight, op, "takes a weight [V, d]; got {}", weight.shape());
  expect(ids.size() == count, weight, op, "{} ids for {} places", ids.size(), count);
  const std::size_t vocabulary = weight.shape()[0];
  for (const std::int32_t id : ids)
    expect(id >= 0 && static_cast<std::size_t>(id) < vocabulary, weight, op, "id {} is not in [0, {})", id, vocabulary);
}

const Real* row(Variable weight, std::int32_t id) {
  return weight.value().data() + static_cast<std::size_t>(id) * row_length(weight.value());
}

/// dw[id] += factor dy of each place
void add_to_rows(const Tensor& dy, const Ids& ids, Real factor, Real* dw) {
  const std::size_t d = row_length(dy);
  for (std::size_t i = 0; i < ids.size(); ++i)
    kernels::axpy(factor, dy.data() + i * d, dw + static_cast<std::size_t>(ids[i]) * d, d);
}

void backward_to_rows(BackwardPass& pass, Variable weight, const Ids& ids, Real factor) {
  if (Real* dw = pass.cleared_slot(weight)) add_to_rows(pass.gradient(), ids, factor, dw);
}

/// The row of the table that is added to id number i of ids [B, length].
std::size_t row_of_table(const PositionRows& positions, std::size_t i, std::size_t length) {
  return positions.places.empty() ? positions.first + i % length : static_cast<std::size_t>(positions.places[i]);
}

/// Shows an observer the two parts of a sum y of tokens and positions, positions first, where there are any.
void observe_parts(const Tensor& y, Variable weight, const Ids& ids, Real factor, const PositionRows& positions) {
  const RaggedRows* const ragged = weight.tape().ragged_rows(y);
  const std::size_t length = y.shape()[1], d = row_length(y);
  if (positions.table && ragged != nullptr) {
    const Tensor& table = positions.table.value();  // up to the longest row here, which may not be the batch's
    Tensor rows = zeros({ragged->longest(), d});
    std::copy_n(table.data(), std::min(table.size(), rows.size()), rows.data());
    weight.tape().observe("positions", rows);
  } else if (positions.table) {
    Tensor rows(positions.places.empty() ? Shape{length, d} : y.shape());
    for (std::size_t i = 0; i < row_count(rows); ++i)
      std::copy_n(positions.table.value().data() + row_of_table(positions, i, length) * d, d, rows.data() + i * d);
    weight.tape().observe("positions", rows);
  }
  Tensor tokens = empty_like(y);
  for (std::size_t i = 0; i < ids.size(); ++i) kernels::scale(factor, row(weight, ids[i]), tokens.data() + i * d, d);
  weight.tape().observe("tokens", tokens);
}

/// Shows an observer what a weight's gradient gets from here.
void observe_weight_gradient(const BackwardPass& pass, Variable weight, const Ids& ids, Real factor) {
  Tensor dw = zeros(weight.shape());
  add_to_rows(pass.gradient(), ids, factor, dw.data());
  weight.tape().observe(weight, "gradient_from_lookups", dw);
}

}  // namespace

Variable embedding(Variable weight, const Ids& ids, const Shape& shape) {
  check("embedding", weight, ids, element_count(shape));
  const std::size_t d = row_length(weight.value());
  Shape result = shape;
  result.push_back(d);
  Tensor y(result);
  for (std::size_t i = 0; i < ids.size(); ++i) std::copy_n(row(weight, ids[i]), d, y.data() + i * d);
  return weight.tape().record("embedding", std::move(y), {weight},
                              [=](BackwardPass& pass) { backward_to_rows(pass, weight, ids, 1); });
}

// y[b, t] = factor s W[id] + P[r];  dW[id] += factor s dy[b, t],  ds = factor sum(W[id] dy[b, t]),  dP[r] += dy[b, t].
Variable embedding_with_positions(Variable weight, const Ids& ids, std::size_t batch_size, std::size_t length,
                                  Real factor, Variable learned_factor, const PositionRows& positions) {
  constexpr const char* op = "embedding_with_positions";
  check(op, weight, ids, batch_size * length);
  const std::size_t d = row_length(weight.value());
  const Variable table = positions.table;
  const Ids& places = positions.places;
  expect(places.empty() || places.size() == ids.size(), weight, op, "{} places for {} ids", places.size(), ids.size());
  if (table) {
    const auto past_last = places.empty()
                               ? positions.first + length
                               : static_cast<std::size_t>(*std::max_element(places.begin(), places.end())) + 1;
    expect(table.dimension() == 2 && table.shape()[1] == d && past_last <= table.shape()[0], weight, op,
           "takes positions [P, {}] with P at least {}; got {}", d, past_last, table.shape());
    expect(places.empty() || *std::min_element(places.begin(), places.end()) >= 0, weight, op,
           "takes no place below 0");
  }
  expect(!learned_factor || learned_factor.shape() == Shape{1}, weight, op, "takes a learned factor [1]; got {}",
         learned_factor ? learned_factor.shape() : Shape{});
  const Real both = learned_factor ? factor * learned_factor.value().data()[0] : factor;
  Tensor y(Shape{batch_size, length, d});
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Real* to = y.data() + i * d;
    kernels::scale(both, row(weight, ids[i]), to, d);
    if (table) kernels::accumulate(table.value().data() + row_of_table(positions, i, length) * d, to, d);
  }
  const bool observed = weight.tape().observed();
  if (observed) observe_parts(y, weight, ids, both, positions);
  return weight.tape().record(
      op, std::move(y), {weight, learned_factor, table}, [=, ids = ids, positions = positions](BackwardPass& pass) {
        backward_to_rows(pass, weight, ids, both);
        if (observed && pass.needs(weight)) observe_weight_gradient(pass, weight, ids, both);
        if (pass.needs(learned_factor)) {
          double sum = 0;
          for (std::size_t i = 0; i < ids.size(); ++i)
            sum += static_cast<double>(kernels::dot(row(weight, ids[i]), pass.gradient().data() + i * d, d));
          pass.accumulate(learned_factor, full({1}, factor * static_cast<Real>(sum)));
        }
        Real* dp = pass.cleared_slot(table);
        for (std::size_t i = 0; dp != nullptr && i < ids.size(); ++i)
          kernels::accumulate(pass.gradient().data() + i * d, dp + row_of_table(positions, i, length) * d, d);
      });
}

}  // namespace surd
