#include "experiments/config/key_names.hpp"

#include <algorithm>

namespace surd {
namespace {

/// Collects the names of the keys that a field list reads in its mapping.
class KeyNames : public Fields {
 public:
  explicit KeyNames(std::string text = "") : text_(std::move(text)) {}
  std::vector<std::string> names;
  std::string taker;  // the first key that takes `text` for its value

  void rule(bool, const char*, const std::string&) override {}

 private:
  void add(const Field& field) { names.emplace_back(field.name); }
  void visit(const Field& field, bool&) override { add(field); }
  void visit(const Field& field, std::size_t&) override { add(field); }
  void visit(const Field& field, double&) override { add(field); }
  void visit(const Field& field, std::string&) override { add(field); }
  void visit(const Field& field, std::optional<std::size_t>&) override { add(field); }
  void visit(const Field& field, std::optional<double>&) override { add(field); }
  void visit(const Field& field, Word& value) override {
    add(field);
    take(field.name, value.choices());
  }
  void visit_group(const Field& field, const Members&) override { add(field); }
  void visit_choice(const Field& field, const char* selector, AnyChoice& choice) override {
    if (*field.name != '\0') {
      take(fmt::format("{}.{}", field.name, selector), choice.names());
      return add(field);
    }
    names.emplace_back(selector);
    take(selector, choice.names());
    choice.fields(*this);
  }
  void visit_list(const Field& field, std::size_t, const std::function<void(std::size_t)>&,
                  const std::function<void(std::size_t, Fields&)>&) override {
    add(field);
  }
  void take(const std::string& key, const std::vector<std::string>& values) {
    if (taker.empty() && includes(values, text_)) taker = key;
  }

  std::string text_;
};

}  // namespace

std::vector<std::string> keys_of(const AnyChoice& choice, const std::string& name) {
  KeyNames keys;
  choice.fields_of(name, keys);
  return keys.names;
}

std::vector<std::string> keys_of(const std::function<void(Fields&)>& list) {
  KeyNames keys;
  list(keys);
  return keys.names;
}

std::string key_that_takes(const std::string& text, const std::function<void(Fields&)>& list) {
  KeyNames keys(text);
  list(keys);
  return keys.taker;
}

}  // namespace surd
