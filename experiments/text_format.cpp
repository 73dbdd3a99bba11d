#include "experiments/text_format.hpp"

#include <fmt/format.h>

#include <cmath>

namespace surd {

std::string with_commas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string clock_time(double seconds) {
  const auto total = static_cast<std::uint64_t>(std::llround(std::max(0.0, seconds)));
  if (total >= 3600) return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

}  // namespace surd
