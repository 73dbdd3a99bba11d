#pragma once

#include "autograd/base/fields.hpp"
#include "experiments/config/yaml_node.hpp"

#include <optional>
#include <utility>

namespace surd {

/// A field whose value is kept as it was written, because no other kind of field describes it: a list of numbers, a
/// mapping of any keys. The code that lists the field has to read the node itself.
class RawYaml : public Word {
 public:
  explicit RawYaml(std::string allowed) : allowed_(std::move(allowed)) {}

  std::optional<YamlNode> node;  ///< nothing where it is not written

  std::string text() const override { return "''"; }
  bool parse(std::string_view) override { return false; }
  std::vector<std::string> choices() const override { return {}; }
  std::string allowed() const override { return allowed_; }

 private:
  std::string allowed_;
};

}  // namespace surd
