#pragma once

#include "autograd/base/error.hpp"

#include <functional>
#include <stdexcept>
#include <string>

namespace surd::test {

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// What stands between the first `before` and the next `after`. Throws where either is missing.
inline std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const auto found = text.find(before), from = found + before.size();
  const auto end = found == std::string::npos ? found : text.find(after, from);
  if (end == std::string::npos) throw std::runtime_error("nothing stands between '" + before + "' and '" + after + "'");
  return text.substr(from, end - from);
}

/// The message of the Error that f throws; "" where it throws none.
inline std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace surd::test
