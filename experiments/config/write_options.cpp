#include "experiments/config/write_options.hpp"

#include "autograd/base/registry.hpp"
#include "experiments/config/read_scalar.hpp"
#include "experiments/program/text_format.hpp"

#include <yaml-cpp/emitter.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace surd {
namespace {

/// A scalar in quotes where it needs them.
std::string quoted(const std::string& text) {
  YAML::Emitter emitter;
  emitter << text;
  return emitter.c_str();
}

class Writer : public Fields {
 public:
  Writer(std::size_t indentation, WithHelp help) : indentation_(indentation), help_(help) {}

  void rule(bool, const char*, const std::string&) override {}
  const std::string& text() const { return text_; }

 private:
  void key(const Field& field, const std::string& rest) {
    text_ += fmt::format("{:{}}{}:{}\n", "", indentation_, field.name, rest);
  }
  void comment(const Field& field) {
    if (help_ == WithHelp::no) return;
    std::string words = field.help;
    if (*field.unit != '\0') words += fmt::format(" ({})", field.unit);
    const std::string begin = fmt::format("{:{}}# ", "", indentation_);
    text_ += wrapped(words, begin, begin);
  }

  template <class T>
  void single(const Field& field, const T& value) {
    if (!field.read) return;
    comment(field);
    constexpr bool is_text = std::is_same_v<T, std::string> || std::is_same_v<T, Word>;
    key(field, ' ' + (is_text ? quoted(scalar_text(value)) : scalar_text(value)));
  }
  static void expect_finite(const Field& field, double value) {
    expect(std::isfinite(value), "write_yaml", "{} must be finite; got {}", field.name, value);
  }
  void visit(const Field& field, bool& value) override { single(field, value); }
  void visit(const Field& field, std::size_t& value) override { single(field, value); }
  void visit(const Field& field, double& value) override {
    if (field.read) expect_finite(field, value);
    single(field, value);
  }
  void visit(const Field& field, std::string& value) override { single(field, value); }
  void visit(const Field& field, std::optional<std::size_t>& value) override { single(field, value); }
  void visit(const Field& field, std::optional<double>& value) override {
    if (field.read && value) expect_finite(field, *value);
    single(field, value);
  }
  void visit(const Field& field, Word& value) override { single(field, value); }
  void visit(const Field& field, std::vector<std::string>& value) override {
    if (!field.read) return;
    comment(field);
    YAML::Emitter emitter;
    emitter << YAML::Flow << YAML::BeginSeq;
    for (const std::string& text : value) emitter << text;
    emitter << YAML::EndSeq;
    key(field, ' ' + std::string(emitter.c_str()));
  }

  void visit_group(const Field& field, const Members& members) override {
    if (!field.read) return;
    comment(field);
    Writer inner(indentation_ + 2, help_);
    members(inner);
    key(field, inner.text_.empty() ? " {}" : "");
    text_ += inner.text_;
  }
  void visit_choice(const Field& field, const char* selector, AnyChoice& choice) override {
    const auto members = [&](Writer& f, const char* help) {
      Field name = field;
      name.name = selector;
      name.help = help;
      f.comment(name);
      f.key(name, ' ' + quoted(choice.name()));
      choice.fields(f);
    };
    if (!field.read) return;
    if (*field.name == '\0') return members(*this, field.help);
    comment(field);
    key(field, "");
    Writer inner(indentation_ + 2, help_);
    const std::string one_of = fmt::format("one of {}", fmt::join(choice.names(), ", "));
    members(inner, one_of.c_str());
    text_ += inner.text_;
  }
  void visit_list(const Field& field, std::size_t size, const std::function<void(std::size_t)>&,
                  const std::function<void(std::size_t, Fields&)>& members) override {
    if (!field.read) return;
    comment(field);
    key(field, size == 0 ? " []" : "");
    for (std::size_t i = 0; i < size; ++i) {
      Writer inner(indentation_ + 4, i == 0 ? help_ : WithHelp::no);
      members(i, inner);
      std::string element = inner.text_.empty() ? fmt::format("{:{}}{{}}\n", "", indentation_ + 4) : inner.text_;
      element[indentation_ + 2] = '-';
      text_ += element;
    }
  }

  std::size_t indentation_;
  WithHelp help_;
  std::string text_;
};

}  // namespace

std::string detail::write_yaml(const std::function<void(Fields&)>& list, WithHelp help) {
  Writer writer(0, help);
  list(writer);
  return writer.text().empty() ? "{}\n" : writer.text();
}

}  // namespace surd
