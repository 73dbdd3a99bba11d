#include "autograd/base/utf8.hpp"

#include <utf8.h>

#include <cstdint>
#include <cstring>

namespace surd {

std::size_t utf8_length(std::string_view text) {
  auto end = text.begin();
  try {
    utf8::next(end, text.end());
  } catch (const utf8::exception&) {
    return 0;
  }
  return static_cast<std::size_t>(end - text.begin());
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  // Most text is ASCII, of which eight bytes are looked at at a time, and the last ones one by one.
  std::size_t ascii = 0;
  for (std::uint64_t bytes = 0; ascii + sizeof bytes <= text.size(); ascii += sizeof bytes) {
    std::memcpy(&bytes, text.data() + ascii, sizeof bytes);
    if ((bytes & 0x8080808080808080U) != 0) break;
  }
  while (ascii < text.size() && static_cast<unsigned char>(text[ascii]) < 0x80) ++ascii;
  const auto invalid = utf8::find_invalid(text.begin() + ascii, text.end());
  if (invalid == text.end()) return std::nullopt;
  return static_cast<std::size_t>(invalid - text.begin());
}

}  // namespace surd
