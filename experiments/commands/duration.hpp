#pragma once

#include "autograd/base/fields.hpp"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace surd {

/// A length of time as people write it: 90s, 55m, 1.5h; 90 are seconds.
class Duration : public Word {
 public:
  std::optional<double> seconds;  ///< none where none was given

  std::string text() const override { return text_; }
  bool parse(std::string_view text) override {
    constexpr double minute = 60, hour = 3600;
    double number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec != std::errc() || read.ptr + 1 < end || !std::isfinite(number) || number <= 0) return false;
    const char unit = read.ptr == end ? 's' : *read.ptr;
    if (unit != 's' && unit != 'm' && unit != 'h') return false;
    seconds = number * (unit == 'h' ? hour : unit == 'm' ? minute : 1);
    text_ = text;
    return true;
  }
  std::vector<std::string> choices() const override { return {}; }
  std::string allowed() const override { return "a time like 90s, 55m or 1.5h"; }

 private:
  std::string text_;
};

}  // namespace surd
