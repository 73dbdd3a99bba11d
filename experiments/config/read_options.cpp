#include "experiments/config/read_options.hpp"

#include "autograd/base/registry.hpp"
#include "autograd/base/scoped.hpp"
#include "experiments/config/key_names.hpp"
#include "experiments/config/raw_yaml.hpp"
#include "experiments/config/read_scalar.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace surd {
namespace {

using Names = std::vector<std::string>;

std::string quoted_list(const Names& names) { return fmt::format("'{}'", fmt::join(names, "', '")); }

class Reader : public Fields {
 public:
  /// `places`: the paths of all keys by their last name, to say where a misplaced one belongs.
  Reader(const YamlDocument& document, std::multimap<std::string, std::string> places)
      : document_(document), places_(std::move(places)) {}

  void read(const Members& list) {
    Origin origin = document_.root().origin;
    origin.line = origin.column = 0;
    read_mapping(&document_.root(), "", origin, list);
  }
  const std::vector<Problem>& problems() const { return problems_; }
  std::multimap<std::string, std::string> places() const { return found_; }

  void rule(bool holds, const char* field, const std::string& message) override {
    if (holds || unreadable(field, message)) return;
    const YamlNode* node = level_->find(field);
    const YamlNode* at = node;
    for (const Value& value : level_->values)  // if the field is not written, blame one the rule names
      if (at == nullptr && value.node != nullptr && mentions(message, value.name)) at = value.node;
    std::string told = message;
    for (const Value& value : level_->values)
      if (value.name == field && !value.text.empty()) told = with_value(message, shown(value.text) + by_default(value));
    problems_.push_back({at != nullptr ? at->origin : level_->origin, path_of(field), std::move(told)});
  }

 private:
  struct Value {
    std::string name;
    std::string text;
    const YamlNode* node;  // null where it is the default
  };
  /// A choice that was made and the keys that each of its names reads, to explain a key of another name.
  struct Others {
    std::string label;     // "schedule 'constant'"
    std::string selector;  // "schedule.name"
    int layer;             // the layer that chose the name; see Origin
    std::map<std::string, Names> names_with;
  };
  /// A mapping while it is read. Absent ones are visited too, because their rules may be broken by the defaults.
  struct Level {
    const YamlNode* node;
    std::string path;
    Origin origin;
    Names known = {};       // keys listed so far
    Names unreadable = {};  // those whose value was refused
    std::vector<Value> values = {};
    std::vector<Others> others = {};

    const YamlNode* find(std::string_view key) const { return node == nullptr ? nullptr : node->find(key); }
  };

  static std::string by_default(const Value& value) { return value.node == nullptr ? " by default" : ""; }
  std::string path_of(std::string_view key) const {
    return level_->path.empty() ? std::string(key) : fmt::format("{}.{}", level_->path, key);
  }
  /// Whether a rule or condition is about a value that could not be read. It was then computed from the default
  /// instead, and reporting it would mislead.
  bool unreadable(std::string_view field, const std::string& text) const {
    return std::any_of(level_->unreadable.begin(), level_->unreadable.end(),
                       [&](const std::string& name) { return name == field || mentions(text, name); });
  }
  void refuse(const YamlNode& node, std::string_view key, std::string message) {
    problems_.push_back({node.origin, path_of(key), std::move(message)});
    level_->unreadable.emplace_back(key);
  }

  /// The value of a field; null where it is absent, or is not read (which is then a problem).
  const YamlNode* find(const Field& field) {
    expect(std::find(level_->known.begin(), level_->known.end(), field.name) == level_->known.end(),
           path_of(field.name), "two fields have this name; rename one in the field list");
    level_->known.emplace_back(field.name);
    found_.emplace(field.name, path_of(field.name));
    const YamlNode* node = level_->find(field.name);
    if (node == nullptr || field.read) return node;
    for (const YamlNode& sibling : level_->node->children)
      if (sibling.origin.layer > node->origin.layer && mentions(field.condition, sibling.key)) return nullptr;
    if (unreadable(field.name, field.condition)) return nullptr;
    std::string now;
    for (const Value& value : level_->values)
      if (mentions(field.condition, value.name))
        now += fmt::format("{}{} is {}{}", now.empty() ? " (" : ", ", value.name, shown(value.text), by_default(value));
    problems_.push_back({node->key_origin, path_of(field.name),
                         fmt::format("is not read here: it is read only when {}{}; change that or remove this key",
                                     field.condition, now.empty() ? "" : now + ")")});
    return nullptr;
  }

