#pragma once

#include "experiments/study/verdicts/analysis.hpp"

#include <string>
#include <utility>
#include <vector>

namespace surd {

/// What somebody needs to repeat a study, printed at the end of its report.
struct Provenance {
  std::string study_text;             ///< the study file as given
  std::string base_config;            ///< resolved: every default written out; "" where it is not known
  std::vector<std::string> commands;  ///< that repeat it, in order
  std::vector<std::pair<std::string, std::string>> system;  ///< see system_info()
  std::string chart_library;                                ///< path of plotly.js; "" or not there: tables only
};
/// Of this program on this machine.
Provenance provenance(std::string study_text, std::string base_config, std::vector<std::string> commands);

/// Path of the plotly.js that reports are made with: the installed one, else the one of the build; "" where there is
/// none.
std::string chart_library();

/// report.html: one page that needs no other file and no network, readable without JavaScript. Equal arguments give
/// equal bytes. Throws Error where the chart library is there and cannot be read.
std::string to_html(const Study& study, const Analysis& analysis, const KnownResults& known,
                    const Provenance& provenance);

}  // namespace surd
