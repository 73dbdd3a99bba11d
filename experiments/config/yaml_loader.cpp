#include "experiments/config/yaml_loader.hpp"

#include "autograd/base/fields.hpp"
#include "experiments/config/yaml_parser.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace surd {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_chain = 16;

bool is_yaml(const fs::path& file) { return file.extension() == ".yaml" || file.extension() == ".yml"; }

std::vector<std::string> yaml_files(const fs::path& folder) {
  constexpr std::size_t most = 1000;
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator i(folder.empty() ? "." : folder, error), end; !error && i != end; i.increment(error))
    if (is_yaml(i->path()) && names.size() < most) names.push_back(i->path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

/// The end of a message about a file that is not there: a file with a similar name, if there is one.
std::string similar_file(const fs::path& file) {
  std::vector<std::string> others = yaml_files(file.parent_path());
  others.erase(std::remove(others.begin(), others.end(), file.filename().string()), others.end());  // a dangling link
  const std::string guess = did_you_mean(file.filename().string(), others);
  return guess.empty() ? "; name a YAML file that is there" : guess;
}

}  // namespace

Origin YamlLoader::origin_of(const fs::path& file) const {
  return {file.string(), 0, 0, -static_cast<int>(chain_.size())};
}

void YamlLoader::fail(const Origin& origin, std::string message) {
  problems_.push_back({origin, "", std::move(message)});
  throw ConfigError(problems_);
}

std::string YamlLoader::contents(const fs::path& file) {
  const Origin origin = origin_of(file);
  std::error_code error;
  if (fs::is_directory(file, error)) fail(origin, "is a folder; name a YAML file");
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::string text(YamlLimits::bytes + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in && !in.eof()) {
    const int code = errno;
    fail(origin, fmt::format("cannot be read: {}{}", std::generic_category().message(code),
                             code == ENOENT ? similar_file(file) : ""));
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

YamlNode YamlLoader::load(const fs::path& file) { return parse(contents(file), file); }

YamlNode YamlLoader::parse(std::string_view text, const fs::path& file) {
  YamlNode root = parse_yaml(text, origin_of(file), problems_);
  if (root.kind == YamlNode::Kind::null)
    fail(origin_of(file), "is empty; a config is a mapping, a 'key: value' a line");
  if (root.kind != YamlNode::Kind::mapping)
    fail(root.origin, fmt::format("must be a mapping, a 'key: value' a line; got {}{}", root.described(),
                                  missing_space(root) ? " (put a space after the ':')" : ""));
  return extended(std::move(root), file);
}

YamlNode YamlLoader::extended(YamlNode root, const fs::path& file) {
  const auto extends = std::find_if(root.children.begin(), root.children.end(),
                                    [](const YamlNode& child) { return child.key == "extends"; });
  if (extends == root.children.end()) return root;
  const fs::path base =
      extended_files_.size() < copies_.size() ? copies_[extended_files_.size()] : base_of(*extends, file);
  root.children.erase(extends);
  if (base.empty()) return root;
  extended_files_.push_back(base);
  chain_.push_back(file);
  root = merged(load(base), std::move(root));
  chain_.pop_back();
  return root;
}

fs::path YamlLoader::base_of(const YamlNode& extends, const fs::path& file) {
  if (extends.kind != YamlNode::Kind::scalar || extends.text.empty())
    return refused(extends, fmt::format("must be the name of a preset or a file; got {}", extends.described()));
  const fs::path name = extends.text;
  fs::path base =
      is_yaml(name) || name.has_parent_path() ? (file.parent_path() / name).lexically_normal() : preset(extends);
  std::error_code error;
  if (base.empty()) return base;
  if (chain_.size() >= longest_chain)
    return refused(extends, fmt::format("more than {} files extend each other; write out some", longest_chain));
  if (!fs::is_regular_file(base, error)) {
    const auto known = presets();
    const bool preset = std::count(known.begin(), known.end(), name) > 0;
    return refused(extends, fmt::format("there is no file '{}'{}", shown(base.string()),
                                        preset ? fmt::format("; the preset is named '{}', without .yaml",
                                                             shown(name.stem().string()))
                                               : similar_file(base)));
  }
  if (::access(base.c_str(), R_OK) != 0)
    return refused(
        extends, fmt::format("'{}' cannot be read: {}", shown(base.string()), std::generic_category().message(errno)));
  std::string chain;
  bool cycle = fs::equivalent(base, file, error);
  for (const fs::path& above : chain_) {
    cycle = cycle || fs::equivalent(base, above, error);
    if (cycle) chain += shown(above.string()) + " -> ";
  }
  if (cycle)
    return refused(extends, fmt::format("files extend each other in a circle: {}{} -> {}; remove one 'extends'", chain,
                                        shown(file.string()), shown(base.string())));
  return base;
}

std::vector<fs::path> YamlLoader::presets() const {
  if (presets_.empty()) return {};
  const auto files = yaml_files(presets_);
  return {files.begin(), files.end()};
}

fs::path YamlLoader::preset(const YamlNode& extends) {
  std::vector<std::string> names;
  for (const fs::path& file : presets()) {
    if (file.stem() == extends.text) return presets_ / file;
    names.push_back(file.stem());
  }
  std::string hint = did_you_mean(extends.text, names);
  if (hint.empty())
    hint = names.empty() ? "; there are no presets here" : fmt::format("; there are {}", fmt::join(names, ", "));
  return refused(
      extends, fmt::format("there is no preset '{}'{} (the name of a file ends in .yaml)", shown(extends.text), hint));
}

fs::path YamlLoader::refused(const YamlNode& extends, std::string message) {
  problems_.push_back({extends.origin, "extends", std::move(message)});
  return {};
}

}  // namespace surd
