#pragma once

#include "data/batch.hpp"
#include "layers/transformer.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace surd {

/// The noise of a gradient g of the mean loss over B pairs: E|g_B|^2 = |g|^2 + tr(Sigma) / B, where Sigma is the
/// covariance of the gradient of one pair. From two sizes of B follow unbiased estimates of both, which may be
/// negative; to average the noise scale over updates, average the two and divide. McCandlish et al., arXiv 1812.06162,
/// appendix A.
struct GradientNoise {
  double squared_norm;                                   ///< |g|^2
  double trace;                                          ///< tr(Sigma)
  double scale() const { return trace / squared_norm; }  ///< in pairs; of use where both are positive
};

/// From |g_B|^2 at a small and a large B. Throws Error unless small_size < large_size.
GradientNoise gradient_noise(double small_squares, double small_size, double large_squares, double large_size);

/// The rows of a batch whose gradient NoiseMeter measures beside that of all: an eighth, four at least, half where
/// there are fewer than eight; spread evenly, because a batch may be sorted by length.
std::vector<std::size_t> rows_for_noise(std::size_t batch_size);

/// Measures the noise of an update by one more pass, over some pairs of its first batch. With dropout they have other
/// masks than in the update.
class NoiseMeter {
 public:
  /// Both must outlive it. Takes the memory of the parameters once more.
  NoiseMeter(const Transformer& model, const ParameterSet& parameters);

  /// Announces the index-th batch of an update; index 0 begins a new one.
  void watch(std::size_t index, const Batch& batch);

  /// After the passes over those batches, whose gradients the parameters hold. Absent where they are one pair, or the
  /// loss is not finite. Where batches are packed, rows are counted in place of pairs. Changes nothing but the meter.
  std::optional<GradientNoise> measure(double label_smoothing, std::uint64_t seed, std::uint64_t step);

 private:
  const Transformer& model_;
  const ParameterSet& parameters_;
  std::vector<GradientSum> gradients_;
  Tape tape_;
  Batch small_;
  std::size_t pairs_ = 0;
};

}  // namespace surd
