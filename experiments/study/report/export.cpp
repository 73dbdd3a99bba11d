#include "experiments/study/report/export.hpp"

#include "autograd/base/counted.hpp"
#include "autograd/base/utf8.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/report/forest.hpp"
#include "experiments/study/verdicts/finding.hpp"

#include <algorithm>
#include <map>
#include <sstream>

namespace surd {
namespace {

using Cells = std::vector<std::string>;

std::string cell(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return markdown_text(text);
}

std::string row(const Cells& cells) {
  std::string line = "|";
  for (const std::string& text : cells) line += " " + cell(text) + " |";
  return line + "\n";
}

std::string table(const Cells& names, const std::vector<Cells>& rows) {
  std::string text = row(names) + "|";
  for (std::size_t i = 0; i < names.size(); ++i) text += "---|";
  text += "\n";
  for (const Cells& cells : rows) text += row(cells);
  return text + "\n";
}

std::string interval_text(const statistics::Interval& interval) {
  return fmt::format("[{}, {}]", short_number(interval.low), short_number(interval.high));
}

std::string settings_text(const std::vector<Change>& settings) {
  Cells words;
  for (const Change& change : settings) words.push_back(fmt::format("{}={}", change.key, change.value));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string p_text(const std::optional<double>& p) { return p ? short_number(*p) : ""; }

/// One row a check; what belongs to the hypothesis stands in the first.
std::vector<Cells> hypothesis_rows(const Study& study, const Analysis& analysis) {
  std::vector<Cells> rows;
  for (const HypothesisResult& result : analysis.hypotheses) {
    const Cells first = {study.hypotheses[result.hypothesis].name, name_of(result.verdict)};
    const Cells last = {p_text(result.p), p_text(result.p_holm)};
    if (result.checks.empty()) rows.push_back({first[0], first[1], "", "", "", last[0], last[1], "0"});
    for (std::size_t i = 0; i < result.checks.size(); ++i) {
      const Check& check = result.checks[i];
      const bool known = !check.values.empty();
      std::string effect = known ? text_of(check.effect.value) : "";
      if (known && !check.expected && check.compared_by == ComparedBy::ratio) effect += " times";
      if (known && check.expected) {
        const std::string bound = one_sided(check);
        effect += " for " + (bound.empty()
                                 ? fmt::format("{} ± {}", short_number(*check.expected), short_number(*check.tolerance))
                                 : bound);
      }
      rows.push_back({i == 0 ? first[0] : "", i == 0 ? first[1] : name_of(check.verdict), check.label, effect,
                      known ? interval_text(check.effect.interval) : "", i == 0 ? last[0] : "", i == 0 ? last[1] : "",
                      std::to_string(check.seeds.size())});
    }
  }
  return rows;
}

std::vector<Cells> summary_rows(const Study& study, const Analysis& analysis) {
  std::vector<Cells> rows;
  for (const ArmSummary& summary : analysis.summaries) {
    rows.push_back({report::heading_of(study.metric(summary.metric)), study.arms[summary.arm].name,
                    name_of(summary.regime), text_of(summary.estimate.value), interval_text(summary.estimate.interval),
                    std::to_string(summary.seeds.size()), std::to_string(summary.censored())});
  }
  return rows;
}

std::vector<Cells> ending_rows(const Study& study, const Analysis& analysis) {
  std::vector<Cells> rows;
  for (const Endings& endings : analysis.endings)
    rows.push_back({study.arms[endings.arm].name, settings_text(endings.settings), std::to_string(endings.runs),
                    std::to_string(endings.diverged), interval_text(endings.diverged_interval),
                    std::to_string(endings.failed)});
  return rows;
}

std::vector<Cells> tuned_rows(const Study& study, const Analysis& analysis) {
  std::vector<Cells> rows;
  for (std::size_t arm = 0; arm < analysis.tuned.size(); ++arm) {
    const Tuned& tuned = analysis.tuned[arm];
    const Flatness flat = tuned.flatness.value_or(Flatness{});
    rows.push_back({study.arms[arm].name, tuned.done ? settings_text(tuned.settings) : "not done",
                    tuned.at_edge ? "yes" : "no", tuned.done ? std::to_string(flat.tried) : "",
                    flat.ahead ? short_number(*flat.ahead) : "", flat.alike ? std::to_string(*flat.alike) : "",
                    std::to_string(tuned.different_runs)});
  }
  return rows;
}

/// What was changed since the study was first written down, and what was known by then; "" where nothing was.
std::string amendments_text(const Study& study) {
  if (study.amendments.empty()) return "";
  std::vector<Cells> rows;
  for (const Amendment& change : study.amendments) rows.push_back({change.date, change.what, change.seen});
  return "Changed since:\n\n" + table({"Date", "What was changed", "What was known by then"}, rows);
}

/// What the columns of a table for a paper are called, and its rows.
const Cells paper_columns = {"Hypothesis", "Effect [95 % interval]", "p after Holm", "Seeds", "Verdict"};

std::vector<Cells> paper_rows(const Study& study, const Analysis& analysis) {
  std::vector<Cells> rows;
  for (const HypothesisResult& result : analysis.hypotheses) {
    const report::RowWords words = report::words_of(study, result);
    rows.push_back({study.hypotheses[result.hypothesis].name, words.effect, words.p.empty() ? "–" : words.p,
                    std::to_string(words.seeds), name_of(result.verdict)});
  }
  return rows;
}

/// Why the verdicts of a study are not to be printed; "" where they are.
std::string warning(const Study& study, const Analysis& analysis) {
  if (study.quick) return "A quick run, cut down to be tried: nothing in it is evidence.";
  return analysis.missing > 0 ? fmt::format("{} of {} runs have not ended.", analysis.missing, analysis.runs) : "";
}

/// Signs that LaTeX would read as a command or that its fonts may not have, and how they are written there.
std::map<std::string, std::string> latex_signs() {
  std::map<std::string, std::string> signs = {
      {"\\", "\\textbackslash{}"}, {"~", "\\textasciitilde{}"}, {"^", "\\textasciicircum{}"}, {"…", "\\dots{}"}};
  for (const char* escaped : {"{", "}", "$", "&", "#", "_", "%"}) signs[escaped] = std::string("\\") + escaped;
  for (const char* space : {"\n", "\r", "\t"}) signs[space] = " ";
  for (const char* narrow : {"\u2009", "\u202F"}) signs[narrow] = "\\,";
  signs["\u00A0"] = "~", signs["\u2011"] = "-";  // that do not break
  const auto add = [&](const char* pairs, const char* around) {
    std::istringstream words(pairs);
    for (std::string sign, text; words >> sign >> text;) signs[sign] = around + text + around;
  };
  add(R"(– -- — --- “ `` ” '' ‘ ` ’ ' ο o Α A Β B Ε E Ζ Z Η H Ι I Κ K Μ M Ν N Ο O Ρ P Τ T Χ X)", "");
  add(R"(< < > > | | − - ≥ \geq ≤ \leq ≠ \neq ≈ \approx ≡ \equiv ≪ \ll ≫ \gg ∼ \sim ∝ \propto ∞ \infty ± \pm × \times
         ÷ \div · \cdot ⋅ \cdot √ \surd ∑ \sum ∏ \prod ∂ \partial ∇ \nabla ∈ \in ‖ \Vert ℓ \ell ° ^\circ → \to ← \gets
         ↔ \leftrightarrow ⇒ \Rightarrow ½ \frac12 ¼ \frac14 ¾ \frac34 ⅓ \frac13 ⅔ \frac23)",
      "$");
  add(R"(⁰ ^0 ¹ ^1 ² ^2 ³ ^3 ⁴ ^4 ⁵ ^5 ⁶ ^6 ⁷ ^7 ⁸ ^8 ⁹ ^9 ⁻ ^- ₀ _0 ₁ _1 ₂ _2 ₃ _3 ₄ _4 ₅ _5 ₆ _6 ₇ _7 ₈ _8 ₉ _9)",
      "$");
  add(R"(α \alpha β \beta γ \gamma δ \delta ε \epsilon ζ \zeta η \eta θ \theta ι \iota κ \kappa λ \lambda μ \mu µ \mu ν \nu
         ξ \xi π \pi ρ \rho σ \sigma ς \varsigma τ \tau υ \upsilon φ \phi χ \chi ψ \psi ω \omega ϑ \vartheta ϕ \phi
         ϵ \epsilon Γ \Gamma Δ \Delta Θ \Theta Λ \Lambda Ξ \Xi Π \Pi Σ \Sigma Υ \Upsilon Φ \Phi Ψ \Psi Ω \Omega)",
      "$");
  return signs;
}

std::string latex(const std::string& text) {
  static const std::map<std::string, std::string> signs = latex_signs();
  std::string escaped;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(std::string_view(text).substr(at));
    const std::string sign = text.substr(at, std::max<std::size_t>(length, 1));
    const auto found = signs.find(sign);
    escaped += found == signs.end() ? sign : found->second;
    at += sign.size();
  }
  // After the end of a row, these would be taken for what belongs to that.
  return escaped.rfind('[', 0) == 0 || escaped.rfind('*', 0) == 0 ? "{}" + escaped : escaped;
}

