#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace surd {

/// What a result depends on besides its config: ("blas", "OpenBLAS 0.3.21 ..."), ("cpu", ...), in a fixed order.
std::vector<std::pair<std::string, std::string>> system_info();

/// Which of these decide how the sums of a run are rounded.
inline constexpr const char* facts_of_rounding[] = {"simd_width", "blas_core", "products", "program"};

/// Largest resident size of this process so far, in bytes.
std::size_t peak_memory_bytes();

}  // namespace surd
