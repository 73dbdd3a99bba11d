#pragma once

#include "experiments/config/yaml_node.hpp"

#include <string_view>
#include <vector>

namespace surd {

/// The largest config that is read. Ordinary ones stay far below; a file made to exhaust memory or stack does not.
struct YamlLimits {
  static constexpr std::size_t bytes = std::size_t{1} << 20;
  static constexpr std::size_t depth = 32;
  static constexpr std::size_t nodes = 10'000;
};

/// Parses the one document in `text`, which comes from `source`. Without `with_lines`, which is for a text that is not
/// a file, problems are reported without line and column.
///
/// Stricter than YAML 1.2, so that a config means what it seems to mean and every value has one place: no anchors and
/// aliases (share settings with `extends`), no `<<`, no tags, no duplicate keys, no tabs in the indentation, no second
/// document, keys are plain names.
///
/// What is wrong is added to `problems` where the rest can still be read; otherwise ConfigError is thrown with all of
/// them.
YamlNode parse_yaml(std::string_view text, const Origin& source, std::vector<Problem>& problems,
                    bool with_lines = true);

/// Makes the checks of parse_yaml() that concern any text: adds the problem to `problems` and throws ConfigError where
/// `text` is too large, not UTF-8, or holds control characters, or tabs where a line begins.
void check_text(std::string_view text, const Origin& source, std::vector<Problem>& problems, bool with_lines = true);

}  // namespace surd
