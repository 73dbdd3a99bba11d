#pragma once

#include "autograd/base/fields.hpp"

#include <functional>
#include <string>

namespace surd {

enum class WithHelp { no, yes };  ///< whether each field's help stands above it as a comment

namespace detail {
std::string write_yaml(const std::function<void(Fields&)>& list, WithHelp help);
}

/// The options as a YAML document with every field that is read under them, defaults included. read_options() gets the
/// same values back from it, numbers to the last bit. Throws Error for a number that is not finite.
template <class Options>
std::string write_yaml(Options options, WithHelp help = WithHelp::no) {
  return detail::write_yaml([&](Fields& f) { options.fields(f); }, help);
}

}  // namespace surd
