#pragma once

namespace surd {

/// Multiplications and additions a second, in 1e9, of one core that has nothing to load or to store.
double peak_gflops();

}  // namespace surd
