#include "experiments/study/report/group_report.hpp"

#include "autograd/base/counted.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/execution/study_results.hpp"
#include "experiments/study/file/claims.hpp"
#include "experiments/study/report/assets.hpp"
#include "experiments/study/report/forest.hpp"
#include "experiments/study/report/page.hpp"
#include "experiments/study/report/tables.hpp"
#include "experiments/study/verdicts/finding.hpp"
#include "train/storage/files.hpp"
#include "train/storage/json_object.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

namespace surd {
namespace {

namespace fs = std::filesystem;
using report::Json;

std::string group_file(const std::string& folder) { return folder + "/group.json"; }

/// A study of the group that was begun.
struct GroupStudy {
  std::string name;
  Study study;
  Analysis analysis;
};

struct GroupResults {
  std::vector<GroupStudy> studies;
  std::vector<std::string> not_begun;
  GroupAnswers answers;
};

GroupResults results_in(const std::string& folder, const StudyGroup& group) {
  GroupResults results;
  for (const fs::path& file : group.studies) {
    const std::string name = file.stem().string();
    const StudyFolder study_folder(folder + "/" + name);
    if (!study_folder.begun()) {
      results.not_begun.push_back(name);
      continue;
    }
    Study study = study_folder.study();
    StudyResults runs(study_folder);
    Analysis analysis = analyse(study, runs.known_of(study));
    for (const ClaimResult& claim : analysis.claims) results.answers[claim.claim].push_back({name, study.title, claim});
    results.studies.push_back({name, std::move(study), std::move(analysis)});
  }
  for (auto& [claim, answers] : results.answers)  // of which it may say something
    for (const std::string& name : results.not_begun)
      answers.push_back({name, name, {claim, Verdict::undecided, "not begun."}});
  return results;
}

/// Whether a study of the group was cut down, so that nothing in the group is evidence.
bool is_quick(const GroupResults& results) {
  return std::any_of(results.studies.begin(), results.studies.end(),
                     [](const GroupStudy& one) { return one.study.quick; });
}

/// "4 runs have not ended; not begun: NAME"; "" where nothing is missing.
std::string missing(const GroupResults& results) {
  std::size_t runs = 0;
  for (const GroupStudy& study : results.studies) runs += study.analysis.missing;
  std::vector<std::string> parts;
  if (is_quick(results)) parts.emplace_back("cut down by --quick, to be tried: nothing in it is evidence");
  if (runs > 0) parts.push_back(fmt::format("{} {} not ended", counted(runs, "run"), runs == 1 ? "has" : "have"));
  if (!results.not_begun.empty())
    parts.push_back("not begun: " + fmt::format("{}", fmt::join(results.not_begun, ", ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// "Of 5 claims 2 are supported, one is refuted, 2 are undecided."
std::string answer(const GroupResults& results) {
  const GroupAnswers& answers = results.answers;
  if (results.studies.empty()) return "No study has begun yet.";
  if (answers.empty()) return "The studies test no claim; each has its own answer below.";
  std::vector<std::string> parts;
  for (const Verdict verdict : {Verdict::supported, Verdict::refuted, Verdict::undecided}) {
    const auto count = static_cast<std::size_t>(std::count_if(
        answers.begin(), answers.end(), [&](const auto& claim) { return together(claim.second) == verdict; }));
    if (count == 0) continue;
    if (count == answers.size())
      return count == 1 ? fmt::format("The claim is {}.", name_of(verdict))
                        : fmt::format("All {} claims are {}.", count, name_of(verdict));
    parts.push_back(fmt::format("{} {}", count == 1 ? "one is" : fmt::format("{} are", count), name_of(verdict)));
  }
  return fmt::format("Of {} claims {}.", answers.size(), fmt::join(parts, ", "));
}

/// A path as the part of an address.
std::string address(const std::string& path) { return percent_encoded(path, "-._~"); }

std::string page_of(const std::string& study) { return address(study) + "/report.html"; }

/// Those of a study's rows whose hypotheses are about this claim; 0: about none.
Json rows_about(const GroupStudy& study, std::size_t claim) {
  Json rows = Json::array();
  for (Json& row : report::forest_rows(study.study, study.analysis, page_of(study.name)))
    if (study.study.hypotheses[row["number"].get<std::size_t>() - 1].claim == claim) rows.push_back(std::move(row));
  return rows;
}

std::string to_json(const StudyGroup& group, const GroupResults& results) {
  Json json = {{"question", group.question},
               {"answer", answer(results)},
               {"quick", is_quick(results)},
               {"not_begun", results.not_begun},
               {"claims", Json::array()}};
  for (const auto& [claim, found] : results.answers) {
    Json studies = Json::array();
    for (const GroupAnswer& one : found)
      studies.push_back(
          {{"study", one.study}, {"verdict", name_of(one.claim.verdict)}, {"sentence", one.claim.sentence}});
    json["claims"].push_back({{"claim", claim},
                              {"text", claim_text(claim)},
                              {"verdict", name_of(together(found))},
                              {"studies", std::move(studies)}});
  }
  return json.dump(2) + "\n";
}

std::string to_markdown(const StudyGroup& group, const GroupResults& results) {
  std::string text = fmt::format("# {}\n\n**{}**\n", markdown_text(group.question), answer(results));
  if (const std::string gaps = missing(results); !gaps.empty()) text += fmt::format("\nUnfinished: {}.\n", gaps);
  for (const auto& [claim, found] : results.answers) {
    text += fmt::format("\n## {}\n\n{}\n\n", claim_heading(claim), name_of(together(found)));
    for (const GroupAnswer& one : found) {
      const bool begun = std::count(results.not_begun.begin(), results.not_begun.end(), one.study) == 0;
      const std::string title = replace_all(markdown_text(one.title), "]", "\\]");
      const std::string link = begun ? fmt::format("[{}]({}/report.md)", title, address(one.study)) : title;
      text += fmt::format("- {}: {}\n", link, markdown_text(one.claim.sentence));
    }
  }
  return text;
}

std::string to_html(const StudyGroup& group, const GroupResults& results) {
  const auto with_verdict = [](Json json, Verdict verdict) {
    json.update({{"verdict", name_of(verdict)}, {"sign", report::sign(verdict)}});
    return json;
  };
  Json claims = Json::array(), others = Json::array(), studies = Json::array();
  for (const auto& [claim, found] : results.answers) {
    claims.push_back(with_verdict({{"number", claim}, {"heading", claim_heading(claim)}, {"studies", Json::array()}},
                                  together(found)));
    for (const GroupAnswer& one : found)
      for (const GroupStudy& study : results.studies)
        if (study.name == one.study)
          claims.back()["studies"].push_back(
              with_verdict({{"page", page_of(study.name)}, {"title", one.title}, {"rows", rows_about(study, claim)}},
                           one.claim.verdict));
  }
  for (const GroupStudy& study : results.studies) {
    studies.push_back(
        {{"page", page_of(study.name)}, {"title", study.study.title}, {"answer", report::answer(study.analysis)}});
    Json rows = rows_about(study, 0);
    if (!rows.empty())
      others.push_back({{"page", page_of(study.name)}, {"title", study.study.title}, {"rows", std::move(rows)}});
  }
  for (const std::string& name : results.not_begun)
    studies.push_back({{"page", Json()}, {"title", name}, {"answer", "not begun."}});
  const std::string gaps = missing(results);
  return report::render(report::group, {{"question", group.question},
                                        {"answer", answer(results)},
                                        {"missing", gaps.empty() ? Json() : Json(gaps)},
                                        {"claims", claims},
                                        {"any_others", !others.empty()},
                                        {"others", others},
                                        {"studies", studies}});
}

}  // namespace

Verdict together(const std::vector<GroupAnswer>& answers) {
  std::set<Verdict> verdicts;
  for (const GroupAnswer& answer : answers) verdicts.insert(answer.claim.verdict);
  return all_of(verdicts);
}

std::string claim_heading(std::size_t claim) { return fmt::format("Claim {}: {}", claim, claim_text(claim)); }

void freeze_group(const StudyGroup& group, const std::string& folder) {
  make_folders(folder);
  std::vector<std::string> names;
  for (const fs::path& file : group.studies) names.push_back(file.stem().string());
  write_file_atomically(group_file(folder), Json{{"question", group.question}, {"studies", names}}.dump(2) + "\n");
}

std::optional<StudyGroup> group_in(const std::string& folder) {
  const std::string file = group_file(folder);
  if (!path_exists(file)) return std::nullopt;
  const std::string text = read_file(file);
  const JsonObject frozen(text, file, "it was changed or damaged; surd study run GROUP.yaml --resume writes it anew");
  StudyGroup group{frozen.text("question"), {}};
  const Json studies = Json::parse(text)["studies"];
  const auto is_name = [](const Json& name) {  // of a folder in this one
    if (!name.is_string()) return false;
    const fs::path path = name.get<std::string>();
    return path.filename() == path && !path.empty() && path != "." && path != "..";
  };
  frozen.require(studies.is_array() && !studies.empty() && std::all_of(studies.begin(), studies.end(), is_name),
                 "'studies' is no list of names of studies");
  for (const Json& name : studies) group.studies.emplace_back(name.get<std::string>() + ".yaml");
  return group;
}

GroupAnswers write_group_report(const StudyGroup& group, const std::string& folder) {
  GroupResults results = results_in(folder, group);
  write_file_atomically(folder + "/verdicts.json", to_json(group, results));
  write_file_atomically(folder + "/report.md", to_markdown(group, results));
  write_file_atomically(folder + "/report.html", to_html(group, results));
  return std::move(results.answers);
}

std::string write_report_of_group_around(const std::string& study_folder) try {
  const fs::path study = fs::canonical(study_folder);
  const auto group = group_in(study.parent_path().string());
  if (!group) return "";
  for (const fs::path& file : group->studies)
    if (file.stem() == study.filename()) static_cast<void>(write_group_report(*group, study.parent_path().string()));
  return "";
} catch (const std::exception& error) {
  return error.what();
}

}  // namespace surd
