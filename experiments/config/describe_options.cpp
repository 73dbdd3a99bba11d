#include "experiments/config/describe_options.hpp"

#include "autograd/base/registry.hpp"
#include "experiments/config/key_names.hpp"
#include "experiments/config/raw_yaml.hpp"
#include "experiments/config/read_scalar.hpp"
#include "experiments/program/text_format.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace surd {
namespace {

/// The parts of a row in which the names of a choice may differ: all but its path.
constexpr std::array<std::string OptionRow::*, 6> parts = {&OptionRow::type,    &OptionRow::default_value,
                                                           &OptionRow::allowed, &OptionRow::unit,
                                                           &OptionRow::help,    &OptionRow::condition};

class Describer : public Fields {
 public:
  Describer(std::string prefix, std::string condition) : prefix_(std::move(prefix)), condition_(std::move(condition)) {}

  void rule(bool, const char*, const std::string&) override {}
  std::vector<OptionRow> rows;

 private:
  std::string path_of(const char* name) const { return prefix_ + name; }
  std::string condition_of(const Field& field) const {
    return condition_.empty() || *field.condition == '\0' ? condition_ + field.condition
                                                          : fmt::format("{} and {}", condition_, field.condition);
  }
  void add(const Field& field, std::string type, std::string default_value, std::string allowed) {
    rows.push_back({path_of(field.name), std::move(type), std::move(default_value), std::move(allowed), field.unit,
                    field.help, condition_of(field)});
  }
  void visit(const Field& field, bool& value) override { add(field, "true or false", scalar_text(value), ""); }
  void visit(const Field& field, std::size_t& value) override {
    add(field, "whole number", scalar_text(value), field.range.text());
  }
  void visit(const Field& field, double& value) override {
    add(field, "number", scalar_text(value), field.range.text());
  }
  void visit(const Field& field, std::string& value) override {
    add(field, "text", value.empty() ? "''" : scalar_text(value), "");
  }
  void visit(const Field& field, std::optional<std::size_t>& value) override {
    add(field, "whole number or null", scalar_text(value), field.range.text());
  }
  void visit(const Field& field, std::optional<double>& value) override {
    add(field, "number or null", scalar_text(value), field.range.text());
  }
  void visit(const Field& field, Word& value) override {
    if (dynamic_cast<RawYaml*>(&value) != nullptr) return add(field, value.allowed(), "", "");
    add(field, "word", scalar_text(value), value.allowed());
  }
  void visit(const Field& field, std::vector<std::string>& value) override {
    add(field, "list of texts", fmt::format("[{}]", fmt::join(value, ", ")), "");
  }

  void nested(const Field& field, const std::string& element, const Members& members) {
    Describer inner(path_of(field.name) + element + ".", condition_of(field));
    members(inner);
    std::move(inner.rows.begin(), inner.rows.end(), std::back_inserter(rows));
  }
  void visit_group(const Field& field, const Members& members) override {
    add(field, "mapping", "", "");
    nested(field, "", members);
  }
  void visit_list(const Field& field, std::size_t size, const std::function<void(std::size_t)>& resize,
                  const std::function<void(std::size_t, Fields&)>& members) override {
    add(field, "list", "", "");
    resize(1);  // to see what an element has
    nested(field, "[]", [&](Fields& f) { members(0, f); });
    resize(size);
  }

