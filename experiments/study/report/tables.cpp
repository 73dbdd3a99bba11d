#include "experiments/study/report/tables.hpp"

#include "experiments/study/execution/study_folder.hpp"
#include "experiments/study/file/claims.hpp"
#include "experiments/study/report/forest.hpp"
#include "experiments/study/verdicts/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace surd::report {
namespace {

std::string tuning_words(const Study& study, Regime regime) {
  if (regime == Regime::shared || !study.tuning) return "nothing tuned";
  std::string text;
  for (const TuningAxis& axis : study.tuning->axes)
    text += fmt::format("{}{} ({} values)", text.empty() ? "" : ", ", axis.name, axis.values.size());
  if (study.tuning->search == TuningSearch::jointly)
    text += fmt::format(", {} settings jointly", std::min(study.tuning->settings, study.tuning->product()));
  return fmt::format("tuned each arm: {} on {} seeds of its own", text, study.tuning->seeds.size());
}

/// "1.5 times [1.2, 1.9]" of a ratio.
std::string effect_text(const Check& check) {
  const bool ratio = check.compared_by == ComparedBy::ratio && !check.expected;
  return number_text(check.effect) + (ratio ? " times" : "");
}

Table check_table(const HypothesisResult& result, const std::string& name) {
  Table table{"What was measured: " + name,
              {"arms", "verdict", "effect [95 % interval]", "expected", "tolerance", "seeds", "value of each seed"},
              {}};
  for (const Check& check : result.checks) {
    std::string values;
    for (std::size_t i = 0; i < check.values.size(); ++i)
      values +=
          fmt::format("{}{}{}", i > 0 ? "; " : "", i < check.seeds.size() ? fmt::format("{}: ", check.seeds[i]) : "",
                      number_text(check.values[i]));
    table.rows.push_back({check.label, name_of(check.verdict), effect_text(check),
                          check.expected ? number_text(*check.expected) : "–",
                          check.tolerance ? number_text(*check.tolerance) : "–", std::to_string(check.seeds.size()),
                          values.empty() ? "–" : values});
  }
  return table;
}

}  // namespace

std::string sign(Verdict verdict) {
  static constexpr const char* signs[] = {"✓", "✗", "?"};
  return signs[static_cast<std::size_t>(verdict)];
}

std::string evidence(const StudyRuns& runs, const HypothesisResult& result) {
  const Hypothesis& hypothesis = runs.study.hypotheses[result.hypothesis];
  std::string text;
  if (result.checks.size() == 1) {
    const Check& check = result.checks.front();
    text = fmt::format("effect {} on {}, {} seeds", effect_text(check),
                       hypothesis.metric.empty() ? "the loss curve" : hypothesis.metric, check.seeds.size());
  } else if (!result.checks.empty()) {
    text =
        fmt::format("{} {}", hypothesis.metric.empty() ? "the loss curve" : hypothesis.metric, held_in(result.checks));
    const Check& worst = least_as_expected(result.checks);
    text += fmt::format("; {}: {} with {}, {} seeds",
                        worst.verdict == Verdict::supported ? "nearest to failing" : "furthest off", worst.label,
                        effect_text(worst), worst.seeds.size());
  } else {
    text = "nothing measured yet";
  }
  text += "; " + tuning_words(runs.study, hypothesis.regime);
  if (result.p_holm) text += fmt::format("; p = {} after Holm", number_text(*result.p_holm));
  return text;
}

Json hypotheses(const StudyRuns& runs) {
  Json json = Json::array();
  for (const HypothesisResult& result : runs.analysis.hypotheses) {
    const Hypothesis& hypothesis = runs.study.hypotheses[result.hypothesis];
    json.push_back(
        {{"number", result.hypothesis + 1},
         {"name", hypothesis.name},
         {"verdict", name_of(result.verdict)},
         {"sign", sign(result.verdict)},
         {"expected", fmt::format("{}; {}", hypothesis.statement->words(hypothesis), description(hypothesis.regime))},
         {"found", result.reason},
         {"evidence", evidence(runs, result)},
         {"p", result.p ? Json(number_text(*result.p)) : Json()},
         {"p_holm", result.p_holm ? Json(number_text(*result.p_holm)) : Json()},
         {"checks", result.checks.empty() ? Json() : to_json(check_table(result, hypothesis.name))}});
  }
  return json;
}

Json claims(const StudyRuns& runs, const Json& hypotheses) {
  Json json = Json::array();
  for (const ClaimResult& claim : runs.analysis.claims) {
    const std::string_view said = claim_text(claim.claim);
    json.push_back({{"number", claim.claim},
                    {"heading", fmt::format("Claim {}{}{}", claim.claim, said.empty() ? "" : ": ", said)},
                    {"verdict", name_of(claim.verdict)},
                    {"sign", sign(claim.verdict)},
                    {"answer", claim_answer(claim)},
                    {"sentence", claim.sentence},
                    {"hypotheses", Json::array()}});
    for (const Json& hypothesis : hypotheses)
      if (runs.study.hypotheses[hypothesis["number"].get<std::size_t>() - 1].claim == claim.claim)
        json.back()["hypotheses"].push_back(hypothesis);
  }
  return json;
}

Table arm_table(const StudyRuns& runs) {
  Table table{"Every metric of every arm: pseudo-median [95 % interval] over seeds", {"arm", "regime"}, {}};
  for (const MetricSpec& metric : runs.study.metrics) table.columns.push_back(heading_of(metric));
  for (std::size_t arm = 0; arm < runs.study.arms.size(); ++arm) {
    for (const Regime regime : {Regime::shared, Regime::tuned}) {
      std::vector<std::string> row{runs.study.arms[arm].name, name_of(regime)};
      bool any = false;
      for (const MetricSpec& metric : runs.study.metrics) {
        std::string text = number_text(nan);
        for (const ArmSummary& summary : runs.analysis.summaries) {
          if (summary.arm != arm || summary.regime != regime || summary.metric != metric.name) continue;
          any = true;
          text = number_text(summary.estimate);
          if (summary.censored() > 0)
            text += fmt::format(" ({} of {} censored)", summary.censored(), summary.values.size());
        }
        row.push_back(std::move(text));
      }
      if (any) table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Table settings_table(const Study& study) {
  Table table{"What each arm sets, over the base config", {"arm", "settings"}, {}};
  for (const Arm& arm : study.arms) {
    std::string text;
    for (const Change& change : arm.set)
      text += fmt::format("{}{}={}", text.empty() ? "" : "; ", change.key, change.value);
    if (!text.empty()) table.rows.push_back({arm.name, text});
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
        {id, result == nullptr ? "not ended yet" : name_of(result->status), result == nullptr ? "–" : result->message});
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
                        {"regime", name_of(regime)},
                        {"seed", run.seed},
                        {"status", name_of(run.result->status)}});
    }
  }
  return json;
}

}  // namespace surd::report
