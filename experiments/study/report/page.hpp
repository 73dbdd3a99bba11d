#pragma once

#include "experiments/study/report/charts/chart.hpp"

#include <string>

namespace surd::report {

/// A page from its template (mustache) and the values in it. A section of null, false or an empty list is left out. Of
/// `values`, "css", "table", "badge" and "forest" are set here, to the assets of these names. Throws Error where a
/// template is damaged.
std::string render(const std::string& page_template, Json values);

}  // namespace surd::report