  void visit_choice(const Field& field, const char* selector, AnyChoice& choice) override {
    if (*field.name == '\0') return describe_choice(field, selector, choice);
    add(field, "mapping", "", "");
    Describer inner(path_of(field.name) + ".", condition_of(field));
    inner.describe_choice(Field{field.name, "which one"}, selector, choice);
    std::move(inner.rows.begin(), inner.rows.end(), std::back_inserter(rows));
  }
  void describe_choice(Field field, const char* selector, AnyChoice& choice) {
    field.name = selector;
    add(field, "word", choice.name(), fmt::format("one of {}", fmt::join(choice.names(), ", ")));
    rows.back().help = help_with_names(field.help, choice);
    add_options(condition_of(field), selector, choice);
  }
  /// A key of a choice that several names may share, with every way in which they describe it.
  struct Shared {
    struct Variant {
      OptionRow row;
      std::vector<std::string> names;
    };
    std::vector<Variant> variants;
  };
  /// Adds the rows of the options of all names, one for each key.
  void add_options(const std::string& condition, const char* selector, AnyChoice& choice) {
    std::vector<Shared> all;
    for (const std::string& name : choice.names()) {
      Describer inner(prefix_, "");
      if (name == choice.name())
        choice.fields(inner);
      else
        choice.fields_of(name, inner);
      for (OptionRow& row : inner.rows) {
        auto shared = std::find_if(all.begin(), all.end(),
                                   [&](const Shared& s) { return s.variants.front().row.path == row.path; });
        if (shared == all.end()) shared = all.insert(all.end(), Shared());
        auto& variants = shared->variants;
        const auto same = std::find_if(variants.begin(), variants.end(), [&](const auto& variant) {
          return std::all_of(parts.begin(), parts.end(), [&](auto part) { return variant.row.*part == row.*part; });
        });
        if (same != variants.end())
          same->names.push_back(name);
        else
          variants.push_back({std::move(row), {name}});
      }
    }
    for (const Shared& shared : all) {
      OptionRow row = shared.variants.front().row;
      std::vector<std::string> names;
      for (const auto& variant : shared.variants) names.insert(names.end(), variant.names.begin(), variant.names.end());
      for (const auto part : parts) row.*part = joined(shared, part);
      const std::string own = std::exchange(row.condition, condition);
      if (names.size() < choice.names().size())
        also(row.condition, fmt::format("{} is {}", selector, fmt::join(names, " or ")));
      also(row.condition, own);
      rows.push_back(std::move(row));
    }
  }
  /// One part of a row: what all names agree on, or what each of them says.
  static std::string joined(const Shared& shared, std::string OptionRow::*part) {
    const auto& first = shared.variants.front();
    const bool alike = std::all_of(shared.variants.begin(), shared.variants.end(),
                                   [&](const auto& variant) { return variant.row.*part == first.row.*part; });
    if (alike) return first.row.*part;
    const char* none = part == &OptionRow::default_value ? "none" : "any";
    std::string text;
    for (const auto& variant : shared.variants)
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", fmt::join(variant.names, ", "),
                          (variant.row.*part).empty() ? none : variant.row.*part);
    return text;
  }
  static void also(std::string& condition, const std::string& further) {
    if (!further.empty()) condition += (condition.empty() ? "" : " and ") + further;
  }

  std::string prefix_;
  std::string condition_;
};

std::string type_and_range(const OptionRow& row) {
  std::string text = row.type == "word" ? "" : row.type;
  if (!row.allowed.empty()) text += (text.empty() ? "" : ", ") + row.allowed;
  return row.unit.empty() ? text : fmt::format("{} ({})", text, row.unit);
}

}  // namespace

std::vector<OptionRow> detail::describe_options(const std::function<void(Fields&)>& list) {
  Describer describer("", "");
  list(describer);
  return std::move(describer.rows);
}

std::vector<std::string> settable_keys(const std::vector<OptionRow>& rows) {
  std::vector<std::string> keys;
  for (const OptionRow& row : rows)
    if (row.type != "mapping" && row.path.find('[') == std::string::npos && !includes(keys, row.path))
      keys.push_back(row.path);
  return keys;
}

std::string reference_text(const std::vector<OptionRow>& rows) {
  std::string text;
  for (const OptionRow& row : rows) {
    const std::string default_value = row.default_value.empty() ? "" : "; default " + row.default_value;
    text +=
        wrapped(fmt::format("{}: {}{}", row.path, type_and_range(row), default_value), "", "        ", screen_width);
    text += wrapped(row.help, "    ", "    ", screen_width);
    if (!row.condition.empty()) text += wrapped("read when " + row.condition, "    ", "    ", screen_width);
  }
  return text;
}

std::string reference_markdown(const std::vector<OptionRow>& rows) {
  constexpr const char* head = "\n| Key | Value | Default | Meaning |\n|---|---|---|---|\n";
  std::string text;
  std::string section = "\n";
  for (const OptionRow& row : rows) {
    const std::size_t dot = row.path.find_first_of(".[");
    const bool opens = dot == std::string::npos && (row.type == "mapping" || row.type == "list");
    const std::string group = opens || dot != std::string::npos ? row.path.substr(0, dot) : "";
    if (group != section) {
      text += group.empty() ? "" : fmt::format("{}## {}\n", text.empty() ? "" : "\n", group);
      if (opens) text += fmt::format("\n{}\n", row.help);
      text += head;
      section = group;
    }
    if (opens) continue;
    const std::string condition = row.condition.empty() ? "" : fmt::format("; read when {}", row.condition);
    text +=
        fmt::format("| `{}` | {} | {} | {}{} |\n", row.path, markdown_text(type_and_range(row)),
                    row.default_value.empty() ? "" : fmt::format("`{}`", replace_all(row.default_value, "|", "\\|")),
                    markdown_text(row.help), markdown_text(condition));
  }
  return text;
}

}  // namespace surd
