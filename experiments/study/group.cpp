#include "experiments/study/group.hpp"

#include "experiments/commands.hpp"
#include "experiments/console.hpp"
#include "experiments/raw_yaml.hpp"
#include "experiments/read_options.hpp"
#include "experiments/study/analysis.hpp"
#include "experiments/study/claims.hpp"
#include "experiments/study/report/assets.hpp"
#include "experiments/study/report/tables.hpp"
#include "experiments/study/study_folder.hpp"
#include "train/files.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

namespace surd {
namespace {

namespace fs = std::filesystem;

struct GroupFields {
  std::string question;
  RawYaml studies{"list of names of study files"};

  void fields(Fields& f) {
    f("question", question, "what is asked");
    f("studies", studies, "the studies that answer it, files beside this one");
    f.rule(!question.empty(), "question", "is required");
  }
};

/// What a study says of a claim.
struct Answer {
  std::string study, title;
  ClaimResult claim;
};
using Answers = std::map<std::size_t, std::vector<Answer>>;

Verdict together(const std::vector<Answer>& answers) {
  const auto says = [](Verdict verdict) { return [verdict](const Answer& a) { return a.claim.verdict == verdict; }; };
  if (std::any_of(answers.begin(), answers.end(), says(Verdict::refuted))) return Verdict::refuted;
  const bool all = std::all_of(answers.begin(), answers.end(), says(Verdict::supported));
  return all ? Verdict::supported : Verdict::undecided;
}

Answers answers_in(const std::string& folder, const StudyGroup& group) {
  Answers answers;
  for (const fs::path& file : group.studies) {
    const StudyFolder study_folder(folder + "/" + file.stem().string());
    const Study study = study_folder.study();
    StudyResults results(study_folder);
    for (const ClaimResult& claim : analyse(study, results.known()).claims)
      answers[claim.claim].push_back({file.stem().string(), study.title, claim});
  }
  return answers;
}

std::string heading(std::size_t claim) { return fmt::format("Claim {}: {}", claim, claim_text(claim)); }

std::string to_json(const StudyGroup& group, const Answers& answers) {
  report::Json json = {{"question", group.question}, {"claims", report::Json::array()}};
  for (const auto& [claim, found] : answers) {
    report::Json studies = report::Json::array();
    for (const Answer& answer : found)
      studies.push_back(
          {{"study", answer.study}, {"verdict", name_of(answer.claim.verdict)}, {"sentence", answer.claim.sentence}});
    json["claims"].push_back({{"claim", claim},
                              {"text", claim_text(claim)},
                              {"verdict", name_of(together(found))},
                              {"studies", std::move(studies)}});
  }
  return json.dump(2) + "\n";
}

std::string to_markdown(const StudyGroup& group, const Answers& answers) {
  std::string text = fmt::format("# {}\n", group.question);
  for (const auto& [claim, found] : answers) {
    text += fmt::format("\n## {}\n\n{}\n\n", heading(claim), name_of(together(found)));
    for (const Answer& answer : found)
      text += fmt::format("- [{0}]({1}/report.md): {2}\n", answer.title, answer.study, answer.claim.sentence);
  }
  return text;
}

std::string to_html(const StudyGroup& group, const Answers& answers) {
  const std::string question = report::escaped(group.question);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<header><h1>{0}</h1></header>\n<main id=\"main\">\n",
      question, report::css);
  for (const auto& [claim, found] : answers) {
    html += fmt::format("<article class=\"claim\"><h3>{} {}</h3>\n<ul>\n", report::escaped(heading(claim)),
                        report::badge(together(found)));
    for (const Answer& answer : found)
      html += fmt::format("<li><a href=\"{}/report.html\">{}</a>: {}</li>\n", report::escaped(answer.study),
                          report::escaped(answer.title), report::escaped(answer.claim.sentence));
    html += "</ul></article>\n";
  }
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace

bool is_study_group(const std::string& file) {
  return path_exists(file) && YamlDocument::load(file).root().find("studies") != nullptr;
}

StudyGroup load_study_group(const std::string& file) {
  const YamlDocument document = YamlDocument::load(file);
  GroupFields fields;
  read_options(document, fields);
  StudyGroup group{fields.question, {}};
  std::vector<Problem> problems;
  const auto expect_that = [&](bool holds, const Origin& origin, const std::string& message) {
    if (!holds) problems.push_back({origin, "studies", message});
    return holds;
  };
  const YamlNode& list = *fields.studies.node;
  expect_that(list.kind == YamlNode::Kind::list && !list.children.empty(), list.origin,
              "must be a list of names such as [r01-ledger]");
  std::vector<std::string> beside;
  for (const std::string& name : names_in(fs::absolute(file).parent_path().string()))
    if (fs::path(name).extension() == ".yaml") beside.push_back(fs::path(name).stem().string());
  std::set<std::string> seen;
  for (const YamlNode& child : list.children) {
    const fs::path study = fs::path(file).parent_path() / (child.text + ".yaml");
    const bool there =
        child.kind == YamlNode::Kind::scalar && std::find(beside.begin(), beside.end(), child.text) != beside.end();
    if (!expect_that(there, child.origin,
                     fmt::format("there is no study {} beside this file{}", child.described(),
                                 did_you_mean(child.text, beside))))
      continue;
    expect_that(!is_study_group(study.string()), child.origin,
                fmt::format("{} has studies itself; name those", child.described()));
    expect_that(seen.insert(child.text).second, child.origin,
                fmt::format("{} stands there twice; remove one", child.described()));
    group.studies.push_back(study);
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
  return group;
}

int study_group_run(const StudyRunArguments& arguments) {
  const StudyGroup group = load_study_group(arguments.file);
  std::vector<StudyRunArguments> studies;
  const std::string folder = arguments.out.empty() ? "runs/" + fs::path(arguments.file).stem().string() : arguments.out;
  for (const fs::path& file : group.studies) {
    StudyRunArguments study = arguments;
    study.file = file.string();
    study.out = folder + "/" + file.stem().string();
    studies.push_back(study);
    static_cast<void>(load_study(study.file, study.settings, study.quick));
  }
  Console console;
  int code = exit_done;
  for (const StudyRunArguments& study : studies) {
    console.line(fmt::format("\n{}", styled(study.file, Console::Style::bold, STDERR_FILENO)));
    const int ended = study_run_command(study);
    if (ended > 128) return ended;
    code = std::max(code, ended);
  }
  const Answers answers = answers_in(folder, group);
  write_file_atomically(folder + "/verdicts.json", to_json(group, answers));
  write_file_atomically(folder + "/report.md", to_markdown(group, answers));
  write_file_atomically(folder + "/report.html", to_html(group, answers));
  console.line(fmt::format("\n{}", group.question));
  for (const auto& [claim, found] : answers)
    console.line(fmt::format("  {:<10} {}", name_of(together(found)), heading(claim)));
  console.line(fmt::format("\nreport      {}/report.html", folder));
  return code;
}

}  // namespace surd
