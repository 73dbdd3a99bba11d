#include "experiments/config/settings.hpp"

#include <fmt/format.h>

#include <set>

namespace surd {
namespace {

void flatten(const YamlNode& node, const std::string& path, Settings& settings) {
  if (node.kind == YamlNode::Kind::scalar) settings[path] = node.text;
  if (node.kind == YamlNode::Kind::null) settings[path] = "null";
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const std::string name = node.kind == YamlNode::Kind::mapping ? node.children[i].key : std::to_string(i);
    flatten(node.children[i], path.empty() ? name : path + "." + name, settings);
  }
}

}  // namespace

Settings settings_of(const YamlNode& root) {
  Settings settings;
  flatten(root, "", settings);
  return settings;
}

std::string difference(const Settings& before, const Settings& after) {
  std::set<std::string> paths;
  for (const auto& [path, value] : before) paths.insert(path);
  for (const auto& [path, value] : after) paths.insert(path);
  const auto text = [](const Settings& settings, const std::string& path) {
    const auto found = settings.find(path);
    return found == settings.end() ? std::string("(not read)") : found->second;
  };
  std::string lines;
  for (const std::string& path : paths)
    if (text(before, path) != text(after, path))
      lines += fmt::format("\n  {}: {} -> {}", path, text(before, path), text(after, path));
  return lines;
}

}  // namespace surd
