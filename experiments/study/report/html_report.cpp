#include "experiments/study/report/html_report.hpp"

#include "experiments/program/text_format.hpp"
#include "experiments/study/report/assets.hpp"
#include "experiments/study/report/forest.hpp"
#include "experiments/study/report/page.hpp"
#include "experiments/study/report/tables.hpp"
#include "train/storage/files.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace surd {
namespace {

using report::Chart;
using report::Json;

/// Nothing in it may end its <script> early: in a string of JSON \u003c is '<'.
std::string script_text(const Json& json) {
  return replace_all(json.dump(-1, ' ', false, Json::error_handler_t::replace), "<", "\\u003c");
}

/// The same for a program, where these can only stand in strings.
std::string script_text(std::string program) {
  return replace_all(replace_all(std::move(program), "</script", "<\\/script"), "<!--", "<\\!--");
}

Json section(const char* id, const std::string& title, const std::vector<Chart>& charts) {
  Json list = Json::array();
  for (const Chart& chart : charts)
    list.push_back({{"id", chart.id},
                    {"title", chart.title},
                    {"alt", chart.alt},
                    {"note", chart.note},
                    {"numbers", report::to_json(chart.table)}});
  return {{"id", id}, {"title", title}, {"charts", list}};
}

/// What was changed since the study was first written down; null, so that nothing is shown, where nothing was.
Json amendments(const Study& study) {
  Json list = Json::array();
  for (const Amendment& change : study.amendments)
    list.push_back({{"date", change.date}, {"what", change.what}, {"seen", change.seen}});
  return list.empty() ? Json() : Json{{"list", list}};
}

std::string state(const Study& study, const Analysis& analysis) {
  const auto count = [](std::size_t number, const char* what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
  };
  std::string endings;
  for (const auto& [number, word] : {std::pair(analysis.diverged, "diverged"), std::pair(analysis.failed, "failed"),
                                     std::pair(analysis.missing, "not ended yet")})
    if (number > 0) endings += fmt::format(", {} {}", number, word);
  if (endings.empty()) endings = ", none diverged";
  if (analysis.reused > 0) endings += fmt::format(", {} taken from other studies", analysis.reused);
  return fmt::format("{}, {}; {} of {} finished{}.", count(study.arms.size(), "arm"), count(study.seeds.size(), "seed"),
                     analysis.finished, count(analysis.runs, "run"), endings);
}

}  // namespace

std::string chart_library() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = program.parent_path().parent_path() / report::installed_chart_library;
  if (!error && fs::is_regular_file(installed, error)) return installed.string();
  return fs::is_regular_file(report::built_chart_library, error) ? report::built_chart_library : "";
}

nlohmann::ordered_json report_page(const Study& study, const Analysis& analysis, const KnownResults& known,
                                   const Provenance& provenance) {
  const report::StudyRuns runs(study, analysis, known);
  Json sections = Json::array();
  Json drawn = {{"charts", Json::array()}, {"runs", report::run_index(runs)}};
  const auto add = [&](const char* id, const std::string& title, const std::vector<Chart>& charts) {
    for (const Chart& chart : charts) drawn["charts"].push_back(report::to_json(chart));
    if (!charts.empty()) sections.push_back(section(id, title, charts));
  };
  add("curves", "Learning curves", report::learning_curves(runs));
  add("tuning", "Settings tuned for each arm", report::tuning_charts(runs));
  add("diagnostics", "Diagnostics over time", report::probe_charts(runs));
  std::vector<Chart> gradients = report::gradient_curves(runs);
  for (Chart& chart : report::gradient_heatmap(runs)) gradients.push_back(std::move(chart));
  add("gradients", "Gradient norms", gradients);
  add("axes", "Metrics against numbers of the arms", report::axis_charts(runs));
  add("divergence", "Divergence", report::divergence_chart(runs));
  add("factors", "Factor effects", report::factor_chart(runs));

  const report::Table unfinished = report::unfinished_table(runs), arms = report::arm_table(runs);
  const report::Table settings = report::settings_table(study);
  const Json hypotheses = report::hypotheses(runs), claims = report::claims(runs, hypotheses);
  Json system = Json::array();
  for (const auto& [name, value] : provenance.made_with) system.push_back({{"name", name}, {"value", value}});
  return {{"title", study.title},
          {"heading", study.question.empty() ? study.title : study.question},
          {"subtitle", study.question.empty() ? Json() : Json(study.title)},
          {"answer", report::answer(analysis)},
          {"rows", report::forest_rows(study, analysis)},
          {"any_rows", !analysis.hypotheses.empty()},
          {"expectation", study.expectation.empty() ? Json() : Json(study.expectation)},
          {"changes", amendments(study)},
          {"state", state(study, analysis)},
          {"quick", study.quick},
          {"missing", analysis.missing > 0 ? Json(analysis.missing) : Json()},
          {"claims", claims},
          {"any_claims", !claims.empty()},
          {"hypotheses", hypotheses},
          {"sections", sections},
          {"unfinished", unfinished.rows.empty() ? Json() : report::to_json(unfinished)},
          {"arms", arms.rows.empty() ? Json() : report::to_json(arms)},
          {"settings", settings.rows.empty() ? Json() : report::to_json(settings)},
          {"commands", fmt::format("{}", fmt::join(provenance.commands, "\n"))},
          {"system", system},
          {"study_text", provenance.study_text},
          {"base_config", provenance.base_config.empty() ? "not known" : provenance.base_config},
          {"data", script_text(drawn)}};
}

std::string to_html(nlohmann::ordered_json page, const std::string& chart_library) {
  const bool drawn = !chart_library.empty() && path_exists(chart_library);
  page["no_charts"] = !drawn;
  if (drawn) page.update({{"script", report::script}, {"plotly", script_text(read_file(chart_library))}});
  return report::render(report::page, std::move(page));
}

}  // namespace surd
