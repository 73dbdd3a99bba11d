#include "train/probe/probe.hpp"

#include <cmath>

namespace surd {

void Probe::clear() {
  update_ = std::make_unique<ProbedUpdate>();
  for (const ProbeQuantity& quantity : probe_quantities()) quantity(*update_);
}

Observer* Probe::watch(std::size_t index, const Batch& batch) {
  if (index == 0) clear();
  update_->batch(index, batch);
  return index == 0 ? this : nullptr;
}

void Probe::noise(const GradientNoise& noise) {
  if (!std::isfinite(noise.squared_norm) || !std::isfinite(noise.trace)) return;
  update_->record("model", "gradient", "squared_norm", noise.squared_norm);
  update_->record("model", "gradient", "noise_trace", noise.trace);
  if (noise.squared_norm > 0 && noise.trace > 0) update_->record("model", "gradient", "noise_scale", noise.scale());
}

}  // namespace surd
