#pragma once

namespace surd {

/// Multiplications and additions a second, in 1e9, of one core that has nothing to load or to store: the fastest of
/// what `seconds` have time for.
double peak_gflops(double seconds);

}  // namespace surd
