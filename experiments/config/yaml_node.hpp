#pragma once

#include "experiments/config/config_error.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace surd {

/// A value of a YAML document, with the place it was written at.
struct YamlNode {
  enum class Kind { null, scalar, list, mapping };

  Kind kind = Kind::null;
  std::string text;                ///< of a scalar
  bool quoted = false;             ///< a scalar in quotes or a block (|, >): text, whatever it looks like
  std::vector<YamlNode> children;  ///< of a list, or of a mapping in the order written
  Origin origin;
  std::string key;    ///< of a value in a mapping: its name there
  Origin key_origin;  ///< where that name is written

  /// The value of a mapping's key, or null.
  const YamlNode* find(std::string_view name) const;
  YamlNode* find(std::string_view name);

  /// How a message names the value: "'abc'", "the text \"64\"", "nothing", "a list", "a mapping".
  std::string described() const;
};

/// Whether a scalar looks like keys whose ':' lacks the space after it, which makes it one text: "heads:4".
bool missing_space(const YamlNode& node);

/// `base` with `layer` over it: mappings are merged key by key, anything else is replaced.
YamlNode merged(YamlNode base, YamlNode layer);

}  // namespace surd
