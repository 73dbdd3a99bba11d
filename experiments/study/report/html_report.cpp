#include "experiments/study/report/html_report.hpp"

#include "autograd/base/counted.hpp"
#include "experiments/study/report/assets.hpp"
#include "experiments/study/report/forest.hpp"
#include "experiments/study/report/page.hpp"
#include "experiments/study/report/tables.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace surd {
namespace {

using report::Json;

/// What was changed since the study was first written down; null, so that nothing is shown, where nothing was.
Json amendments(const Study& study) {
  Json list = Json::array();
  for (const Amendment& change : study.amendments)
    list.push_back({{"date", change.date}, {"what", change.what}, {"seen", change.seen}});
  return list.empty() ? Json() : Json{{"list", list}};
}

std::string state(const Study& study, const Analysis& analysis) {
  std::string endings;
  for (const auto& [number, word] : {std::pair(analysis.diverged, "diverged"), std::pair(analysis.failed, "failed"),
                                     std::pair(analysis.missing, "not ended yet")})
    if (number > 0) endings += fmt::format(", {} {}", number, word);
  if (endings.empty()) endings = ", none diverged";
  if (analysis.reused > 0) endings += fmt::format(", {} taken from other studies", analysis.reused);
  return fmt::format("{}, {}; {} of {} finished{}.", counted(study.arms.size(), "arm"),
                     counted(study.seeds.size(), "seed"), analysis.finished, counted(analysis.runs, "run"), endings);
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
  std::vector<report::Chart> gradients = report::gradient_curves(runs);
  for (report::Chart& chart : report::gradient_heatmap(runs)) gradients.push_back(std::move(chart));
  const std::vector<report::Section> sections = {
      {"curves", "Learning curves", report::learning_curves(runs)},
      {"tuning", "Settings tuned for each arm", report::tuning_charts(runs)},
      {"diagnostics", "Diagnostics over time", report::probe_charts(runs)},
      {"gradients", "Gradient norms", gradients},
      {"axes", "Metrics against numbers of the arms", report::axis_charts(runs)},
      {"divergence", "Divergence", report::divergence_chart(runs)},
      {"factors", "Factor effects", report::factor_chart(runs)}};

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
          {"sections", report::to_json(sections)},
          {"unfinished", unfinished.rows.empty() ? Json() : report::to_json(unfinished)},
          {"arms", arms.rows.empty() ? Json() : report::to_json(arms)},
          {"settings", settings.rows.empty() ? Json() : report::to_json(settings)},
          {"commands", fmt::format("{}", fmt::join(provenance.commands, "\n"))},
          {"system", system},
          {"study_text", provenance.study_text},
          {"base_config", provenance.base_config.empty() ? "not known" : provenance.base_config},
          {"data", report::chart_data(sections, {{"runs", report::run_index(runs)}})}};
}

std::string to_html(nlohmann::ordered_json page, const std::string& chart_library) {
  return report::render_charts(report::page, std::move(page), chart_library);
}

}  // namespace surd
