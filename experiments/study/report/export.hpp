#pragma once

#include "experiments/run/data/fingerprint.hpp"
#include "experiments/study/execution/makers.hpp"
#include "experiments/study/verdicts/analysis.hpp"

#include <string>

namespace surd {

/// verdicts.json: all that an analysis holds, for machines; equal results give equal bytes. `data`: of the files that
/// the runs read.
std::string to_json(const Study& study, const Analysis& analysis, const std::vector<Maker>& makers,
                    const std::vector<Fingerprint>& data);
/// For a pull request.
std::string to_markdown(const Study& study, const Analysis& analysis);
/// The verdicts as a table for a paper, a row a hypothesis: in LaTeX (with booktabs), or in Markdown.
std::string verdicts_as_latex(const Study& study, const Analysis& analysis);
std::string verdicts_as_markdown(const Study& study, const Analysis& analysis);
/// "exactly", "at_least", "at_most", "between" (of which the lower bound is the number) or, where nothing is known,
/// "unknown".
const char* bound_word(const MetricValue& value);
/// One row a run and metric.
std::string to_csv(const Study& study, const KnownResults& known);

}  // namespace surd
