#include "experiments/study/report/write_report.hpp"

#include "experiments/program/console.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/file/claims.hpp"
#include "experiments/study/report/export.hpp"
#include "experiments/study/report/html_report.hpp"

#include <unistd.h>

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

Console::Style style(Verdict verdict) {
  if (verdict == Verdict::supported) return Console::Style::green;
  return verdict == Verdict::refuted ? Console::Style::red : Console::Style::yellow;
}

void add_lines(std::vector<std::string>& lines, Verdict verdict, const std::string& text, const std::string& indent) {
  const std::string word = fmt::format("{:<10}", name_of(verdict));
  std::string block = wrapped(text, indent + word + " ", indent + std::string(word.size() + 1, ' '), screen_width);
  const std::size_t at = indent.size();
  block = block.substr(0, at) + styled(word, style(verdict), STDOUT_FILENO) + block.substr(at + word.size());
  while (!block.empty() && block.back() == '\n') block.pop_back();
  lines.push_back(block);
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

std::vector<std::string> answer_lines(const Study& study, const Analysis& analysis) {
  std::vector<std::string> lines;
  const auto add_hypotheses = [&](std::size_t claim, const std::string& heading) {
    bool first = true;
    for (const HypothesisResult& result : analysis.hypotheses) {
      const Hypothesis& hypothesis = study.hypotheses[result.hypothesis];
      if (hypothesis.claim != claim) continue;
      if (first) lines.insert(lines.end(), {"", heading});
      first = false;
      add_lines(lines, result.verdict, hypothesis.name + ". " + result.reason, "  ");
    }
  };
  for (const ClaimResult& claim : analysis.claims)
    add_hypotheses(claim.claim,
                   fmt::format("Claim {}, {}: {}", claim.claim, name_of(claim.verdict), claim_text(claim.claim)));
  add_hypotheses(0, analysis.claims.empty() ? "Hypotheses" : "Beside the claims");
  return lines;
}

}  // namespace surd
