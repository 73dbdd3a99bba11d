#pragma once

#include "experiments/config/yaml_node.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace surd {

/// A config as it was written: a file over the files it extends, and `--set` over all of them. Every value knows where
/// it comes from.
///
/// A file names what it builds upon by a key at its top, `extends: NAME`: a file, relative to the one that says so,
/// where NAME has a '/' or ends in .yaml or .yml; otherwise the preset NAME. Mappings are merged key by key; lists and
/// single values are replaced.
///
/// A document may have problems although it could be read; read_options() throws them together with those it finds.
class YamlDocument {
 public:
  /// `presets` is the folder of the presets; "" = there are none. Throws ConfigError where a file cannot be read or is
  /// not a mapping in the YAML that parse_yaml() takes.
  static YamlDocument load(const std::filesystem::path& file, const std::filesystem::path& presets = {});
  /// The same for a text; `name` stands in messages for the file's, and relative paths are relative to it.
  static YamlDocument parse(std::string_view text, const std::filesystem::path& name,
                            const std::filesystem::path& presets = {});

  /// A config that stands as a mapping inside another document, which was read from `file`. `copies` are read, one
  /// after the other, in place of the files that it extends; where there are none, those files themselves are.
  static YamlDocument inside(YamlNode mapping, const std::filesystem::path& file,
                             const std::filesystem::path& presets = {},
                             const std::vector<std::filesystem::path>& copies = {});

  /// Takes an assignment "a.b.c=value" from the command line; keys that are missing are made, elements of a list are
  /// numbered from 0. A value that begins with a quote, '[' or '{' is read as YAML; any other is taken as it stands, so
  /// that nothing in it (a '#', a ': ', a '*') has a meaning of its own. Problems are kept.
  void set(std::string_view assignment);
  /// The same for an assignment that is written at `origin`. The layer of `origin` is ignored: the value overrides all
  /// that was set before.
  void set(const std::string& path, const std::string& value, Origin origin);

  /// The problem at the place where to mend it: at the option's key, else at the first key its rule names, else at the
  /// nearest written key above it.
  Problem locate(const OptionError& error) const;

  const YamlNode& root() const { return root_; }  ///< a mapping
  const std::vector<Problem>& problems() const { return problems_; }
  /// The files it builds upon, the nearest first.
  const std::vector<std::filesystem::path>& extended_files() const { return extended_files_; }

 private:
  YamlDocument() = default;
  void assign(std::string_view path, std::string_view value, const Origin& origin);
  void put(std::string_view path, YamlNode value, const Origin& origin);

  YamlNode root_;
  std::vector<Problem> problems_;
  std::vector<std::filesystem::path> extended_files_;
  int assignments_ = 0;
};

}  // namespace surd
