#include "experiments/study/report/write_report.hpp"

#include "experiments/program/console.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/file/claims.hpp"
#include "experiments/study/report/export.hpp"
#include "experiments/study/report/html_report.hpp"

#include <unistd.h>

namespace surd {
namespace {

std::string commands(const StudyFolder& folder, const StudySource& source) {
  std::string run = fmt::format("surd study run {}", source.file.string());
  for (const std::string& setting : source.settings) run += fmt::format(" --set '{}'", setting);
  if (source.quick) run += " --quick";
  return run + fmt::format(" --out {}", folder.path());
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
      to_html(study, analysis, known, provenance(read_file(folder.study_file()), base, {commands(folder, source)})));
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
  add_hypotheses(0, "Beside the claims");
  return lines;
}

}  // namespace surd
