#include "experiments/study/report/html_report.hpp"

#include "experiments/run/system_info.hpp"
#include "experiments/study/report/assets.hpp"
#include "experiments/study/report/tables.hpp"
#include "train/storage/files.hpp"

#include <fmt/format.h>
#include <kainjow/mustache.hpp>

#include <filesystem>

namespace surd {
namespace {

using kainjow::mustache::data;
using report::Chart;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// Nothing in it may end its <script> early: in a string of JSON \u003c is '<'.
std::string script_text(const report::Json& json) {
  return replaced(json.dump(-1, ' ', false, report::Json::error_handler_t::replace), "<", "\\u003c");
}

/// The same for a program, where these can only stand in strings.
std::string script_text(std::string program) {
  return replaced(replaced(std::move(program), "</script", "<\\/script"), "<!--", "<\\!--");
}

data chart_data(const Chart& chart) {
  data entry;
  entry.set("id", chart.id);
  entry.set("title", chart.title);
  entry.set("alt", chart.alt);
  entry.set("note", chart.note);
  entry.set("table", report::to_html(chart.table));
  return entry;
}

data section(const char* id, const std::string& title, const std::vector<Chart>& charts, const char* none) {
  data entry, list = data::type::list;
  for (const Chart& chart : charts) list.push_back(chart_data(chart));
  entry.set("id", id);
  entry.set("title", title);
  entry.set("charts", list);
  if (charts.empty()) entry.set("none", none);
  return entry;
}

std::string state(const Study& study, const Analysis& analysis) {
  std::string text = fmt::format("{} of {} runs finished, {} diverged, {} failed, {} not ended yet; {} arms, {} seeds.",
                                 analysis.finished, analysis.runs, analysis.diverged, analysis.failed, analysis.missing,
                                 study.arms.size(), study.seeds.size());
  return text;
}

data provenance_data(const Provenance& provenance) {
  data system = data::type::list;
  for (const auto& [name, value] : provenance.system) {
    data entry;
    entry.set("name", name);
    entry.set("value", value);
    system.push_back(entry);
  }
  data page;
  page.set("study_text", provenance.study_text);
  page.set("base_config", provenance.base_config.empty() ? "not known" : provenance.base_config);
  page.set("commands", fmt::format("{}", fmt::join(provenance.commands, "\n")));
  page.set("system", system);
  return page;
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

Provenance provenance(std::string study_text, std::string base_config, std::vector<std::string> commands) {
  return {std::move(study_text), std::move(base_config), std::move(commands), system_info(), chart_library()};
}

std::string to_html(const Study& study, const Analysis& analysis, const KnownResults& known,
                    const Provenance& provenance) {
  const report::StudyRuns runs(study, analysis, known);
  data sections = data::type::list;
  report::Json json = {{"charts", report::Json::array()}, {"runs", report::run_index(runs)}};
  const auto add = [&](const char* id, const std::string& title, std::vector<Chart> charts, const char* none) {
    for (const Chart& chart : charts) json["charts"].push_back(report::to_json(chart));
    sections.push_back(section(id, title, charts, none));
  };
  add("curves", "Learning curves", report::learning_curves(runs), "No run has ended yet.");
  add("tuning", "Settings tuned for each arm", report::tuning_charts(runs), "This study tunes nothing.");
  add("diagnostics", "Diagnostics over time", report::probe_charts(runs),
      "The runs recorded none of them (probe.every is 0).");
  add("gradients", "Gradient norms", report::gradient_heatmap(runs), "The runs recorded none (probe.every is 0).");
  add("axes", "Metrics against numbers of the arms", report::axis_charts(runs), "No axis of this study is a number.");
  add("divergence", "Divergence", report::divergence_chart(runs), "No run has ended yet.");
  add("factors", "Factor effects", report::factor_chart(runs), "This study is no 2^k design.");

  const bool charts_drawn = !provenance.chart_library.empty() && path_exists(provenance.chart_library);
  const report::Table unfinished = report::unfinished_table(runs);
  data page = provenance_data(provenance);
  page.set("title", study.title);
  page.set("question", study.question);
  page.set("expectation", study.expectation);
  page.set("state", state(study, analysis));
  if (study.quick) page.set("quick", data::type::bool_true);
  if (analysis.missing > 0) page.set("missing", std::to_string(analysis.missing));
  if (!charts_drawn) page.set("no_charts", data::type::bool_true);
  page.set("claims", report::claim_cards(runs));
  page.set("hypotheses", report::hypothesis_details(runs));
  page.set("sections", sections);
  page.set("unfinished", unfinished.rows.empty() ? "<p>Every run finished.</p>" : report::to_html(unfinished));
  page.set("arms", report::to_html(report::arm_table(runs)));
  page.set("css", report::css);
  page.set("data", script_text(json));
  if (charts_drawn) {
    page.set("script", report::script);
    page.set("plotly", script_text(read_file(provenance.chart_library)));
  }
  kainjow::mustache::mustache page_template(report::page);
  expect(page_template.is_valid(), "report", "the template is damaged: {}", page_template.error_message());
  return page_template.render(page);
}

}  // namespace surd
