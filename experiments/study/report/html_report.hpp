#pragma once

#include "experiments/study/verdicts/analysis.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace surd {

/// What somebody needs to repeat a study, printed at the end of its report.
struct Provenance {
  std::string study_text;             ///< the study file as given
  std::string base_config;            ///< of the first arm, every default written out; "" where it is not known
  std::vector<std::string> commands;  ///< that repeat it, in order
  std::vector<std::pair<std::string, std::string>> made_with;  ///< see facts_of()
};

/// Path of the plotly.js that reports are made with: the installed one, else the one of the build; "" where there is
/// none.
std::string chart_library();

/// All that report.html shows, but for how it draws. Equal arguments give equal pages.
nlohmann::ordered_json report_page(const Study& study, const Analysis& analysis, const KnownResults& known,
                                   const Provenance& provenance);
/// report.html: one page that needs no other file and no network, readable without JavaScript. Without a chart library,
/// "" or not there, it has tables only. Throws Error where that is there and cannot be read.
std::string to_html(nlohmann::ordered_json page, const std::string& chart_library);

}  // namespace surd
