#include "experiments/study/report/write_report.hpp"

#include "experiments/program/text_format.hpp"
#include "experiments/study/execution/makers.hpp"
#include "experiments/study/execution/study_results.hpp"
#include "experiments/study/report/export.hpp"
#include "experiments/study/report/html_report.hpp"
#include "experiments/study/verdicts/decidability.hpp"
#include "train/storage/files.hpp"

#include <filesystem>

namespace surd {
namespace {

/// A path as one would type it: relative where it lies beneath the current folder.
std::string typed(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path relative = fs::path(path).lexically_relative(fs::current_path(error));
  return error || relative.empty() || *relative.begin() == ".." ? path : relative.string();
}

}  // namespace

std::vector<std::string> commands_to_repeat(const StudyFolder& folder, const Study& study) {
  const StudySource source = folder.source();
  std::string run = "surd study run " + shell_word(typed(folder.begun_from()));
  for (const std::string& setting : source.settings) run += " --set " + shell_word(setting);
  if (source.quick) run += " --quick";
  if (folder.keep_checkpoints()) run += " --keep-checkpoints";
  const auto extensions = folder.extensions();
  Study begun = study;  // with the seeds that it had then
  for (const auto& seeds : extensions) begun.seeds.resize(begun.seeds.size() - seeds.size());
  if (!source.quick && decidability_of(begun).nothing()) run += " --anyway";
  const std::filesystem::path path = without_end_slash(std::filesystem::absolute(folder.path()).string());
  const std::string out = shell_word(path.filename().string() + "-again");
  std::vector<std::string> all{run + " --out " + out};
  for (const auto& seeds : extensions) all.push_back(fmt::format("surd study extend {} --seeds {}", out, seeds.size()));
  return all;
}

StudyReport::StudyReport(const StudyFolder& folder, const Study& study) {
  StudyResults results(folder);
  const KnownResults known = results.known_of(study);
  analysis = analyse(study, known);
  const std::vector<Maker> makers = makers_of(study, known);
  verdicts = to_json(study, analysis, makers, folder.data_read());
  markdown = to_markdown(study, analysis);
  csv = to_csv(study, known);
  page = report_page(study, analysis, known,
                     {read_file(folder.study_file()), to_yaml(study.config(0, {}, study.seeds.front())),
                      commands_to_repeat(folder, study), facts_of(makers)});
}

std::string write_report(StudyReport report, const StudyFolder& folder) try {
  write_file_atomically(folder.path() + "/verdicts.json", report.verdicts);
  write_file_atomically(folder.path() + "/report.md", report.markdown);
  write_file_atomically(folder.path() + "/runs.csv", report.csv);
  write_file_atomically(folder.path() + "/report.html", to_html(std::move(report.page), chart_library()));
  return "";
} catch (const Error& error) {
  return fmt::format("{}; once there is room for it, the report is written by: surd study report {}", error.what(),
                     shell_word(folder.path()));
}

}  // namespace surd
