#pragma once

#include "experiments/study/report/charts/chart.hpp"

#include <string>
#include <vector>

namespace surd::report {

/// A part of a page, under a heading.
struct Section {
  std::string id;  ///< unique on the page
  std::string title;
  std::vector<Chart> charts;
};

/// For the part "charts" of a template; a section without a chart is left out.
Json to_json(const std::vector<Section>& sections);
/// What report.js draws: "charts" and whatever else is in `more`, as text for a `<script>`.
std::string chart_data(const std::vector<Section>& sections, const Json& more = Json::object());

/// A page from its template (mustache) and the values in it. A section of null, false or an empty list is left out. Of
/// `values`, the assets are set here, by their names. Throws Error where a template is damaged.
std::string render(const std::string& page_template, Json values);

/// The same of a page with charts, "sections" and "data" of `values`: "no_charts", and what draws them, are set too.
/// Without a chart library, "" or not there, it has tables only. Throws Error where that is there and cannot be read.
std::string render_charts(const std::string& page_template, Json values, const std::string& chart_library);

}  // namespace surd::report
