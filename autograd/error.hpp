#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace surd {

/// What every function of this library throws when a caller broke a rule. The message names the op or layer, the rule
/// and the actual values, e.g. "matmul: inner axes must agree; got [2, 3] x [4, 5]".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Error "`where`: formatted rule" unless `holds`. The message is only formatted when the rule is broken.
template <class... Args>
void expect(bool holds, std::string_view where, fmt::format_string<Args...> rule, Args&&... args) {
  if (!holds) throw Error(fmt::format("{}: {}", where, fmt::format(rule, std::forward<Args>(args)...)));
}

}  // namespace surd
