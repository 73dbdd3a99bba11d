#pragma once

#include "experiments/config/read_options.hpp"
#include "tests/experiments/config/small_options.hpp"

#include <string>
#include <vector>

namespace surd::test {

/// What reading a config "c.yaml" of this text says; "" where it is accepted.
inline std::string complaint(const std::string& text, const std::vector<std::string>& settings = {}) {
  try {
    YamlDocument document = YamlDocument::parse(text, "c.yaml");
    for (const std::string& setting : settings) document.set(setting);
    SmallOptions options;
    read_options(document, options);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

inline SmallOptions read(const std::string& text, const std::vector<std::string>& settings = {}) {
  YamlDocument document = YamlDocument::parse(text, "c.yaml");
  for (const std::string& setting : settings) document.set(setting);
  SmallOptions options;
  read_options(document, options);
  return options;
}

}  // namespace surd::test
