#pragma once

#include "autograd/base/error.hpp"

namespace surd {

/// Thrown where the arguments of a command ask for something impossible, before anything is done; the program ends with
/// exit_usage. What is wrong in a config file itself is a ConfigError.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Like expect(), but throws UsageError.
template <class... Args>
void expect_usage(bool holds, std::string_view where, fmt::format_string<Args...> rule, Args&&... args) {
  if (!holds) throw UsageError(fmt::format("{}: {}", where, fmt::format(rule, std::forward<Args>(args)...)));
}

/// Returns f(). An Error that it throws becomes a UsageError, because the arguments are what caused it.
template <class F>
auto as_usage(F f) {
  try {
    return f();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

}  // namespace surd
