#pragma once

#include "experiments/config/yaml_node.hpp"

#include <map>
#include <string>

namespace surd {

/// The single values of a config by their paths: "model.attention.scale" -> "inv_sqrt_dim".
using Settings = std::map<std::string, std::string>;
Settings settings_of(const YamlNode& root);

/// The settings in which two configs differ, a line each: "model.d_model: 64 -> 128"; "" where they are equal.
std::string difference(const Settings& before, const Settings& after);

}  // namespace surd
