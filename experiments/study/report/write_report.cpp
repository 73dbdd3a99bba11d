#include "experiments/study/report/write_report.hpp"

#include "experiments/program/text_format.hpp"
#include "experiments/study/report/export.hpp"
#include "experiments/study/report/html_report.hpp"

#include <filesystem>

namespace surd {
namespace {

/// What makes the study again, in a folder beside whatever the shell is in.
std::string command(const StudyFolder& folder, const StudySource& source) {
  std::string run = "surd study run " + shell_word(folder.begun_from());
  for (const std::string& setting : source.settings) run += " --set " + shell_word(setting);
  if (source.quick) run += " --quick";
  if (folder.keep_checkpoints()) run += " --keep-checkpoints";
  const std::filesystem::path path = std::filesystem::absolute(folder.path() + "/.").lexically_normal();
  return run + " --out " + shell_word(path.parent_path().filename().string() + "-again");
}

}  // namespace

Analysis write_report(const StudyFolder& folder, const Study& study) {
  StudyResults results(folder, StudyResults::Parts::all);
  const KnownResults known = results.known();
  Analysis analysis = analyse(study, known);
  const StudySource source = folder.source();
  const std::string base = to_yaml(study.config(0, {}, study.seeds.front()));
  write_file_atomically(folder.path() + "/verdicts.json", to_json(study, analysis));
  write_file_atomically(folder.path() + "/report.md", to_markdown(study, analysis));
  write_file_atomically(folder.path() + "/runs.csv", to_csv(study, known));
  write_file_atomically(
      folder.path() + "/report.html",
      to_html(study, analysis, known, provenance(read_file(folder.study_file()), base, {command(folder, source)})));
  return analysis;
}

}  // namespace surd
