#include "experiments/study/report/write_report.hpp"

#include "experiments/program/text_format.hpp"
#include "experiments/study/report/export.hpp"
#include "experiments/study/report/html_report.hpp"
#include "experiments/study/verdicts/decidability.hpp"

#include <filesystem>

namespace surd {
namespace {

/// What makes the study again, in a folder beside whatever the shell is in.
std::vector<std::string> commands(const StudyFolder& folder, const Study& study, const StudySource& source) {
  std::string run = "surd study run " + shell_word(folder.begun_from());
  for (const std::string& setting : source.settings) run += " --set " + shell_word(setting);
  if (source.quick) run += " --quick";
  if (folder.keep_checkpoints()) run += " --keep-checkpoints";
  const auto extensions = folder.extensions();
  Study begun = study;  // with the seeds that it had then
  for (const auto& seeds : extensions) begun.seeds.resize(begun.seeds.size() - seeds.size());
  if (!source.quick && decidability_of(begun).nothing()) run += " --anyway";
  const std::filesystem::path path = std::filesystem::absolute(folder.path() + "/.").lexically_normal();
  const std::string out = shell_word(path.parent_path().filename().string() + "-again");
  std::vector<std::string> all{run + " --out " + out};
  for (const auto& seeds : extensions) all.push_back(fmt::format("surd study extend {} --seeds {}", out, seeds.size()));
  return all;
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
  write_file_atomically(folder.path() + "/report.html",
                        to_html(study, analysis, known,
                                provenance(read_file(folder.study_file()), base, commands(folder, study, source))));
  return analysis;
}

}  // namespace surd