  template <class T>
  void single(const Field& field, T& value) {
    const YamlNode* node = find(field);
    if (node != nullptr) {
      if (const Complaint complaint = read_scalar(*node, field.range, value)) refuse(*node, field.name, *complaint);
    }
    level_->values.push_back({field.name, scalar_text(value), node});
  }
  void visit(const Field& field, bool& value) override { single(field, value); }
  void visit(const Field& field, std::size_t& value) override { single(field, value); }
  void visit(const Field& field, double& value) override { single(field, value); }
  void visit(const Field& field, std::string& value) override { single(field, value); }
  void visit(const Field& field, std::optional<std::size_t>& value) override { single(field, value); }
  void visit(const Field& field, std::optional<double>& value) override { single(field, value); }
  void visit(const Field& field, Word& value) override {
    auto* raw = dynamic_cast<RawYaml*>(&value);
    if (raw == nullptr) return single(field, value);
    const YamlNode* node = find(field);
    raw->node = node != nullptr ? std::optional<YamlNode>(*node) : std::nullopt;
    level_->values.push_back({field.name, "", node});
  }
  void visit(const Field& field, std::vector<std::string>& value) override {
    const YamlNode* node = find(field);
    if (node != nullptr && node->kind != YamlNode::Kind::list) {
      refuse(*node, field.name, fmt::format("must be a list such as [a, b]; got {}", node->described()));
    } else if (node != nullptr) {
      Names texts(node->children.size());
      for (std::size_t i = 0; i < texts.size(); ++i)
        if (const Complaint complaint = read_scalar(node->children[i], field.range, texts[i]))
          refuse(node->children[i], fmt::format("{}[{}]", field.name, i), *complaint);
      value = std::move(texts);
    }
    level_->values.push_back({field.name, fmt::format("[{}]", fmt::join(value, ", ")), node});
  }

  void read_mapping(const YamlNode* node, std::string path, Origin origin, const Members& members) {
    Level level{node, std::move(path), std::move(origin)};
    const Scoped inner(level_, &level);
    members(*this);
    report_unknown_keys();
  }
  /// A mapping that is the value of a field; `form` says how it is written.
  void nested(const Field& field, const Members& members, const std::string& form, const std::string& hint = "") {
    const YamlNode* node = find(field);
    if (!field.read) return;
    if (node != nullptr && node->kind != YamlNode::Kind::mapping)
      return refuse(*node, field.name,
                    fmt::format("must be a mapping{}; got {}{}{}", form, node->described(), way_out(*node), hint));
    read_mapping(node, path_of(field.name), node != nullptr ? node->key_origin : level_->origin, members);
  }
  static std::string way_out(const YamlNode& node) {
    if (missing_space(node)) return "; put a space after the ':'";
    return node.kind == YamlNode::Kind::null ? "; write its keys or remove it" : "";
  }
  void visit_group(const Field& field, const Members& members) override {
    const YamlNode* node = level_->find(field.name);
    if (node == nullptr || node->kind == YamlNode::Kind::mapping) return nested(field, members, "");
    const std::string key = key_that_takes(node->text, members);
    nested(field, members, fmt::format(", its keys ({}) indented below it", fmt::join(keys_of(members), ", ")),
           key.empty() ? "" : fmt::format("; did you mean '{}.{}'?", path_of(field.name), key));
  }

  void visit_list(const Field& field, std::size_t size, const std::function<void(std::size_t)>& resize,
                  const std::function<void(std::size_t, Fields&)>& members) override {
    const YamlNode* node = find(field);
    if (!field.read) return;
    if (node != nullptr && node->kind != YamlNode::Kind::list)
      return refuse(*node, field.name,
                    fmt::format("must be a list, each element after a '- '; got {}", node->described()));
    if (node != nullptr) resize(size = node->children.size());
    const std::string path = path_of(field.name);
    for (std::size_t i = 0; i < size; ++i) {
      const YamlNode* element = node != nullptr ? &node->children[i] : nullptr;
      const std::string element_path = fmt::format("{}[{}]", path, i);
      if (element != nullptr && element->kind != YamlNode::Kind::mapping)
        problems_.push_back({element->origin, element_path,
                             fmt::format("must be a mapping; got {}{}", element->described(), way_out(*element))});
      else
        read_mapping(element, element_path, element != nullptr ? element->origin : level_->origin,
                     [&](Fields& f) { members(i, f); });
    }
  }

  void visit_choice(const Field& field, const char* selector, AnyChoice& choice) override {
    if (*field.name != '\0') {
      const YamlNode* node = level_->find(field.name);
      const std::string name = node != nullptr && includes(choice.names(), node->text) ? node->text : choice.name();
      const std::string form = fmt::format(" such as {{{}: {}}}", selector, name);
      return nested(
          field, [&](Fields&) { choose(field.name, selector, choice); }, form);
    }
    if (field.read) return choose(selector, selector, choice);
    Names keys = keys_of(choice, choice.name());
    keys.emplace_back(selector);
    for (const std::string& key : keys) {
      Field unread = field;
      unread.name = key.c_str();
      find(unread);
    }
  }

