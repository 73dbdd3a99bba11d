#pragma once

namespace surd {

/// Multiplications and additions a second, in 1e9, of one core that has nothing to load or to store: the fastest of
/// the rounds that fit into `seconds`.
double peak_gflops(double seconds);

}  // namespace surd
