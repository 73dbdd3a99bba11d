#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace surd {

/// 1234567 -> "1,234,567".
std::string with_commas(std::uint64_t number);

/// 75 -> "1:15", 3700 -> "1:01:40".
std::string clock_time(double seconds);

}  // namespace surd
