#include "experiments/study/report/group_report.hpp"

#include "experiments/study/execution/study_folder.hpp"
#include "experiments/study/file/claims.hpp"
#include "experiments/study/report/assets.hpp"
#include "experiments/study/report/page.hpp"
#include "experiments/study/report/tables.hpp"
#include "train/storage/files.hpp"

#include <algorithm>

namespace surd {
namespace {

namespace fs = std::filesystem;

GroupAnswers answers_in(const std::string& folder, const StudyGroup& group) {
  GroupAnswers answers;
  for (const fs::path& file : group.studies) {
    const StudyFolder study_folder(folder + "/" + file.stem().string());
    const Study study = study_folder.study();
    StudyResults results(study_folder);
    for (const ClaimResult& claim : analyse(study, results.known()).claims)
      answers[claim.claim].push_back({file.stem().string(), study.title, claim});
  }
  return answers;
}

std::string to_json(const StudyGroup& group, const GroupAnswers& answers) {
  report::Json json = {{"question", group.question}, {"claims", report::Json::array()}};
  for (const auto& [claim, found] : answers) {
    report::Json studies = report::Json::array();
    for (const GroupAnswer& answer : found)
      studies.push_back(
          {{"study", answer.study}, {"verdict", name_of(answer.claim.verdict)}, {"sentence", answer.claim.sentence}});
    json["claims"].push_back({{"claim", claim},
                              {"text", claim_text(claim)},
                              {"verdict", name_of(together(found))},
                              {"studies", std::move(studies)}});
  }
  return json.dump(2) + "\n";
}

std::string to_markdown(const StudyGroup& group, const GroupAnswers& answers) {
  std::string text = fmt::format("# {}\n", group.question);
  for (const auto& [claim, found] : answers) {
    text += fmt::format("\n## {}\n\n{}\n\n", claim_heading(claim), name_of(together(found)));
    for (const GroupAnswer& answer : found)
      text += fmt::format("- [{0}]({1}/report.md): {2}\n", answer.title, answer.study, answer.claim.sentence);
  }
  return text;
}

std::string to_html(const StudyGroup& group, const GroupAnswers& answers) {
  report::Json claims = report::Json::array();
  for (const auto& [claim, found] : answers) {
    const Verdict verdict = together(found);
    claims.push_back({{"heading", claim_heading(claim)},
                      {"verdict", name_of(verdict)},
                      {"sign", report::sign(verdict)},
                      {"studies", report::Json::array()}});
    for (const GroupAnswer& answer : found)
      claims.back()["studies"].push_back(
          {{"study", answer.study}, {"title", answer.title}, {"sentence", answer.claim.sentence}});
  }
  return report::render(report::group, {{"question", group.question}, {"claims", claims}});
}

}  // namespace

Verdict together(const std::vector<GroupAnswer>& answers) {
  const auto says = [](Verdict verdict) {
    return [verdict](const GroupAnswer& a) { return a.claim.verdict == verdict; };
  };
  if (std::any_of(answers.begin(), answers.end(), says(Verdict::refuted))) return Verdict::refuted;
  const bool all = std::all_of(answers.begin(), answers.end(), says(Verdict::supported));
  return all ? Verdict::supported : Verdict::undecided;
}

std::string claim_heading(std::size_t claim) { return fmt::format("Claim {}: {}", claim, claim_text(claim)); }

GroupAnswers write_group_report(const StudyGroup& group, const std::string& folder) {
  GroupAnswers answers = answers_in(folder, group);
  write_file_atomically(folder + "/verdicts.json", to_json(group, answers));
  write_file_atomically(folder + "/report.md", to_markdown(group, answers));
  write_file_atomically(folder + "/report.html", to_html(group, answers));
  return answers;
}

}  // namespace surd
