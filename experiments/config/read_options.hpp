#pragma once

#include "autograd/base/fields.hpp"
#include "experiments/config/yaml_document.hpp"

#include <functional>
#include <utility>

/// Reads and writes options structs as YAML. This room knows field lists (autograd/base/fields.hpp) and YAML, and
/// nothing of models or studies; besides autograd/base it uses program/ alone. Start here: a text becomes a
/// YamlDocument, read_options() fills an options struct from it, write_yaml() goes the other way, and
/// describe_options() makes the reference of all keys.
namespace surd {

namespace detail {
void read_options(const YamlDocument& document, const std::function<void(Fields&)>& list);
}

/// Fills `options` from the document; what it does not mention keeps its value. The forms of the values are those of
/// read_scalar.hpp.
///
/// Throws ConfigError with every problem of the document, and leaves `options` alone, where a key is unknown or is not
/// read under these options, a value is of the wrong type, out of range or not allowed, or a rule is broken. One case
/// is let pass: a key that an extended file set, and that is no longer read because the extending file or --set chose
/// otherwise, is dropped with the choice it belonged to.
template <class Options>
void read_options(const YamlDocument& document, Options& options) {
  Options read = options;
  // In several passes: a condition or a rule may be computed before the fields it looks at are listed.
  detail::read_options(document, [&](Fields& f) { read.fields(f); });
  options = std::move(read);
}

}  // namespace surd
