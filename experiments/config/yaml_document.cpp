#include "experiments/config/yaml_document.hpp"

#include "experiments/config/yaml_loader.hpp"
#include "experiments/config/yaml_parser.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

namespace surd {
namespace {

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> keys(1);
  for (const char c : path) {
    if (c == '.')
      keys.emplace_back();
    else
      keys.back() += c;
  }
  return keys;
}

/// The node at a path such as "a.b[0].c" and true, or the nearest node above it that is written and false.
std::pair<const YamlNode*, bool> find(const YamlNode& root, std::string path) {
  for (std::size_t i = path.find('['); i != std::string::npos; i = path.find('[', i)) path[i] = '.';
  path.erase(std::remove(path.begin(), path.end(), ']'), path.end());
  const YamlNode* node = &root;
  for (const std::string& key : split_path(path)) {
    const YamlNode* child = node->find(key);
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (node->kind == YamlNode::Kind::list && error == std::errc() && index < node->children.size())
      child = &node->children[index];
    if (child == nullptr) return {node, false};
    node = child;
  }
  return {node, true};
}

YamlNode parse_value(std::string_view text, const Origin& origin, std::vector<Problem>& problems) {
  YamlNode node;
  if (!text.empty() && std::string_view("[{\"'").find(text[0]) != std::string_view::npos) {
    node = parse_yaml(text, origin, problems, false);
  } else if (!text.empty() && text != "null" && text != "~") {
    check_text(text, origin, problems, false);
    node.kind = YamlNode::Kind::scalar;
    node.text = text;
  }
  node.origin = origin;
  return node;
}

}  // namespace

YamlDocument YamlDocument::load(const std::filesystem::path& file, const std::filesystem::path& presets) {
  YamlDocument document;
  YamlLoader loader(presets, document.problems_);
  document.root_ = loader.load(file);
  document.extended_files_ = loader.extended_files();
  return document;
}

YamlDocument YamlDocument::parse(std::string_view text, const std::filesystem::path& name,
                                 const std::filesystem::path& presets) {
  YamlDocument document;
  YamlLoader loader(presets, document.problems_);
  document.root_ = loader.parse(text, name);
  document.extended_files_ = loader.extended_files();
  return document;
}

YamlDocument YamlDocument::inside(YamlNode mapping, const std::filesystem::path& file,
                                  const std::filesystem::path& presets,
                                  const std::vector<std::filesystem::path>& copies) {
  YamlDocument document;
  YamlLoader loader(presets, document.problems_, copies);
  document.root_ = loader.extended(std::move(mapping), file);
  document.extended_files_ = loader.extended_files();
  return document;
}

void YamlDocument::set(std::string_view assignment) {
  const Origin origin{fmt::format("--set {}", shown(assignment)), 0, 0, ++assignments_};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos)
    problems_.push_back({origin, "", "must be PATH=VALUE, for example --set model.d_model=64"});
  else
    assign(assignment.substr(0, equals), assignment.substr(equals + 1), origin);
}

void YamlDocument::set(const std::string& path, const std::string& value, Origin origin) {
  origin.layer = ++assignments_;
  assign(path, value, origin);
}

void YamlDocument::assign(std::string_view path, std::string_view value, const Origin& origin) {
  const std::vector<std::string> keys = split_path(path);
  if (std::count(keys.begin(), keys.end(), "") > 0) {
    problems_.push_back({origin, "", "must be PATH=VALUE, for example --set model.d_model=64"});
  } else if (path.find('[') != std::string_view::npos) {
    problems_.push_back(
        {origin, "",
         "has an element of a list in brackets; write its number behind a '.' (optimizer.groups.0.match) where the "
         "file has it, or else the whole list: --set 'optimizer.groups=[{match: \"*.bias\", weight_decay: 0}]'"});
  } else if (keys.size() > YamlLimits::depth) {
    problems_.push_back(
        {origin, "", fmt::format("has more than {} levels, which no config has; shorten the path", YamlLimits::depth)});
  } else if (path == "extends") {
    problems_.push_back({origin, "", "can only stand in the file"});
  } else {
    try {
      put(path, parse_value(value, origin, problems_), origin);
    } catch (const ConfigError&) {  // its problems are kept already
    }
  }
}

Problem YamlDocument::locate(const OptionError& error) const {
  std::istringstream words(error.path() + ' ' + error.rule());
  for (std::string word; words >> word;) {
    word.erase(word.find_last_not_of(",;:.") + 1);
    const auto [node, whole] = find(root_, word);
    if (whole && node != &root_) return {node->origin, error.path(), error.rule()};
  }
  const YamlNode* above = find(root_, error.path()).first;
  Origin origin = above->key_origin;
  if (above == &root_) origin = {root_.origin.source, 0, 0, root_.origin.layer};
  return {origin, error.path(), error.rule()};
}

void YamlDocument::put(std::string_view path, YamlNode value, const Origin& origin) {
  YamlNode* node = &root_;
  std::string above;
  for (const std::string& key : split_path(path)) {
    YamlNode* child = nullptr;
    if (node->kind == YamlNode::Kind::list) {
      std::size_t index = node->children.size();
      std::from_chars(key.data(), key.data() + key.size(), index);
      if (index >= node->children.size() || key != std::to_string(index)) {
        problems_.push_back({origin, "",
                             fmt::format("'{}' is a list of {}, numbered from 0; name one of its elements or "
                                         "write the whole list",
                                         above, node->children.size())});
        return;
      }
      child = &node->children[index];
    } else if (node->kind == YamlNode::Kind::scalar) {
      problems_.push_back({origin, "",
                           fmt::format("'{}' is no mapping, it is {} in {}; set it without what follows its name",
                                       above, node->described(), node->origin.source)});
      return;
    } else {
      node->kind = YamlNode::Kind::mapping;
      child = node->find(key);
      if (child == nullptr) {
        child = &node->children.emplace_back();
        child->key = key;
        child->origin = child->key_origin = origin;
      }
    }
    node = child;
    above += (above.empty() ? "" : ".") + key;
  }
  value.key = node->key;
  value.key_origin = origin;
  *node = merged(std::move(*node), std::move(value));
}

}  // namespace surd
