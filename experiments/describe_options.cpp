#include "experiments/describe_options.hpp"

#include "autograd/registry.hpp"
#include "experiments/read_scalar.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace surd {
namespace {

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
  void visit(const Field& field, Word& value) override { add(field, "word", scalar_text(value), value.allowed()); }

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
    std::string help = field.help;
    for (const std::string& name : choice.names())
      help += fmt::format("{}{}: {}", name == choice.names().front() ? ". " : "; ", name, choice.help(name));
    add(field, "word", choice.name(), fmt::format("one of {}", fmt::join(choice.names(), ", ")));
    rows.back().help = help;
    add_options(condition_of(field), selector, choice);
  }
  /// The rows of every name's options, those that are alike joined.
  void add_options(const std::string& condition, const char* selector, AnyChoice& choice) {
    struct Shared {
      OptionRow row;
      std::vector<std::string> names;
    };
    std::vector<Shared> all;
    for (const std::string& name : choice.names()) {
      Describer inner(prefix_, "");
      if (name == choice.name())
        choice.fields(inner);
      else
        choice.fields_of(name, inner);
      for (OptionRow& row : inner.rows) {
        const auto same = std::find_if(all.begin(), all.end(), [&](const Shared& s) { return alike(s.row, row); });
        if (same != all.end())
          same->names.push_back(name);
        else
          all.push_back({std::move(row), {name}});
      }
    }
    for (Shared& shared : all) {
      std::string own = std::exchange(shared.row.condition, condition);
      const std::string names = fmt::format("{}", fmt::join(shared.names, " or "));
      if (shared.names.size() < choice.names().size())
        also(shared.row.condition, fmt::format("{} is {}", selector, names));
      also(shared.row.condition, own);
      rows.push_back(std::move(shared.row));
    }
  }
  static bool alike(const OptionRow& a, const OptionRow& b) {
    const auto key = [](const OptionRow& row) {
      return std::tie(row.path, row.type, row.default_value, row.allowed, row.unit, row.help, row.condition);
    };
    return key(a) == key(b);
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

std::string escaped(std::string text) {
  for (std::size_t i = text.find('|'); i != std::string::npos; i = text.find('|', i + 2)) text.insert(i, "\\");
  return text;
}

}  // namespace

std::vector<OptionRow> detail::describe_options(const std::function<void(Fields&)>& list) {
  Describer describer("", "");
  list(describer);
  return std::move(describer.rows);
}

std::string reference_text(const std::vector<OptionRow>& rows) {
  std::string text;
  for (const OptionRow& row : rows) {
    text += row.default_value.empty()
                ? fmt::format("{}: {}\n", row.path, type_and_range(row))
                : fmt::format("{}: {}; default {}\n", row.path, type_and_range(row), row.default_value);
    text += fmt::format("    {}\n", row.help);
    if (!row.condition.empty()) text += fmt::format("    read when {}\n", row.condition);
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
    text += fmt::format("| `{}` | {} | {} | {}{} |\n", row.path, escaped(type_and_range(row)),
                        row.default_value.empty() ? "" : fmt::format("`{}`", escaped(row.default_value)),
                        escaped(row.help), escaped(condition));
  }
  return text;
}

}  // namespace surd
