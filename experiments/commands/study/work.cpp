#include "experiments/command_line/command.hpp"
#include "experiments/commands/duration.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/experiment.hpp"
#include "experiments/study/execution/study_results.hpp"
#include "experiments/study/execution/workers/worker.hpp"

#include <signal.h>

#include <cstdlib>

namespace surd {
namespace {

struct StudyWorkArguments : StudyFolderArguments {
  Duration time, idle, lease;
  bool requeue = false;

  void fields(Fields& f) {
    StudyFolderArguments::fields(f);
    f("for", time,
      "how long this process has: it begins no run that will not end by then, as runs of the same arm tell, and stops "
      "the one it is at; with --keep-checkpoints of the study that is saved and gone on with",
      Unit{"time"});
    f("idle", idle, "end after so long without a run to make, while others make the last ones", Unit{"time"});
    f("requeue", requeue, "where runs are left at the end, ask Slurm to run this task again; not after TERM");
    f("lease", lease, "take over runs of workers that were not heard of for so long [2m]; the same for all workers",
      Unit{"time"});
  }
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The task of Slurm that this process belongs to: a number, or that of an array and its index.
std::string slurm_task() {
  const std::string array = environment("SLURM_ARRAY_JOB_ID");
  return array.empty() ? environment("SLURM_JOB_ID") : array + "_" + environment("SLURM_ARRAY_TASK_ID");
}

void print(Console& console, const RunEnd& end) {
  console.line(fmt::format("{:<9} {}", name_of(end.status), end.id));
  if (!end.reused_from.empty()) console.line("          reused from " + end.reused_from);
  if (!end.message.empty()) console.line("          " + end.message.substr(0, end.message.find('\n')));
  if (end.tried_again) console.line("          will be tried again");
}

/// Says why the worker ended before the study did.
std::string reason(WorkEnd end, const StopSignals& signals) {
  switch (end) {
    case WorkEnd::stopped: return fmt::format("stopped by signal {}", signals.received());
    case WorkEnd::idle: return "there was nothing to do; other workers are at the last runs";
    default: return "no run that is left fits into the time left";
  }
}

/// 0 where the study is complete, 1 where runs failed for good.
int end_of_study(const StudyFolder& folder, const Study& study, Console& console) {
  StudyResults results(folder, study);
  const StudyCounts counts = count(study, folder, results);
  console.line(fmt::format("every run of the study has ended{}; surd study report {} writes what they say",
                           counts.failed > 0 ? fmt::format(", {} by failing", counts.failed) : "",
                           shell_word(folder.path())));
  if (counts.failed > 0)
    console.line(fmt::format("surd study retry {} lets those be made again", shell_word(folder.path())));
  return counts.failed > 0 ? exit_failed : exit_done;
}

int study_work_command(const StudyWorkArguments& arguments) {
  const std::string task = slurm_task();
  expect_usage(!arguments.requeue || !task.empty(), "--requeue",
               "this process was not started by Slurm: it has no SLURM_JOB_ID");
  const StudyFolder folder(arguments.folder);
  const Study study = folder.study();
  Console console;
  // Where this machine has not the data, every run that it takes would fail.
  while_waiting(waiting_for_data, [&] { return Experiment(study.config_file(0, {}, study.seeds.front())); });
  const StopSignals signals;
  WorkOptions options{arguments.time.seconds, arguments.idle.seconds};
  if (arguments.lease.seconds) options.lease = Leases::Seconds(*arguments.lease.seconds);
  const WorkEnd end = work_on(folder, study, signals, options, [&](const RunEnd& run) { print(console, run); });
  if (end == WorkEnd::complete) return end_of_study(folder, study, console);
  if (end == WorkEnd::too_short) {
    console.fail(
        "no run ended in the time of --for: those that are left take longer; give more time, or begin the study with "
        "--keep-checkpoints, so that runs are gone on with");
    return exit_failed;
  }
  console.line(fmt::format("{}; runs are left, and another surd study work {} goes on", reason(end, signals),
                           shell_word(folder.path())));
  // TERM is Slurm's own decision: a task that it preempts it requeues by itself, one that is cancelled is to end.
  if (!arguments.requeue || signals.received() == SIGTERM) return exit_unfinished;
  const std::string command = "scontrol requeue " + task;
  const bool requeued = std::system(command.c_str()) == 0;
  if (!requeued) console.warn(command + " failed; start another worker by hand");
  return requeued ? exit_done : exit_unfinished;
}

}  // namespace

void add_study_work(CommandTable& table) {
  table.add("study work", "One more worker for a study, on any machine", {"folder"}, study_work_command);
}

}  // namespace surd
