#include "experiments/study/report/page.hpp"

#include "autograd/base/error.hpp"
#include "experiments/study/report/assets.hpp"

#include <kainjow/mustache.hpp>

namespace surd::report {
namespace {

using kainjow::mustache::data;

data to_data(const Json& json) {
  if (json.is_string()) return json.get_ref<const std::string&>();
  if (json.is_number()) return json.dump();
  if (!json.is_structured()) return json.is_boolean() && json.get<bool>();
  data tree(json.is_array() ? data::type::list : data::type::object);
  for (const auto& [name, value] : json.items())
    json.is_array() ? tree.push_back(to_data(value)) : tree.set(name, to_data(value));
  return tree;
}

}  // namespace

std::string render(const std::string& page_template, Json values) {
  values.update({{"css", css}, {"table", table}, {"badge", badge}, {"forest", forest}});
  kainjow::mustache::mustache parsed(page_template);
  std::string text = parsed.render(to_data(values));
  expect(parsed.is_valid(), "report", "a template is damaged: {}", parsed.error_message());
  return text;
}

}  // namespace surd::report
