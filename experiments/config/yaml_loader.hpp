#pragma once

#include "experiments/config/yaml_node.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace surd {

/// Loads a file and the files it extends into one tree; a part of YamlDocument, which says how. Adds what is wrong to
/// `problems`, and throws ConfigError where there is nothing to read.
class YamlLoader {
 public:
  /// `copies` are read, one after the other, in place of the files that are extended; see YamlDocument::inside().
  YamlLoader(std::filesystem::path presets, std::vector<Problem>& problems,
             std::vector<std::filesystem::path> copies = {})
      : presets_(std::move(presets)), copies_(std::move(copies)), problems_(problems) {}

  YamlNode load(const std::filesystem::path& file);
  YamlNode parse(std::string_view text, const std::filesystem::path& file);
  /// A mapping that is written in `file`, over what its `extends` names.
  YamlNode extended(YamlNode mapping, const std::filesystem::path& file);

  /// The files that were extended so far, the nearest first.
  const std::vector<std::filesystem::path>& extended_files() const { return extended_files_; }

 private:
  Origin origin_of(const std::filesystem::path& file) const;
  [[noreturn]] void fail(const Origin& origin, std::string message);
  std::string contents(const std::filesystem::path& file);
  /// The file that `extends` names, or "" where there is none to be read.
  std::filesystem::path base_of(const YamlNode& extends, const std::filesystem::path& file);
  std::filesystem::path preset(const YamlNode& extends);
  /// The files of the presets, without their folder.
  std::vector<std::filesystem::path> presets() const;
  std::filesystem::path refused(const YamlNode& extends, std::string message);

  std::filesystem::path presets_;
  std::vector<std::filesystem::path> copies_, extended_files_;
  std::vector<Problem>& problems_;
  std::vector<std::filesystem::path> chain_;  // the files that led to the one being read
};

}  // namespace surd
