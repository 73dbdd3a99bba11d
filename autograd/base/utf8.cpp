#include "autograd/base/utf8.hpp"

#include <utf8.h>

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

}  // namespace surd
