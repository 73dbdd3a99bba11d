#include "experiments/config/key_names.hpp"
#include "experiments/config/read_scalar.hpp"
#include "experiments/study/file/study_reader.hpp"
#include "experiments/study/statistics/formula.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

// A setting is a formula where its key takes a number and its text is neither a number nor anything else that the key
// takes: no value that is legal without formulas changes its meaning.

namespace surd {
namespace {

/// Whether a text is written as a number, be it one that no key takes: "1e400", "inf".
bool is_number_literal(const std::string& text) {
  double value = 0;
  return std::from_chars(text.data(), text.data() + text.size(), value).ptr == text.data() + text.size();
}

/// The names in a text that need not be a formula.
std::vector<std::string> identifiers(const std::string& text) {
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::vector<std::string> names;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    while (i < text.size() && in_name(text[i])) ++i;
    const bool digit = begin < i && text[begin] >= '0' && text[begin] <= '9';
    if (begin < i && !digit) names.push_back(text.substr(begin, i - begin));
    if (begin == i) ++i;
  }
  return names;
}

bool has_operator(const std::string& text) { return text.find_first_of("+-*/^()<>=?:&|!") != std::string::npos; }

KeyValue value_of(const std::string& path, const std::string& text) {
  RunConfig config;
  return value_of_key(path, text, [&](Fields& f) { config.fields(f); });
}

/// The settings beneath a node of a study file, by their paths.
void add_leaves(const YamlNode& node, const std::string& path, std::vector<std::pair<std::string, Origin>>& leaves) {
  if (node.kind != YamlNode::Kind::mapping) {
    leaves.emplace_back(path, node.origin);
    return;
  }
  for (const YamlNode& child : node.children)
    add_leaves(child, path.empty() ? child.key : path + "." + child.key, leaves);
}

std::vector<std::pair<std::string, Origin>> leaves_of(const RawYaml& raw) {
  std::vector<std::pair<std::string, Origin>> leaves;
  if (raw.node && raw.node->kind == YamlNode::Kind::mapping) add_leaves(*raw.node, "", leaves);
  return leaves;
}

}  // namespace

std::vector<std::string> axes_with_numbers(const Study& study) {
  std::vector<std::string> names;
  for (const Axis& axis : study.axes)
    if (std::all_of(axis.levels.begin(), axis.levels.end(), [](const Level& level) { return level.value.has_value(); }))
      names.push_back(axis.name);
  return names;
}

/// Whether the key takes a number, and this is neither one nor another value that it takes.
bool StudyReader::may_be_formula(const YamlNode& node, const std::string& path) {
  if (node.kind != YamlNode::Kind::scalar || is_number_literal(node.text)) return false;
  const KeyValue value = value_of(path, node.text);
  if (value.number && value.text) words_.push_back({path, node.text, node.origin});
  return value.number && !value.text;
}

/// Moves the formulas at and beneath a node to `formulas`; true where nothing is left of it.
bool StudyReader::take_formulas(YamlNode& node, const std::string& path, std::vector<Change>& formulas) {
  if (node.kind == YamlNode::Kind::mapping) {
    std::vector<YamlNode> rest;
    for (YamlNode& child : node.children)
      if (!take_formulas(child, path + "." + child.key, formulas)) rest.push_back(std::move(child));
    const bool all = rest.empty() && !node.children.empty();
    node.children = std::move(rest);
    return all;
  }
  if (!may_be_formula(node, path)) return false;
  formulas.push_back({path, node.text, node.origin, true});
  return true;
}

/// What a study file sets at `path`. Settings in one mapping stay one change, because a choice in it belongs together
/// with its options; formulas, which choose nothing, follow.
std::vector<Change> StudyReader::setting(const YamlNode& node, const std::string& path) {
  std::vector<Change> set, formulas;
  YamlNode rest = node;
  if (!take_formulas(rest, path, formulas)) set.push_back({path, flow_text(rest), node.origin});
  set.insert(set.end(), formulas.begin(), formulas.end());
  return set;
}

void StudyReader::check_set_formulas(Study& study) {
  for (Axis& axis : study.axes)
    for (Level& level : axis.levels)
      for (Change& change : level.set)
        if (change.formula) check_set_formula(change, study);
  for (Change& change : set_)
    if (change.formula) check_set_formula(change, study);
  check_words(study);
  check_set_twice();
  check_base(study.base.root(), "", study);
}

/// The base is read without arms, so nothing in it can depend on them.
void StudyReader::check_base(const YamlNode& node, const std::string& path, const Study& study) {
  for (const YamlNode& child : node.children)
    check_base(child, path.empty() ? child.key : path + "." + child.key, study);
  if (node.kind != YamlNode::Kind::scalar) return;
  const Names names = identifiers(node.text), axes = study.axis_names();
  if (std::none_of(names.begin(), names.end(), [&](const std::string& name) { return includes(axes, name); })) return;
  if (const KeyValue value = value_of(path, node.text); value.number && !value.text)
    add(node.origin, path, "a formula of axes cannot stand in the base; move it to the study's 'set'");
}

