#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace surd {

/// What every function of this library throws when a caller broke a rule. The message names the op or layer, the rule
/// and the actual values, e.g. "matmul: takes [m, k] and [k, n]; got [2, 3] and [4, 5]".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An option that its range allows, but not the other options or the data. `path` is its key in a config, such as
/// "model.attention.key_value_heads", by which a program that reads configs finds the line to report.
class OptionError : public Error {
 public:
  OptionError(std::string path, std::string rule)
      : Error(fmt::format("{}: {}", path, rule)), path_(std::move(path)), rule_(std::move(rule)) {}
  const std::string& path() const { return path_; }
  const std::string& rule() const { return rule_; }

 private:
  std::string path_, rule_;
};

/// Throws OptionError unless `holds`. The rule says what is allowed, the actual value, and a way out.
template <class... Args>
void expect_option(bool holds, std::string_view path, fmt::format_string<Args...> rule, Args&&... args) {
  if (!holds) throw OptionError(std::string(path), fmt::format(rule, std::forward<Args>(args)...));
}

/// Throws Error "`where`: formatted rule".
template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void throw_error(std::string_view where, fmt::format_string<Args...> rule,
                                                        Args&&... args) {
  throw Error(fmt::format("{}: {}", where, fmt::format(rule, std::forward<Args>(args)...)));
}

/// Throws Error "`where`: formatted rule" unless `holds`. The message is only formatted when the rule is broken, and
/// a rule that holds costs no call: some are checked whenever a variable is asked for its value.
template <class... Args>
[[gnu::always_inline]] inline void expect(bool holds, std::string_view where, fmt::format_string<Args...> rule,
                                          Args&&... args) {
  if (!holds) throw_error(where, rule, std::forward<Args>(args)...);
}

}  // namespace surd
