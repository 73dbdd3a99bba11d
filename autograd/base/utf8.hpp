#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace surd {

/// Length of the UTF-8 sequence that `text` begins with, 0 where there is none. Strict: shortest forms only, no
/// surrogates, nothing above U+10FFFF.
std::size_t utf8_length(std::string_view text);

/// Byte offset at which the first ill-formed UTF-8 sequence starts, or nothing where the text is valid. Strict
/// (Unicode, table 3-7): overlong forms, surrogates and code points above U+10FFFF are ill-formed.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

}  // namespace surd