  void choose(const std::string& label, const char* selector, AnyChoice& choice) {
    const YamlNode* node = find(Field{selector, ""});
    if (node != nullptr) select(*node, selector, choice);
    level_->values.push_back({selector, choice.name(), node});
    Others others{fmt::format("{} '{}'{}", label, choice.name(), node == nullptr ? " (the default)" : ""),
                  path_of(selector),
                  node == nullptr ? 0 : node->origin.layer,
                  {}};
    for (const std::string& name : choice.names())
      for (const std::string& key : keys_of(choice, name)) others.names_with[key].push_back(name);
    level_->others.push_back(std::move(others));
    choice.fields(*this);
  }
  void select(const YamlNode& node, const char* selector, AnyChoice& choice) {
    const Names names = choice.names();
    std::string name = node.kind == YamlNode::Kind::scalar ? node.text : "";
    if (!includes(names, name)) {
      refuse(node, selector,
             fmt::format("must be one of {}; got {}{}", fmt::join(names, ", "), node.described(),
                         suggestion(name, names)));
      const Names guesses = meant(name, names);  // the other keys are read as if that had been meant
      name = guesses.empty() ? "" : guesses.front();
    }
    // The name that is chosen already keeps its options, which need not be the registry's defaults.
    if (!name.empty() && name != choice.name()) choice.select(name);
  }

  void report_unknown_keys() {
    if (level_->node == nullptr) return;
    const std::set<std::string> known(level_->known.begin(), level_->known.end());
    for (const YamlNode& child : level_->node->children)
      if (known.count(child.key) == 0) report_unknown_key(child);
  }
  void report_unknown_key(const YamlNode& child) {
    std::string message = "unknown key" + right_key(child);
    for (const Others& others : level_->others) {
      const auto with = others.names_with.find(child.key);
      if (with == others.names_with.end()) continue;
      const bool name_unknown = unreadable(others.selector.substr(others.selector.rfind('.') + 1), "");
      if (name_unknown || child.origin.layer < others.layer) return;
      message = fmt::format("{} has no '{}'; {} {}: set {} to {} or remove this key", others.label, child.key,
                            quoted_list(with->second), with->second.size() == 1 ? "has" : "have", others.selector,
                            with->second.size() == 1 ? "that" : "one of them");
    }
    problems_.push_back({child.key_origin, path_of(shown(child.key)), std::move(message)});
  }
  /// Where keys of this name are read, three at most.
  Names places_of(const std::string& key) const {
    Names paths;
    for (auto [place, end] = places_.equal_range(key); place != end && paths.size() < 3; ++place)
      if (!includes(paths, place->second)) paths.push_back(place->second);
    return paths;
  }
  /// What to do about an unknown key: says where a key of this name is read, or what it is called here, else which key
  /// here has a similar name, else which keys are allowed here.
  std::string right_key(const YamlNode& child) const {
    const std::string& key = child.key;
    if (const Names paths = places_of(key); !paths.empty())
      return fmt::format("; there is {}: {}", fmt::join(paths, ", "),
                         child.key_origin.line == 0 ? "write the whole path" : "move it there");
    const Names here = names_here(key);
    const bool beside =
        std::any_of(here.begin(), here.end(), [&](const std::string& name) { return includes(level_->known, name); });
    Names elsewhere;
    for (const std::string& name : here)
      for (std::string& path : places_of(name)) elsewhere.push_back(std::move(path));
    if (!beside && !elsewhere.empty()) return fmt::format("; it is called {} here", fmt::join(elsewhere, ", "));
    if (std::string guess = suggestion(key, level_->known); !guess.empty()) return guess;
    if (key == "extends") return "; 'extends' stands at the top of a file, not inside";
    if (key.find('.') != std::string::npos && document_.root().find(key) != nullptr)
      return "; keys are nested: write what follows each '.' on a line of its own, indented";
    return fmt::format("; allowed here: {}",
                       level_->known.empty() ? "no keys" : fmt::format("{}", fmt::join(level_->known, ", ")));
  }

  const YamlDocument& document_;
  std::multimap<std::string, std::string> places_, found_;
  std::vector<Problem> problems_;
  Level* level_ = nullptr;
};

Names texts(const std::vector<Problem>& problems) {
  Names all;
  for (const Problem& problem : problems) all.push_back(problem.text());
  return all;
}

}  // namespace

void detail::read_options(const YamlDocument& document, const std::function<void(Fields&)>& list) {
  constexpr int most_passes = 8;  // each condition on a field that has a condition itself takes one more
  std::multimap<std::string, std::string> places;
  std::vector<Problem> found;
  for (int pass = 0; pass < most_passes; ++pass) {
    Reader reader(document, places);
    reader.read(list);
    const bool settled = pass > 0 && texts(reader.problems()) == texts(found);
    places = reader.places();
    found = reader.problems();
    if (settled) break;
  }
  found.insert(found.begin(), document.problems().begin(), document.problems().end());
  if (!found.empty()) throw ConfigError(std::move(found));
}

}  // namespace surd
