#include "experiments/study/report/page.hpp"

#include "autograd/base/error.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/report/assets.hpp"
#include "train/storage/files.hpp"

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

/// Nothing in it may end its <script> early: in a string of JSON \u003c is '<'.
std::string script_text(const Json& json) {
  return replace_all(json.dump(-1, ' ', false, Json::error_handler_t::replace), "<", "\\u003c");
}

/// The same for a program, where these can only stand in strings.
std::string script_text(std::string program) {
  return replace_all(replace_all(std::move(program), "</script", "<\\/script"), "<!--", "<\\!--");
}

}  // namespace

Json to_json(const std::vector<Section>& sections) {
  Json list = Json::array();
  for (const Section& section : sections) {
    if (section.charts.empty()) continue;
    Json charts = Json::array();
    for (const Chart& chart : section.charts)
      charts.push_back({{"id", chart.id},
                        {"title", chart.title},
                        {"alt", chart.alt},
                        {"note", chart.note},
                        {"numbers", to_json(chart.table)}});
    list.push_back({{"id", section.id}, {"title", section.title}, {"charts", charts}});
  }
  return list;
}

std::string chart_data(const std::vector<Section>& sections, const Json& more) {
  Json drawn = {{"charts", Json::array()}};
  for (const Section& section : sections)
    for (const Chart& chart : section.charts) drawn["charts"].push_back(to_json(chart));
  drawn.update(more);
  return script_text(drawn);
}

std::string render(const std::string& page_template, Json values) {
  values.update({{"css", css},
                 {"chart_head", chart_head},
                 {"charts", charts},
                 {"no_charts_note", no_charts_note},
                 {"scripts", scripts},
                 {"table", table},
                 {"badge", badge},
                 {"forest", forest}});
  kainjow::mustache::mustache parsed(page_template);
  std::string text = parsed.render(to_data(values));
  expect(parsed.is_valid(), "report", "a template is damaged: {}", parsed.error_message());
  return text;
}

std::string render_charts(const std::string& page_template, Json values, const std::string& chart_library) {
  const bool drawn = !chart_library.empty() && path_exists(chart_library);
  values["no_charts"] = !drawn;
  if (drawn) values.update({{"script", script}, {"plotly", script_text(read_file(chart_library))}});
  return render(page_template, std::move(values));
}

}  // namespace surd::report
