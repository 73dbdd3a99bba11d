#include "train/probe/probed_update.hpp"

#include "train/probe/statistics.hpp"

#include <cmath>

namespace surd {
namespace {

template <class F, class... Arguments>
void call_all(const std::vector<F>& functions, const Arguments&... arguments) {
  for (const F& f : functions) f(arguments...);
}

}  // namespace

PositionFilter ProbedUpdate::positions(const Event& event) const {
  const auto& lengths = event.side == ModelSide::source   ? source_lengths_
                        : event.side == ModelSide::joined ? joined_lengths_
                                                          : target_lengths_;
  if (event.side == ModelSide::none || event.rows != nullptr || lengths.size() < event.tensor.shape()[0])
    return [](std::size_t, std::size_t) { return true; };
  return [&lengths](std::size_t b, std::size_t t) { return t < lengths[b]; };
}

PositionFilter ProbedUpdate::begins(const Event& event) const {
  if (event.rows != nullptr)
    return [places = event.rows->places()](std::size_t, std::size_t t) { return places[t] == 0; };
  if (places_.empty() || event.side == ModelSide::source) return [](std::size_t, std::size_t t) { return t == 0; };
  const std::size_t length = event.tensor.shape()[1];
  return [this, length](std::size_t b, std::size_t t) { return places_[b * length + t] == 0; };
}

double ProbedUpdate::rms_of_positions(const Event& event) const {
  const Tensor& x = event.tensor;
  if (x.dimension() != 3) return rms(x);
  const PositionFilter counts = positions(event);
  const std::size_t length = x.shape()[1], d = row_length(x);
  double total = 0, count = 0;
  for (std::size_t place = 0; place < row_count(x); ++place) {
    if (!counts(place / length, place % length)) continue;
    total += squares(x.data() + place * d, d);
    count += static_cast<double>(d);
  }
  return count == 0 ? 0 : std::sqrt(total / count);
}

void ProbedUpdate::see(const Event& event) const {
  if (event.kind == Event::Kind::leaf) return;
  if (event.kind == Event::Kind::gradient) return call_all(gradients_, event);
  if (event.tensor.size() == 0) return;
  const auto asked = event.kind == Event::Kind::quantity ? named_.find(event.what) : named_.end();
  call_all(asked == named_.end() ? values_ : asked->second, event);
}

void ProbedUpdate::batch(std::size_t index, const Batch& batch) {
  if (index == 0) {
    source_lengths_ = batch.source_lengths;
    target_lengths_ = batch.target_lengths;
    joined_lengths_ = batch.source_lengths;
    for (std::size_t b = 0; b < batch.size; ++b) joined_lengths_[b] += batch.target_lengths[b];
    places_ = batch.target_places;
  }
  call_all(batches_, index, batch);
}

void ProbedUpdate::passed(const ParameterSet& parameters) const { call_all(before_step_, parameters); }

void ProbedUpdate::stepped(const ParameterSet& parameters) const { call_all(after_step_, parameters); }

}  // namespace surd
