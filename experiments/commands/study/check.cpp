#include "experiments/command_line/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/commands/study/study_lines.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/run/experiment.hpp"
#include "experiments/study/execution/outlook.hpp"
#include "experiments/study/file/study_group.hpp"

#include <unistd.h>

#include <algorithm>

namespace surd {
namespace {

struct StudyCheckArguments : StudyFileArguments {
  std::optional<std::size_t> jobs;
  std::string pilot;

  void fields(Fields& f) {
    StudyFileArguments::fields(f);
    f("jobs", jobs, "runs side by side [one a core]", between(1, 1024));
    f("pilot", pilot, "a study's folder, whose runs tell what effects can be found", Unit{"folder"});
  }
};

int study_check_command(const StudyCheckArguments& arguments);

/// `surd study check` of a group: each of its studies.
int study_group_check(const StudyCheckArguments& arguments) {
  Console console;
  int code = exit_done;
  for (const std::filesystem::path& file : load_study_group(arguments.file).studies) {
    StudyCheckArguments study = arguments;
    study.file = file.string();
    if (!study.pilot.empty()) study.pilot += "/" + file.stem().string();
    console.line(fmt::format("\n{}", styled(study.file, Console::Style::bold, STDOUT_FILENO)));
    code = std::max(code, study_check_command(study));
  }
  return code;
}

/// What the pilot in a folder lets one expect of the study, in lines.
std::vector<std::string> lines_of_pilot(const Study& study, const std::string& path) {
  const StudyFolder folder(path);
  const Study pilot = folder.study();
  StudyResults results(folder);
  const auto found =
      while_waiting("simulating studies", [&] { return expect_from_pilot(study, pilot, results.known_of(pilot)); });
  std::vector<std::string> lines = pilot_lines(study, found);
  for (std::string& line : pilot_doubts(study, pilot)) lines.push_back(std::move(line));
  return lines;
}

/// Returns 0 where each hypothesis can be decided, and 1 where one cannot.
int study_check_command(const StudyCheckArguments& arguments) {
  if (is_study_group(arguments.file)) return study_group_check(arguments);
  const Study study = load_study(arguments.file, arguments.settings.values, arguments.quick);
  while_waiting("trying what each arm begins with", [&] {
    check_experiments(study);
    if (!study.quick) check_probes(study);
  });
  const Decidability decidability = decidability_of(study);
  StudyCounts counts;
  counts.planned = plan(study, [](const std::string&) { return nullptr; }).size();
  // Before anything is measured or printed, because it may be refused.
  const std::vector<std::string> pilot =
      arguments.pilot.empty() ? std::vector<std::string>() : lines_of_pilot(study, arguments.pilot);
  Console console;
  for (const std::string& line : describe(study)) console.line(line);
  for (const std::string& line : outlook(study, counts, arguments.jobs.value_or(usual_jobs(study)))) console.line(line);
  for (const std::string& line : decidability_lines(study, decidability)) console.line(line);
  for (const std::string& line : pilot) console.line(line);
  return decidability.undecidable() == 0 ? exit_done : exit_failed;
}

}  // namespace

void add_study_check(CommandTable& table) {
  table.add("study check", "What a study will take, and whether it can decide anything", {"study"},
            study_check_command);
}

}  // namespace surd