/// The number of a formula that names no axis, such as "1/3".
std::optional<double> StudyReader::constant(const Change& change) {
  if (!change.formula || !has_operator(change.value)) return std::nullopt;
  try {
    if (!names_in_formula(change.value).empty()) return std::nullopt;
    const double value = evaluate_formula(change.value, [](const std::string&) { return 0.0; });
    return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
  } catch (const Error&) {  // told where all formulas are checked
    return std::nullopt;
  }
}

/// Complains where a formula cannot be computed, which makes it none.
void StudyReader::check_set_formula(Change& change, const Study& study) {
  const Names axes = study.axis_names(), numbers = axes_with_numbers(study);
  const Names words = value_of(change.key, change.value).words, mentioned = identifiers(change.value);
  const bool one_name = mentioned.size() == 1 && mentioned.front() == change.value;
  const bool of_axis = one_name && nearest(change.value, words).empty() && !nearest(change.value, axes).empty();
  if ((!has_operator(change.value) && !of_axis) || !axes_read()) {  // no formula: the config says what is wrong with it
    change.formula = false;
    return;
  }
  const auto names = names_of_expression(change.value, change.origin, change.key);
  const std::size_t before = problems_.size();
  for (const std::string& name : names.value_or(Names())) {
    if (includes(numbers, name)) continue;
    if (includes(axes, name))
      add(change.origin, change.key,
          fmt::format("not every level of axis '{}' is a number; give each a 'value' to use it in a formula", name));
    else if (includes(words, name))
      add(change.origin, change.key,
          fmt::format("'{}' is a word that this key takes, and no number that a formula can name", name));
    else if (name == "V")
      add(change.origin, change.key, "V, the size of the vocabulary, is known after a run only; name axes");
    else
      add(change.origin, change.key,
          fmt::format("the formula has no number called '{}'{}", shown(name),
                      includes(words, nearest(name, words)) ? did_you_mean(name, words) : not_among(name, numbers)));
  }
  change.formula = names && problems_.size() == before;
}

/// A value that a key takes as it stands is no formula. Where it names an axis, that is not what it seems to say.
void StudyReader::check_words(const Study& study) {
  const Names numbers = axes_with_numbers(study);
  for (const Change& word : words_)
    for (const std::string& name : identifiers(word.value))
      require(!includes(numbers, name), word.origin, word.key,
              fmt::format("'{}' is a value of this key by itself, and '{}' an axis too; rename the axis",
                          shown(word.value), name));
}

/// Complains where a level sets what 'set' sets for every arm: it would have no effect. A preset of a level may.
void StudyReader::check_set_twice() {
  Names common;
  for (const auto& [path, origin] : leaves_of(fields_.set)) common.push_back(path);
  const auto check = [&](const std::string& path, const Origin& origin) {
    require(!includes(common, path), origin, path, "'set' sets it for every arm, over what levels say; remove one");
  };
  const auto check_level = [&](const LevelFields& level) {
    for (const auto& [path, origin] : leaves_of(level.set)) check(path, origin);
  };
  for (const auto& [path, origin] : leaves_of(fields_.quick.set)) check(path, origin);
  for (const std::string& setting : source_.settings)
    check(setting.substr(0, setting.find('=')), {"--set " + setting, 0, 0, 0});
  for (const LevelFields& level : fields_.arms) check_level(level);
  for (std::size_t i = 0; i < fields_.axes.size(); ++i) {
    check(fields_.axes[i].key, element("axes", i));
    for (const LevelFields& level : fields_.axes[i].levels) check_level(level);
  }
}

/// Puts its number in the place of a formula.
void StudyReader::compute(Change& change, const Study& study, std::size_t arm) {
  const std::map<std::string, double> numbers = study.numbers(arm);
  const auto complain = [&](const std::string& message) {
    if (told_.insert(Problem{change.origin, change.key, change.value}.text()).second)
      add(change.origin, change.key, message);
  };
  try {
    const double value = evaluate_formula(change.value, [&](const std::string& name) { return numbers.at(name); });
    const bool whole = value_of(change.key, change.value).whole;
    if (!std::isfinite(value))
      complain(fmt::format("'{}' is {} in arm '{}'; it must be a finite number in every arm", shown(change.value),
                           value, study.arms[arm].name));
    else if (whole && (value < 0 || value != std::floor(value) || value > 9e15))
      complain(fmt::format("'{}' is {} in arm '{}'; it must be a whole number in every arm; rint() rounds",
                           shown(change.value), value, study.arms[arm].name));
    else
      change.value = whole ? scalar_text(static_cast<std::size_t>(value)) : scalar_text(value);
  } catch (const Error& error) {
    complain(error.what());
  }
  change.formula = false;
}

}  // namespace surd
