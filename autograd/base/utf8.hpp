#pragma once

#include <cstddef>
#include <string_view>

namespace surd {

/// Length of the UTF-8 sequence that `text` begins with, 0 where there is none. Strict: shortest forms only, no
/// surrogates, nothing above U+10FFFF.
std::size_t utf8_length(std::string_view text);

}  // namespace surd
