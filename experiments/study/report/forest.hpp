#pragma once

#include "experiments/study/report/charts/chart.hpp"
#include "experiments/study/verdicts/analysis.hpp"

#include <string>

/// What a report shows first: the answer of a study in a sentence, and a row a hypothesis with what was found drawn
/// against what was expected (a forest plot). The drawings are SVG and need no script.
namespace surd::report {

/// "3 of 4 statements hold; one is undecided."
std::string answer(const Analysis& analysis);
/// "Claim 2 is refuted: “The factor on the embeddings is not needed”"
std::string claim_answer(const ClaimResult& claim);

/// What a row says beside its drawing.
struct RowWords {
  std::string about;     ///< "final_loss: alpha=sqrt(d) - alpha=one"
  std::string effect;    ///< "0.42 times [0.38, 0.47]"; of several checks "holds in 35 of 38 cases"
  std::string expected;  ///< "expected below 0.91 times"; of several checks also which is the furthest off
  std::size_t seeds = 0;
  std::string p;  ///< after Holm; "" where there is none
};
RowWords words_of(const Study& study, const HypothesisResult& result);

/// A row a hypothesis, for the template of rows. Each has a scale of its own: ratios are drawn on a logarithmic axis,
/// all else on a linear one, and where the arms of a hypothesis are to have different values, how far each is from its
/// own. `page` is the report that holds the hypothesis, relative to the one with the rows; "" where they are the same.
Json forest_rows(const Study& study, const Analysis& analysis, const std::string& page = "");

}  // namespace surd::report
