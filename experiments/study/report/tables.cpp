#include "experiments/study/report/tables.hpp"

#include <fmt/format.h>
#include "experiments/study/file/claims.hpp"

#include <algorithm>
#include <cmath>

namespace surd::report {
namespace {

std::string verdict_name(Verdict verdict) { return names_of(verdict).at(static_cast<std::size_t>(verdict)); }

std::string tuning_words(const Study& study, Regime regime) {
  if (regime == Regime::shared || !study.tuning) return "nothing tuned";
  std::string text;
  for (const TuningAxis& axis : study.tuning->axes)
    text += fmt::format("{}{} ({} values)", text.empty() ? "" : ", ", axis.name, axis.values.size());
  return fmt::format("tuned each arm: {} on {} seeds of its own", text, study.tuning->seeds.size());
}

const char* word(RunResult::Status status) {
  switch (status) {
    case RunResult::Status::finished: return "finished";
    case RunResult::Status::diverged: return "diverged";
    case RunResult::Status::failed: return "failed";
  }
  return "";
}

Table check_table(const HypothesisResult& result, const std::string& name) {
  Table table{"What was measured: " + name,
              {"arms", "verdict", "effect [95 % interval]", "expected", "tolerance", "seeds", "value of each seed"},
              {}};
  for (const Check& check : result.checks) {
    std::string values;
    for (std::size_t i = 0; i < check.values.size(); ++i)
      values +=
          fmt::format("{}{}{}", i > 0 ? ", " : "", i < check.seeds.size() ? fmt::format("{}: ", check.seeds[i]) : "",
                      number_text(check.values[i]));
    table.rows.push_back({check.label, verdict_name(check.verdict), number_text(check.effect, check.interval),
                          check.expected ? number_text(*check.expected) : "–",
                          check.tolerance ? number_text(*check.tolerance) : "–", std::to_string(check.seeds.size()),
                          values.empty() ? "–" : values});
  }
  return table;
}

}  // namespace

std::string badge(Verdict verdict) {
  static constexpr const char* signs[] = {"✓", "✗", "?"};
  return fmt::format("<span class=\"badge {0}\"><span aria-hidden=\"true\">{1}</span> {0}</span>",
                     verdict_name(verdict), signs[static_cast<std::size_t>(verdict)]);
}

std::string evidence(const StudyRuns& runs, const HypothesisResult& result) {
  const Hypothesis& hypothesis = runs.study.hypotheses[result.hypothesis];
  std::string text;
  if (result.checks.size() == 1) {
    const Check& check = result.checks.front();
    text = fmt::format("effect {} on {}, {} seeds", number_text(check.effect, check.interval),
                       hypothesis.metric.empty() ? "the loss curve" : hypothesis.metric, check.seeds.size());
  } else if (!result.checks.empty()) {
    const auto good = std::count_if(result.checks.begin(), result.checks.end(),
                                    [](const Check& check) { return check.verdict == Verdict::supported; });
    text = fmt::format("{} of {} arms as expected in {}", good, result.checks.size(), hypothesis.metric);
    const auto worst = std::max_element(result.checks.begin(), result.checks.end(), [](const auto& a, const auto& b) {
      const auto off = [](const Check& c) {
        return c.expected ? std::abs(c.effect - *c.expected) : std::abs(c.effect);
      };
      return off(a) < off(b);
    });
    text += fmt::format("; furthest off: {} with {}, {} seeds", worst->label,
                        number_text(worst->effect, worst->interval), worst->seeds.size());
  } else {
    text = "nothing measured yet";
  }
  text += "; " + tuning_words(runs.study, hypothesis.regime);
  if (result.p_holm) text += fmt::format("; p = {} after Holm", number_text(*result.p_holm));
  return text;
}

std::string claim_cards(const StudyRuns& runs) {
  std::string html;
  for (const ClaimResult& claim : runs.analysis.claims) {
    const std::string_view said = claim_text(claim.claim);
    html += fmt::format("<article class=\"claim\"><h3>Claim {}{} {}</h3>\n<p>{}</p>\n<ul>\n", claim.claim,
                        said.empty() ? "" : ": " + escaped(std::string(said)), badge(claim.verdict),
                        escaped(claim.sentence));
    for (const HypothesisResult& result : runs.analysis.hypotheses) {
      const Hypothesis& hypothesis = runs.study.hypotheses[result.hypothesis];
      if (hypothesis.claim != claim.claim) continue;
      html += fmt::format("<li><a href=\"#hypothesis-{}\">{}</a>: {}; {}.</li>\n", result.hypothesis + 1,
                          escaped(hypothesis.name), verdict_name(result.verdict), escaped(evidence(runs, result)));
    }
    html += "</ul></article>\n";
  }
  if (html.empty()) html = "<p>This study tests no claim of the list; its hypotheses follow.</p>\n";
  return html;
}

std::string hypothesis_details(const StudyRuns& runs) {
  std::string html;
  for (const HypothesisResult& result : runs.analysis.hypotheses) {
    const Hypothesis& hypothesis = runs.study.hypotheses[result.hypothesis];
    html += fmt::format(
        "<article class=\"hypothesis\" id=\"hypothesis-{}\"><h3>{} {}</h3>\n<dl><dt>Expected</dt><dd>{}; {}</dd>"
        "<dt>Found</dt><dd>{}</dd><dt>Evidence</dt><dd>{}</dd>{}</dl>\n",
        result.hypothesis + 1, escaped(hypothesis.name), badge(result.verdict), escaped(hypothesis.statement->words(hypothesis)),
        description(hypothesis.regime), escaped(result.reason), escaped(evidence(runs, result)),
        result.p ? fmt::format("<dt>p</dt><dd>{} by sign-flip{}</dd>", number_text(*result.p),
                               result.p_holm ? fmt::format(", {} after Holm", number_text(*result.p_holm)) : "")
                 : "");
    if (!result.checks.empty()) html += to_html(check_table(result, hypothesis.name));
    html += "</article>\n";
  }
  return html;
}

Table arm_table(const StudyRuns& runs) {
  Table table{"Every metric of every arm: mean [95 % interval] over seeds", {"arm", "regime"}, {}};
  for (const MetricSpec& metric : runs.study.metrics)
    table.columns.push_back(metric.unit.empty() ? metric.name : fmt::format("{} ({})", metric.name, metric.unit));
  for (std::size_t arm = 0; arm < runs.study.arms.size(); ++arm) {
    for (const Regime regime : {Regime::shared, Regime::tuned}) {
      std::vector<std::string> row{runs.study.arms[arm].name, report::word(regime)};
      bool any = false;
      for (const MetricSpec& metric : runs.study.metrics) {
        std::string text = number_text(nan);
        for (const ArmSummary& summary : runs.analysis.summaries) {
          if (summary.arm != arm || summary.regime != regime || summary.metric != metric.name) continue;
          any = true;
          text = number_text(summary.mean, summary.interval);
          if (summary.censored > 0)
            text += fmt::format(" ({} of {} censored)", summary.censored, summary.values.size());
        }
        row.push_back(std::move(text));
      }
      if (any) table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Table unfinished_table(const StudyRuns& runs) {
  Table table{"Runs that did not finish", {"run", "ending", "message"}, {}};
  for (const PlannedRun& run : plan(runs.study, runs.known)) {
    const std::string id = run.id(runs.study);
    const RunResult* result = runs.known(id);
    if (result != nullptr && result->status == RunResult::Status::finished) continue;
    table.rows.push_back(
        {id, result == nullptr ? "not ended yet" : word(result->status), result == nullptr ? "–" : result->message});
  }
  return table;
}

Json run_index(const StudyRuns& runs) {
  Json json = Json::array();
  for (const Regime regime : runs.regimes()) {
    for (std::size_t arm = 0; arm < runs.study.arms.size(); ++arm) {
      const Layout::Place& place = runs.layout.places[arm];
      for (const SeedRun& run : runs.of(arm, regime))
        json.push_back({{"id", run.id},
                        {"arm", runs.study.arms[arm].name},
                        {"panel", runs.layout.panels[place.panel]},
                        {"series", place.name},
                        {"regime", report::word(regime)},
                        {"seed", run.seed},
                        {"status", word(run.result->status)}});
    }
  }
  return json;
}

}  // namespace surd::report