std::string latex_row(const Cells& cells) {
  Cells escaped;
  for (const std::string& text : cells) escaped.push_back(latex(text));
  return fmt::format("  {} \\\\\n", fmt::join(escaped, " & "));
}

}  // namespace

std::string to_markdown(const Study& study, const Analysis& analysis) {
  std::string text = fmt::format("# {}\n\n{}\n\n", markdown_text(study.title), markdown_text(study.question));
  if (!study.expectation.empty())
    text += fmt::format("Expected before the runs: {}\n\n", markdown_text(study.expectation));
  text += amendments_text(study);
  if (study.quick) text += "**A quick run, cut down to be tried: nothing in it is evidence.**\n\n";
  text += fmt::format("{}: {} finished, {} diverged, {} failed, {} not ended{}. {} an arm.\n\n",
                      counted(analysis.runs, "run"), analysis.finished, analysis.diverged, analysis.failed,
                      analysis.missing,
                      analysis.reused > 0 ? fmt::format("; {} taken from other studies", analysis.reused) : "",
                      counted(study.seeds.size(), "seed"));
  for (const ClaimResult& claim : analysis.claims) text += fmt::format("- {}\n", markdown_text(claim.sentence));
  if (!analysis.claims.empty()) text += "\n";

  text += "## Hypotheses\n\n";
  text += table({"Hypothesis", "Verdict", "Of", "Effect", "95 % interval", "p", "p after Holm", "Seeds"},
                hypothesis_rows(study, analysis));
  for (const HypothesisResult& result : analysis.hypotheses)
    text += fmt::format("- {}: {}\n", cell(study.hypotheses[result.hypothesis].name), cell(result.reason));
  text += "\n## Arms\n\n";
  text += table({"Metric", "Arm", "Rates", "Pseudo-median", "95 % interval", "Seeds", "Censored"},
                summary_rows(study, analysis));
  text += "## Divergences\n\n";
  text += table({"Arm", "Settings", "Ended", "Diverged", "95 % interval of the share", "Failed"},
                ending_rows(study, analysis));
  if (!analysis.tuned.empty()) {
    text += "## Tuned settings\n\n";
    text += table({"Arm", "Best", "At the edge of the grid", "Settings tried", "Ahead of the next by",
                   "Others not told apart", "Runs"},
                  tuned_rows(study, analysis));
  }
  if (!analysis.factor_effects.empty()) {
    std::vector<Cells> rows;
    for (const auto& effect : analysis.factor_effects)
      rows.push_back({fmt::format("{}", fmt::join(effect.axes, " x ")), text_of(effect.effect.value),
                      interval_text(effect.effect.interval)});
    text += fmt::format("## Effects of the factors on {}\n\n", study.metrics.front().name);
    text += table(
        {"Factors",
         study.metrics.front().compared_by == ComparedBy::ratio ? "Root of the mean ratio" : "Half the mean difference",
         "95 % interval"},
        rows);
  }
  return text;
}

