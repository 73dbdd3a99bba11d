#include "experiments/study/report/export.hpp"

#include <nlohmann/json.hpp>
#include "experiments/study/file/claims.hpp"

#include <cmath>
#include <set>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

// A NaN or an infinity, which JSON has no word for, is written as null.

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json to_json(const statistics::Interval& interval) {
  return Json::array({number(interval.low), number(interval.high)});
}

Json to_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json to_json(const std::vector<Change>& settings) {
  Json json = Json::object();
  for (const Change& change : settings) json[change.key] = change.value;
  return json;
}

/// Values as numbers, and beside them which are only bounds.
void add_values(Json& json, const std::vector<MetricValue>& values) {
  json["values"] = Json::array();
  json["bounds"] = Json::array();
  for (const MetricValue& value : values) {
    json["values"].push_back(number(value.nearest()));
    json["bounds"].push_back(bound_word(value));
  }
}

Json to_json(const Estimate& estimate) {
  Json json = {{"value", number(estimate.value.nearest())},
               {"bound", bound_word(estimate.value)},
               {"interval", to_json(estimate.interval)}};
  if (json["bound"] == "between") json["to"] = number(estimate.value.high);
  return json;
}

Json levels_of(const Study& study, const Arm& arm) {
  Json json = Json::object();
  for (std::size_t i = 0; i < study.axes.size(); ++i)
    json[study.axes[i].name] = study.axes[i].levels[arm.levels[i]].name;
  return json;
}

Json to_json(const Check& check) {
  Json json = {{"label", check.label},
               {"verdict", name_of(check.verdict)},
               {"compared_by", name_of(check.compared_by)},
               {"effect", to_json(check.effect)},
               {"expected", to_json(check.expected)},
               {"tolerance", to_json(check.tolerance)},
               {"region", check.region ? Json::array({number(check.region->low), number(check.region->high)}) : Json()},
               {"seeds", check.seeds}};
  add_values(json, check.values);
  return json;
}

Json to_json(const Study& study, const HypothesisResult& result) {
  const Hypothesis& hypothesis = study.hypotheses[result.hypothesis];
  Json json = {{"name", hypothesis.name},
               {"claim", hypothesis.claim == 0 ? Json() : Json(hypothesis.claim)},
               {"contradicts", hypothesis.contradicts},
               {"kind", hypothesis.kind},
               {"metric", hypothesis.metric},
               {"regime", name_of(hypothesis.regime)},
               {"arm", Json(hypothesis.arm)},
               {"against", Json(hypothesis.against)},
               {"under", Json(hypothesis.under)},
               {"versus", Json(hypothesis.versus)},
               {"expect", hypothesis.expect},
               {"margin", hypothesis.margin},
               {"over", hypothesis.over},
               {"along", hypothesis.along},
               {"formula", hypothesis.formula},
               {"verdict", name_of(result.verdict)},
               {"reason", result.reason},
               {"p", to_json(result.p)},
               {"p_holm", to_json(result.p_holm)},
               {"checks", Json::array()}};
  for (const Check& check : result.checks) json["checks"].push_back(to_json(check));
  return json;
}

Json to_json(const Flatness& flatness) {
  Json json = {{"tried", flatness.tried}, {"ahead", nullptr}, {"not_told_apart", nullptr}};
  if (flatness.ahead) json["ahead"] = *flatness.ahead;
  if (flatness.alike) json["not_told_apart"] = *flatness.alike;
  return json;
}

}  // namespace

std::string to_json(const Study& study, const Analysis& analysis, const std::vector<Maker>& makers,
                    const std::vector<Fingerprint>& data) {
  Json json = {{"title", study.title},
               {"question", study.question},
               {"expectation", study.expectation},
               {"quick", study.quick},
               {"seeds", study.seeds},
               {"looks", study.looks},
               {"runs",
                {{"planned", analysis.runs},
                 {"finished", analysis.finished},
                 {"diverged", analysis.diverged},
                 {"failed", analysis.failed},
                 {"missing", analysis.missing},
                 {"reused", analysis.reused}}},
               {"made_by", Json::array()},
               {"claims", Json::array()},
               {"hypotheses", Json::array()},
               {"arms", Json::array()},
               {"summaries", Json::array()},
               {"endings", Json::array()},
               {"tuned", Json::array()},
               {"factor_effects", Json::array()}};
  for (const Amendment& change : study.amendments)
    json["changes"].push_back({{"date", change.date}, {"what", change.what}, {"seen", change.seen}});
  for (const Maker& maker : makers) {
    Json one = {{"runs", maker.runs}, {"core_hours", maker.core_hours}};
    for (const auto& [name, value] : maker.system) one[name] = value;
    json["made_by"].push_back(std::move(one));
  }
  std::set<Json> read;  // in an order of their own: their folders' names depend on where the files lie
  for (const Fingerprint& splits : data) {
    Json one;
    for (const auto& [name, split] : splits) one[name] = {{"pairs", split.pairs}, {"xxh3", split.hash}};
    read.insert(std::move(one));
  }
  if (!read.empty()) json["data"] = read;
  for (const ClaimResult& claim : analysis.claims)
    json["claims"].push_back({{"claim", claim.claim},
                              {"text", claim_text(claim.claim)},
                              {"verdict", name_of(claim.verdict)},
                              {"sentence", claim.sentence}});
  for (const HypothesisResult& result : analysis.hypotheses) json["hypotheses"].push_back(to_json(study, result));
  for (const Arm& arm : study.arms) json["arms"].push_back({{"name", arm.name}, {"levels", levels_of(study, arm)}});
  for (const ArmSummary& summary : analysis.summaries) {
    const MetricSpec& metric = study.metric(summary.metric);
    Json one = {{"arm", study.arms[summary.arm].name},
                {"regime", name_of(summary.regime)},
                {"metric", summary.metric},
                {"unit", metric.unit},
                {"compared_by", name_of(metric.compared_by)},
                {"estimate", to_json(summary.estimate)},
                {"quantile", to_json(metric.metric->quantile())},
                {"censored", summary.censored()},
                {"seeds", summary.seeds}};
    add_values(one, summary.values);
    json["summaries"].push_back(std::move(one));
  }
  for (const Endings& endings : analysis.endings)
    json["endings"].push_back({{"arm", study.arms[endings.arm].name},
                               {"settings", to_json(endings.settings)},
                               {"ended", endings.runs},
                               {"diverged", endings.diverged},
                               {"failed", endings.failed},
                               {"diverged_interval", to_json(endings.diverged_interval)}});
  for (std::size_t arm = 0; arm < analysis.tuned.size(); ++arm) {
    const Tuned& tuned = analysis.tuned[arm];
    json["tuned"].push_back({{"arm", study.arms[arm].name},
                             {"settings", to_json(tuned.settings)},
                             {"done", tuned.done},
                             {"at_edge", tuned.at_edge},
                             {"flatness", tuned.flatness ? to_json(*tuned.flatness) : Json()},
                             {"runs", tuned.different_runs}});
  }
  for (const auto& effect : analysis.factor_effects)
    json["factor_effects"].push_back({{"axes", effect.axes}, {"effect", to_json(effect.effect)}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace surd
