#include "experiments/commands/command.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/study/execution/worker_pool.hpp"
#include "experiments/study/report/group_report.hpp"
#include "experiments/study/report/study_tables.hpp"
#include "experiments/study/report/write_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

namespace surd {
namespace {

namespace fs = std::filesystem;

struct StudyRunArguments {
  std::string file;
  Texts settings;
  std::string out;
  std::optional<std::size_t> jobs;
  bool resume = false;
  bool quick = false;
  bool keep_checkpoints = false;

  void fields(Fields& f) {
    f("study", file, "a study file, or one of a group of studies");
    f("set", settings, "a setting over the base config, e.g. model.d_model=128", Unit{"key=value"});
    f("out", out, "folder of the study [runs/NAME]", Unit{"folder"});
    f("jobs", jobs, "runs side by side [one a core]", between(1, 1024));
    f("resume", resume, "go on with what is in the folder");
    f("quick", quick, "cut down as the study says, to try it");
    f("keep_checkpoints", keep_checkpoints, "the runs keep their parameters");
  }
};

/// Writes the report once the runs have ended, prints how they ended, and returns the exit code.
int finish_study(const StudyFolder& folder, const Study& study, StudyResults& results, const StudyCounts& counts,
                 Console& console) {
  console.line(fmt::format("{} of {} runs made: {} finished, {} diverged, {} failed", counts.ended(), counts.planned,
                           counts.finished, counts.diverged, counts.failed));
  for (const std::string& line : failures(study, results)) console.line(line);
  for (const std::string& line : answer_lines(study, write_report(folder, study))) console.line(line);
  console.line(fmt::format("\nreport      {}/report.html", folder.path()));
  return counts.ended() == counts.planned && counts.failed == 0 ? exit_done : exit_failed;
}

/// Estimates how many seconds `runs` runs take on `jobs` processes; nothing where no run can be timed. Measures a few
/// arms, spread over all of them.
std::optional<double> estimated_time(const Study& study, std::size_t runs, std::size_t jobs) {
  constexpr std::size_t most_measured = 6;
  const std::size_t step = (study.arms.size() + most_measured - 1) / most_measured;
  double sum = 0;
  std::size_t measured = 0;
  for (std::size_t arm = 0; arm < study.arms.size(); arm += step) {
    const auto seconds = estimated_seconds(study.config_file(arm, {}, study.seeds.front()));
    sum += seconds.value_or(0);
    measured += seconds.has_value();
  }
  if (measured == 0) return std::nullopt;
  return sum / static_cast<double>(measured) * static_cast<double>(runs) / static_cast<double>(jobs);
}

/// How many runs there are to make, and how long that may take.
std::vector<std::string> outlook(const Study& study, const StudyCounts& counts, std::size_t jobs, std::size_t cores) {
  const std::size_t most = runs_at_most(study), left = counts.planned - counts.ended();
  std::vector<std::string> lines{fmt::format(
      "runs        {} to make{}{}", left, counts.ended() > 0 ? fmt::format(", {} made", counts.ended()) : "",
      most > counts.planned ? fmt::format("; with all of the tuning at most {}", most) : "")};
  if (left == 0) return lines;
  const auto seconds = estimated_time(study, left, std::min(jobs, cores));
  if (!seconds) return lines;
  const auto time = [](double value) { return value < 1 ? "a second" : clock_time(value); };
  const double all = *seconds * static_cast<double>(most - counts.ended()) / static_cast<double>(left);
  lines.push_back(fmt::format("time        about {}{} with {} worker{}", time(*seconds),
                              most > counts.planned ? ", at most " + time(all) : "", jobs, jobs == 1 ? "" : "s"));
  return lines;
}

/// Begins the study in its folder, or makes sure that it is the one that was begun there.
void begin(const StudyFolder& folder, const Study& study, const StudySource& source,
           const StudyRunArguments& arguments) {
  if (folder.begun()) {
    expect_usage(arguments.resume, folder.path(),
                 "holds a study already; --resume goes on with it, --out names another folder");
    const std::string changes = folder.difference(study, source);
    expect_usage(changes.empty(), folder.path(),
                 "the study differs from the one that was begun here, so its runs cannot be counted together:{}\n"
                 "put it back, or begin it in another folder by --out",
                 changes);
    return;
  }
  expect_usage(!path_exists(folder.path()) || (is_folder(folder.path()) && folder.only_prepared()), folder.path(),
               "exists already and is not the folder of a study; name another one by --out");
  folder.freeze(source, study, arguments.keep_checkpoints);
}

int study_run_command(const StudyRunArguments& arguments);

/// `surd study run` of a group. Every study is read before the first run begins.
int study_group_run(const StudyRunArguments& arguments) {
  const StudyGroup group = load_study_group(arguments.file);
  std::vector<StudyRunArguments> studies;
  const std::string folder = arguments.out.empty() ? "runs/" + fs::path(arguments.file).stem().string() : arguments.out;
  expect_usage(!StudyFolder(folder).begun(), folder, "holds a single study; name another folder by --out");
  for (const fs::path& file : group.studies) {
    StudyRunArguments study = arguments;
    study.file = file.string();
    study.out = folder + "/" + file.stem().string();
    studies.push_back(study);
    static_cast<void>(load_study(study.file, study.settings.values, study.quick));
  }
  Console console;
  int code = exit_done;
  for (const StudyRunArguments& study : studies) {
    console.line(fmt::format("\n{}", styled(study.file, Console::Style::bold, STDOUT_FILENO)));
    const int ended = study_run_command(study);
    if (ended > 128) return ended;
    code = std::max(code, ended);
  }
  const GroupAnswers answers = write_group_report(group, folder);
  console.line(fmt::format("\n{}", group.question));
  for (const auto& [claim, found] : answers)
    console.line(fmt::format("  {:<10} {}", name_of(together(found)), claim_heading(claim)));
  console.line(fmt::format("\nreport      {}/report.html", folder));
  return code;
}

/// Returns 0 where all runs have ended, be it by divergence, and 1 where any failed or is missing.
int study_run_command(const StudyRunArguments& arguments) {
  if (is_study_group(arguments.file)) return study_group_run(arguments);
  const StudySource source{arguments.file, arguments.settings.values, arguments.quick, {}};
  const Study study = load_study(source);
  check_experiments(study);
  const StudyFolder folder(arguments.out.empty() ? "runs/" + fs::path(arguments.file).stem().string() : arguments.out);
  begin(folder, study, source, arguments);

  StudyResults results(folder, StudyResults::Parts::metrics);
  const StudyCounts before = count(study, folder, results);
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t replicas = study.config(0, {}, study.seeds.front()).train.replicas;
  const std::size_t jobs = arguments.jobs.value_or(std::max<std::size_t>(1, cores / replicas));
  Console console;
  for (const std::string& line : describe(study)) console.line(line);
  for (const std::string& line : outlook(study, before, jobs, cores)) console.line(line);
  console.line(fmt::format("folder      {}\n", folder.path()));

  const PoolEnd end = run_workers(folder, study, jobs, console);
  if (end.stopped_by != 0) {
    console.warn(
        fmt::format("stopped with {} of {} runs made; --resume goes on", end.counts.ended(), end.counts.planned));
    return 128 + end.stopped_by;
  }
  return finish_study(folder, study, results, end.counts, console);
}

}  // namespace

void add_study_run(CommandTable& table) {
  table.add("study run", "Make every run of a study", {"study"}, study_run_command);
}

}  // namespace surd
