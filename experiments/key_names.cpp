#include "experiments/key_names.hpp"

namespace surd {
namespace {

/// The names of the keys a field list stands for in its mapping.
class KeyNames : public Fields {
 public:
  std::vector<std::string> names;
  void rule(bool, const char*, const std::string&) override {}

 private:
  void add(const Field& field) { names.emplace_back(field.name); }
  void visit(const Field& field, bool&) override { add(field); }
  void visit(const Field& field, std::size_t&) override { add(field); }
  void visit(const Field& field, double&) override { add(field); }
  void visit(const Field& field, std::string&) override { add(field); }
  void visit(const Field& field, std::optional<std::size_t>&) override { add(field); }
  void visit(const Field& field, std::optional<double>&) override { add(field); }
  void visit(const Field& field, Word&) override { add(field); }
  void visit_group(const Field& field, const Members&) override { add(field); }
  void visit_choice(const Field& field, const char* selector, AnyChoice& choice) override {
    if (*field.name != '\0') return add(field);
    names.emplace_back(selector);
    choice.fields(*this);
  }
  void visit_list(const Field& field, std::size_t, const std::function<void(std::size_t)>&,
                  const std::function<void(std::size_t, Fields&)>&) override {
    add(field);
  }
};

}  // namespace

std::vector<std::string> keys_of(const AnyChoice& choice, const std::string& name) {
  KeyNames keys;
  choice.fields_of(name, keys);
  return keys.names;
}

}  // namespace surd
