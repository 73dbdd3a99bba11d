#include "autograd/base/counted.hpp"
#include "autograd/base/utf8.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/commands/study/make_runs.hpp"
#include "experiments/commands/study/study_lines.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/experiment.hpp"
#include "experiments/study/execution/outlook.hpp"
#include "experiments/study/execution/reuse.hpp"
#include "experiments/study/report/group_report.hpp"
#include "experiments/study/report/write_report.hpp"
#include "train/storage/files.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

namespace surd {
namespace {

namespace fs = std::filesystem;

struct StudyRunArguments : StudyFileArguments {
  std::string out;
  bool resume = false;
  bool dry_run = false;
  bool anyway = false;
  bool keep_checkpoints = false;
  std::optional<std::size_t> jobs;
  std::optional<std::size_t> retries;
  Texts reuse;

  void fields(Fields& f) {
    StudyFileArguments::fields(f);
    f("jobs", jobs, "runs side by side [one a core]; 0: only begin the study, for surd study work", between(0, 1024));
    f("out", out, "folder of the study [runs/NAME]", Unit{"folder"});
    f("resume", resume, "go on with what is in the folder");
    f("dry_run", dry_run, "list the runs and make none");
    f("anyway", anyway, "even if no hypothesis can be decided, or a number of the probe is not recorded");
    f("keep_checkpoints", keep_checkpoints, "the runs keep their parameters, and go on where they were stopped");
    static_assert(StudyFolder::default_retries == 2);
    f("retries", retries, "how often a run that failed is tried again [2]; fixed when the study is begun",
      between(0, 1000));
    f("reuse", reuse, "take equal runs from another study's folder", Unit{"folder"});
  }
};

/// Refuses a study of which it is known before the first run that it decides nothing.
void expect_decidable(const Study& study, const StudyRunArguments& arguments) {
  if (arguments.anyway || arguments.dry_run || study.quick) return;
  const Decidability decidability = decidability_of(study);
  expect_usage(!decidability.nothing(), arguments.file,
               "none of its hypotheses can be decided, whatever the runs will be; give it {} seeds or more, or fewer "
               "hypotheses, or make the runs by --anyway (surd study check says more)",
               decidability.seeds_for_all);
}

/// Refuses options that a study has from its beginning, where they are others.
void expect_as_begun(const StudyFolder& folder, const StudyRunArguments& arguments) {
  const char* way_out = "is fixed when a study is begun, and was not given then; begin it in another folder by --out";
  expect_usage(!arguments.keep_checkpoints || folder.keep_checkpoints(), "--keep-checkpoints", "{}", way_out);
  expect_usage(!arguments.retries || *arguments.retries == folder.retries(), "--retries",
               "is fixed when a study is begun, and was {} then; begin it in another folder by --out",
               folder.retries());
}

/// Makes sure that the study can be made in its folder: nothing is there, or the study itself was begun.
void expect_folder(const StudyFolder& folder, const Study& study, const StudySource& source, bool resume) {
  if (folder.begun()) {
    expect_usage(resume, folder.path(), "holds a study already; --resume goes on with it, --out names another folder");
    const std::string changes = folder.difference(study, source);
    expect_usage(changes.empty(), folder.path(),
                 "the study differs from the one that was begun here, so its runs cannot be counted together:{}\n"
                 "put it back, or begin it in another folder by --out",
                 changes);
    return;
  }
  expect_usage(!path_exists(folder.path()) || (is_folder(folder.path()) && folder.only_prepared()), folder.path(),
               "exists already and is not the folder of a study; name another one by --out");
}

/// Lists every run that is planned so far, and where it will be. The last line says how many there are.
void list_runs(const StudyFolder& folder, const Study& study, const ReusableRuns* others) {
  StudyResults results(folder, study);
  Console console;
  const std::vector<PlannedRun> runs = plan(study, results.known());
  for (const PlannedRun& run : runs) {
    const std::string id = run.id(study);
    console.line(fmt::format("{} {}", id, folder.run(id)));
  }
  const std::size_t more = runs_at_most(study) - runs.size();
  console.line(fmt::format(
      "{}{}{}", counted(runs.size(), "run"), study.tuning ? fmt::format("; the tuning adds at most {}", more) : "",
      others != nullptr ? fmt::format("; {} can be reused", reusable(study, results.known(), *others)) : ""));
}

/// The studies whose runs the folder may take: those it was begun with, and the ones that are named now.
std::vector<std::string> all_to_reuse(const StudyFolder& folder, const std::vector<std::string>& named) {
  std::vector<std::string> all = folder.begun() ? folder.reuse() : std::vector<std::string>();
  all.insert(all.end(), named.begin(), named.end());
  return all;
}

/// A study of which it is known that it can be made.
struct CheckedStudy {
  StudyRunArguments arguments;
  StudyFolder folder;
  StudySource source;
  Study written;
  std::vector<std::string> reuse;  // folders of studies that are named now
};

/// Refuses a path that study.json, which is UTF-8, cannot have.
void expect_utf8(const std::string& path) {
  expect_usage(!find_invalid_utf8(path), path, "is a path that is not UTF-8, and study.json must be; rename it");
}

/// Refuses what cannot be made. Writes nothing.
CheckedStudy check_study(const StudyRunArguments& arguments) {
  expect_utf8(fs::absolute(arguments.file).string());
  for (const std::string& folder : arguments.reuse.values) expect_utf8(fs::absolute(folder).string());
  const StudyFolder folder(arguments.out.empty() ? "runs/" + fs::path(arguments.file).stem().string() : arguments.out);
  const StudySource source{arguments.file, arguments.settings.values, arguments.quick, {}, folder.begun()};
  const Study written = load_study(source);
  while_waiting("trying what each arm begins with", [&] {
    check_experiments(written);
    if (!folder.begun() && !arguments.anyway && !arguments.quick) check_probes(written);
  });
  expect_folder(folder, written, source, arguments.resume);
  if (folder.begun())
    expect_as_begun(folder, arguments);
  else
    expect_decidable(written, arguments);
  return {arguments, folder, source, written, folders_to_reuse(arguments.reuse.values, folder)};
}

int run_study(const CheckedStudy& study, bool in_group);

/// `surd study run` of a group. Every study is checked before the first run begins, and once more before its own do:
/// hours may lie between.
int study_group_run(const StudyRunArguments& arguments) {
  const StudyGroup group = load_study_group(arguments.file);
  std::vector<StudyRunArguments> studies;
  const std::string folder = arguments.out.empty() ? "runs/" + fs::path(arguments.file).stem().string() : arguments.out;
  expect_usage(!StudyFolder(folder).begun(), folder, "holds a single study; name another folder by --out");
  for (const fs::path& file : group.studies) {
    StudyRunArguments study = arguments;
    study.file = file.string();
    study.out = folder + "/" + file.stem().string();
    static_cast<void>(check_study(study));
    studies.push_back(study);
  }
  if (!arguments.dry_run) freeze_group(group, folder);
  Console console;
  int code = exit_done;
  for (const StudyRunArguments& study : studies) {
    console.line(fmt::format("\n{}", styled(study.file, Console::Style::bold, STDOUT_FILENO)));
    const int ended = run_study(check_study(study), true);
    if (ended > 128) return ended;
    code = std::max(code, ended);
  }
  if (arguments.dry_run || arguments.jobs == std::size_t{0}) return code;
  for (const std::string& line : answer_lines(group, write_group_report(group, folder))) console.line(line);
  console.line(fmt::format("\nreport      {}/report.html", folder));
  return code;
}

int run_study(const CheckedStudy& study, bool in_group) {
  const auto& [arguments, folder, source, written, reuse] = study;
  if (arguments.dry_run) {
    const Study planned = folder.begun() ? folder.study() : written;  // it may have been extended
    const std::vector<std::string> named = all_to_reuse(folder, reuse);
    const ReusableRuns others(named, folder.begun() ? folder.keep_checkpoints() : arguments.keep_checkpoints);
    list_runs(folder, planned, named.empty() ? nullptr : &others);
    return exit_done;
  }
  if (!folder.begun())
    folder.freeze(source, written, arguments.keep_checkpoints, reuse,
                  arguments.retries.value_or(StudyFolder::default_retries));
  else if (!reuse.empty())
    folder.add_reuse(reuse);

  if (arguments.jobs == std::size_t{0}) {
    Console().line(
        fmt::format("begun; surd study work {0} makes its runs, and surd study report {0} writes what they say",
                    shell_word(folder.path())));
    return exit_done;
  }
  return make_runs(folder, folder.study(), arguments.jobs, in_group);
}

/// Returns 0 where all runs have ended, be it by divergence, and 1 where any failed or is missing.
int study_run_command(const StudyRunArguments& arguments) {
  return is_study_group(arguments.file) ? study_group_run(arguments) : run_study(check_study(arguments), false);
}

}  // namespace

void add_study_run(CommandTable& table) {
  table.add("study run", "Make every run of a study", {"study"}, study_run_command);
}

}  // namespace surd
