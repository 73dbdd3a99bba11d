#include "experiments/config/settings.hpp"

#include "autograd/base/registry.hpp"
#include "autograd/base/scoped.hpp"

#include <fmt/format.h>

#include <optional>
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

/// Makes the choices of a field list that settings name.
class Chooser : public Fields {
 public:
  explicit Chooser(const Settings& settings) : settings_(settings) {}
  void rule(bool, const char*, const std::string&) override {}

 private:
  void visit(const Field&, bool&) override {}
  void visit(const Field&, std::size_t&) override {}
  void visit(const Field&, double&) override {}
  void visit(const Field&, std::string&) override {}
  void visit(const Field&, std::optional<std::size_t>&) override {}
  void visit(const Field&, std::optional<double>&) override {}
  void visit(const Field&, Word&) override {}
  void visit(const Field&, std::vector<std::string>&) override {}
  void visit_group(const Field& field, const Members& members) override { inside(field, members); }
  void visit_choice(const Field& field, const char* selector, AnyChoice& choice) override {
    inside(field, [&](Fields&) {
      const auto named = settings_.find(prefix_ + selector);
      if (named != settings_.end() && named->second != choice.name()) choice.select(named->second);
      choice.fields(*this);
    });
  }
  void visit_list(const Field&, std::size_t, const std::function<void(std::size_t)>&,
                  const std::function<void(std::size_t, Fields&)>&) override {}

  /// A choice that spreads its fields over the group it stands in has no name.
  void inside(const Field& field, const Members& members) {
    const Scoped inner(prefix_, *field.name == '\0' ? prefix_ : prefix_ + field.name + ".");
    members(*this);
  }

  const Settings& settings_;
  std::string prefix_;
};

}  // namespace

Settings settings_of(const YamlNode& root) {
  Settings settings;
  flatten(root, "", settings);
  return settings;
}

std::string SettingChange::text() const {
  const auto shown_value = [](const std::string& value) { return value.empty() ? std::string("''") : value; };
  return fmt::format("{}: {} -> {}", path, shown_value(before), shown_value(after));
}

std::vector<SettingChange> setting_changes(const Settings& before, const Settings& after) {
  std::set<std::string> paths;
  for (const auto& [path, value] : before) paths.insert(path);
  for (const auto& [path, value] : after) paths.insert(path);
  const auto text = [](const Settings& settings, const std::string& path) {
    const auto found = settings.find(path);
    return found == settings.end() ? std::string("(not read)") : found->second;
  };
  std::vector<SettingChange> changes;
  for (const std::string& path : paths)
    if (text(before, path) != text(after, path)) changes.push_back({path, text(before, path), text(after, path)});
  return changes;
}

std::string difference(const Settings& before, const Settings& after) {
  std::string lines;
  for (const SettingChange& change : setting_changes(before, after)) lines += "\n  " + change.text();
  return lines;
}

void detail::choose(const Settings& settings, const std::function<void(Fields&)>& list) {
  Chooser chooser(settings);
  list(chooser);
}

}  // namespace surd
