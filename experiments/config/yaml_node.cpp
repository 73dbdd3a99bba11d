#include "experiments/config/yaml_node.hpp"

#include <utility>

namespace surd {

const YamlNode* YamlNode::find(std::string_view name) const {
  if (kind != Kind::mapping) return nullptr;
  for (const YamlNode& child : children)
    if (child.key == name) return &child;
  return nullptr;
}

YamlNode* YamlNode::find(std::string_view name) {
  return const_cast<YamlNode*>(static_cast<const YamlNode&>(*this).find(name));
}

std::string YamlNode::described() const {
  switch (kind) {
    case Kind::null: return "nothing";
    case Kind::list: return "a list";
    case Kind::mapping: return "a mapping";
    case Kind::scalar: break;
  }
  return quoted ? fmt::format("the text \"{}\"", shown(text)) : fmt::format("'{}'", shown(text));
}

bool missing_space(const YamlNode& node) {
  return node.kind == YamlNode::Kind::scalar && !node.quoted && node.text.find(':') != std::string::npos;
}

YamlNode merged(YamlNode base, YamlNode layer) {
  if (base.kind != YamlNode::Kind::mapping || layer.kind != YamlNode::Kind::mapping) return layer;
  for (YamlNode& child : layer.children) {
    YamlNode* below = base.find(child.key);
    if (below != nullptr)
      *below = merged(std::move(*below), std::move(child));
    else
      base.children.push_back(std::move(child));
  }
  base.origin = layer.origin;
  base.key_origin = layer.key_origin;
  return base;
}

}  // namespace surd
