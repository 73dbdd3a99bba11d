#pragma once

#include "experiments/config/yaml_node.hpp"

#include <string_view>
#include <vector>

namespace surd {

/// What a config may be at most. Ordinary ones stay far below; a file made to exhaust memory or stack does not.
struct YamlLimits {
  static constexpr std::size_t bytes = std::size_t{1} << 20;
  static constexpr std::size_t depth = 32;
  static constexpr std::size_t nodes = 10'000;
};

/// The one document in `text`, which comes from `source`; a text that is no file has no lines to speak of.
///
/// Stricter than YAML 1.2, so that a config means what it seems to mean and every value has one place: no anchors and
/// aliases (share settings with `extends`), no `<<`, no tags, no duplicate keys, no tabs in the indentation, no second
/// document, keys are plain names.
///
/// What is wrong is added to `problems` where the rest can still be read; otherwise ConfigError is thrown with all of
/// them.
YamlNode parse_yaml(std::string_view text, const Origin& source, std::vector<Problem>& problems,
                    bool with_lines = true);

/// The part of it that concerns any text: throws ConfigError, the problem added to `problems`, where `text` is too
/// large, not UTF-8, or holds control characters, or tabs where a line begins.
void check_text(std::string_view text, const Origin& source, std::vector<Problem>& problems, bool with_lines = true);

}  // namespace surd