std::string verdicts_as_latex(const Study& study, const Analysis& analysis) {
  std::string text = "% \\usepackage{booktabs}\n";
  if (const std::string why = warning(study, analysis); !why.empty()) text += "% " + why + "\n";
  text += "\\begin{tabular}{p{0.36\\linewidth}lrrl}\n  \\toprule\n" + latex_row(paper_columns) + "  \\midrule\n";
  for (const Cells& cells : paper_rows(study, analysis)) text += latex_row(cells);
  return text + "  \\bottomrule\n\\end{tabular}\n";
}

std::string verdicts_as_markdown(const Study& study, const Analysis& analysis) {
  const std::string why = warning(study, analysis);
  std::string text = (why.empty() ? "" : "**" + why + "**\n\n") + table(paper_columns, paper_rows(study, analysis));
  text.pop_back();  // the empty line after it
  return text;
}

const char* bound_word(const MetricValue& value) {
  if (value.known()) return "exactly";
  const bool low = value.low > -statistics::infinity, high = value.high < statistics::infinity;
  return low && high ? "between" : low ? "at_least" : high ? "at_most" : "unknown";
}

std::string to_csv(const Study& study, const KnownResults& known) {
  Cells header(std::begin(csv_columns), std::end(csv_columns));
  const Cells axes = study.axis_names();
  header.insert(header.begin() + 1, axes.begin(), axes.end());
  std::string text = csv_row(header);

  for (const PlannedRun& run : plan(study, known)) {
    const std::string id = run.id(study);
    const RunResult* result = known(id);
    Cells left = {id};
    for (std::size_t i = 0; i < study.axes.size(); ++i)
      left.push_back(study.axes[i].levels[study.arms[run.arm].levels[i]].name);
    left.insert(left.end(), {settings_text(run.settings), std::to_string(run.seed),
                             result == nullptr ? "missing" : name_of(result->status)});
    for (const MetricSpec& metric : study.metrics) {
      if (metric.metric->of_tuning()) continue;
      const auto value = result == nullptr ? std::nullopt : metric_value(study, metric, run.arm, *result);
      Cells cells = left;
      cells.insert(cells.end(), {metric.name, value ? fmt::format("{}", value->nearest()) : "", metric.unit,
                                 value ? bound_word(*value) : ""});
      text += csv_row(cells);
    }
  }
  return text;
}

}  // namespace surd
