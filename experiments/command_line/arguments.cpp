#include "experiments/command_line/arguments.hpp"

#include "autograd/base/registry.hpp"
#include "experiments/config/read_scalar.hpp"
#include "experiments/program/usage_error.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace surd {
namespace {

using Names = std::vector<std::string>;

std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string spelled(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

std::string optional_positional(const std::string& field) { return field + "?"; }

/// Visits a field list of single values; a command line cannot have any other kind of field.
class ArgumentFields : public Fields {
 private:
  [[noreturn]] static void refuse(const Field& field) {
    throw Error(fmt::format("{}: a command line has no place for a mapping or a list", field.name));
  }
  void visit(const Field& field, std::vector<std::string>&) override { refuse(field); }
  void visit_group(const Field& field, const Members&) override { refuse(field); }
  void visit_choice(const Field& field, const char*, AnyChoice&) override { refuse(field); }
  void visit_list(const Field& field, std::size_t, const std::function<void(std::size_t)>&,
                  const std::function<void(std::size_t, Fields&)>&) override {
    refuse(field);
  }
};

class Describer : public ArgumentFields {
 public:
  explicit Describer(const Names& required) : required_(required) {}
  std::vector<Argument> arguments;

  void rule(bool, const char*, const std::string&) override {}

 private:
  Argument& add(const Field& field, const char* value, std::string default_value) {
    Argument argument;
    argument.field = field.name;
    argument.help = field.help;
    argument.allowed = field.range.text();
    argument.required = includes(required_, field.name) || includes(required_, spelled(field.name));
    argument.positional = includes(required_, field.name) || includes(required_, optional_positional(field.name));
    const std::string unit = upper_case(field.unit);
    if (argument.positional) {
      argument.spelling = unit.empty() ? upper_case(field.name) : unit;
    } else {
      argument.spelling = spelled(field.name);
      argument.value = unit.empty() ? value : unit;
    }
    if (!argument.required) argument.default_value = std::move(default_value);
    arguments.push_back(std::move(argument));
    return arguments.back();
  }
  void visit(const Field& field, bool& value) override {
    expect(!value && *field.unit == '\0', field.name, "a flag begins as false and has no unit");
    expect(!add(field, "", "").required, field.name, "a flag cannot be required");
  }
  void visit(const Field& field, std::size_t& value) override { add(field, "N", scalar_text(value)); }
  void visit(const Field& field, double& value) override { add(field, "NUMBER", scalar_text(value)); }
  void visit(const Field& field, std::string& value) override { add(field, "TEXT", value).text = true; }
  void visit(const Field& field, std::optional<std::size_t>& value) override {
    add(field, "N", value ? scalar_text(value) : "");
  }
  void visit(const Field& field, std::optional<double>& value) override {
    add(field, "NUMBER", value ? scalar_text(value) : "");
  }
  void visit(const Field& field, Word& value) override {
    Argument& argument = add(field, "WORD", value.text());
    argument.allowed = value.allowed();
    argument.choices = value.choices();
    argument.text = argument.repeated = dynamic_cast<Texts*>(&value) != nullptr;
  }

  const Names& required_;
};

class Reader : public ArgumentFields {
 public:
  Reader(const std::vector<Argument>& arguments, const GivenTexts& given) : arguments_(arguments), given_(given) {}
  Names complaints;

  void rule(bool holds, const char* field, const std::string& message) override {
    if (!holds) complaints.push_back(fmt::format("{}: {}", spelling_of(field), message));
  }

 private:
  const std::string& spelling_of(const std::string& field) const {
    const auto found =
        std::find_if(arguments_.begin(), arguments_.end(), [&](const Argument& a) { return a.field == field; });
    expect(found != arguments_.end(), "arguments", "a rule names '{}', which is none of the command's fields", field);
    return found->spelling;
  }
  template <class T>
  void read(const Field& field, T& value) {
    const auto given = given_.find(field.name);
    if (given == given_.end()) return;
    for (const std::string& text : given->second) {
      if (text.empty()) {
        complaints.push_back(spelling_of(field.name) + ": is empty");
        continue;
      }
      YamlNode node;
      node.kind = YamlNode::Kind::scalar;
      node.text = text;
      if (const Complaint complaint = read_scalar(node, field.range, value))
        complaints.push_back(fmt::format("{}: {}", spelling_of(field.name), *complaint));
    }
    if (!field.read)
      complaints.push_back(fmt::format("{}: is read only when {}", spelling_of(field.name), field.condition));
  }
  /// On a command line an optional value is left out rather than written as null.
  template <class T>
  void read(const Field& field, std::optional<T>& value) {
    if (given_.count(field.name) == 0) return;
    T given{};
    read(field, given);
    value = given;
  }
  void visit(const Field& field, bool& value) override { read(field, value); }
  void visit(const Field& field, std::size_t& value) override { read(field, value); }
  void visit(const Field& field, double& value) override { read(field, value); }
  void visit(const Field& field, std::string& value) override { read(field, value); }
  void visit(const Field& field, std::optional<std::size_t>& value) override { read(field, value); }
  void visit(const Field& field, std::optional<double>& value) override { read(field, value); }
  void visit(const Field& field, Word& value) override { read(field, value); }

  const std::vector<Argument>& arguments_;
  const GivenTexts& given_;
};

}  // namespace

std::vector<Argument> arguments_of(const std::function<void(Fields&)>& list, const Names& required) {
  Describer describer(required);
  list(describer);
  std::vector<Argument>& all = describer.arguments;
  Names names{"help"};
  for (const Argument& argument : all) {
    expect(!includes(names, argument.field), argument.field, "two arguments have this name; rename one");
    names.push_back(argument.field);
  }
  std::vector<Argument> ordered;
  for (const std::string& name : required) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Argument& argument) {
      if (!argument.required) return argument.positional && name == optional_positional(argument.field);
      return name == (argument.positional ? argument.field : argument.spelling);
    });
    expect(found != all.end(), name, "is required, but not in the field list");
    if (found->positional) ordered.push_back(*found);
  }
  std::copy_if(all.begin(), all.end(), std::back_inserter(ordered), [](const Argument& a) { return !a.positional; });
  return ordered;
}

void read_arguments(const std::function<void(Fields&)>& list, const std::vector<Argument>& arguments,
                    const GivenTexts& given) {
  Reader reader(arguments, given);
  list(reader);
  if (!reader.complaints.empty()) throw UsageError(fmt::format("{}", fmt::join(reader.complaints, "\nerror: ")));
}

}  // namespace surd
